import { type Checks, digitsOf } from './check.ts';

/*
 * AWS accounts that say nothing about the writer. They are those of the documentation, and those that publish
 * machine and container images of AWS and Canonical
 * (https://docs.aws.amazon.com/eks/latest/userguide/add-ons-images.html,
 * https://docs.aws.amazon.com/deep-learning-containers/latest/devguide/,
 * https://documentation.ubuntu.com/aws/).
 */
const publicAwsAccounts = new Set([
  ...['123456789012', '012345678901', '111122223333', '444455556666', '777788889999', '999988887777'],
  ...['210987654321', '098765432109', '123456789123', '121212121212'],
  ...['602401143452', '763104351884', '137112412989', '099720109477', '591542846629', '801119661308'],
]);

/** Checks of cloud accounts and tracker keys. */
export const accountChecks = {
  /**
   * Tells whether twelve digits, perhaps grouped, are somebody's own account. One digit over and over is that
   * of an emulator.
   */
  'aws-account'(text) {
    const digits = digitsOf(text);
    return digits.length === 12 && !publicAwsAccounts.has(digits) && !/^(.)\1*$/.test(digits);
  },
  /**
   * Tells whether a text is a project number, or a project id with a digit, as the console proposes them. Ids
   * of words alone are mostly folders and branches, and those of tutorials begin with a pronoun.
   */
  'gcp-project': (text) =>
    /^\d+$/.test(text)
      ? !publicAwsAccounts.has(text)
      : /\d/.test(text) &&
        /[a-z0-9]$/.test(text) &&
        !/^(?:my|your|test|example|sample|demo|project-id)\b/.test(text),
  /** Tells whether the key of a tracker is in capitals, as all of them are. */
  'ticket-key': (text) => text === text.toUpperCase(),
} as const satisfies Checks;
