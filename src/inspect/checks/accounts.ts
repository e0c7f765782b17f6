import { type Checks, digitsOf, type SecretCheck } from './check.ts';

/*
 * Accounts of AWS that say nothing of whoever writes them: those of its documentation, and those from which AWS and Canonical give
 * machine and container images to everybody (https://docs.aws.amazon.com/eks/latest/userguide/add-ons-images.html,
 * https://docs.aws.amazon.com/deep-learning-containers/latest/devguide/, https://documentation.ubuntu.com/aws/).
 */
const publicAwsAccounts = new Set([
  ...['123456789012', '012345678901', '111122223333', '444455556666', '777788889999', '999988887777'],
  ...['210987654321', '098765432109', '123456789123', '121212121212'],
  ...['602401143452', '763104351884', '137112412989', '099720109477', '591542846629', '801119661308'],
]);

/** Twelve digits, perhaps grouped, of an account that is somebody's own; emulators take one digit over and over. */
function isOwnAwsAccount(text: string): boolean {
  const digits = digitsOf(text);
  return digits.length === 12 && !publicAwsAccounts.has(digits) && !/^(.)\1*$/.test(digits);
}

/**
 * A project id with a digit in it, as the console proposes them, or a project number. Ids of words alone are folders and branches more
 * often, and those of tutorials begin with somebody's.
 */
const isOwnGcpProject: SecretCheck = (text) =>
  /^\d+$/.test(text)
    ? !publicAwsAccounts.has(text)
    : /\d/.test(text) &&
      /[a-z0-9]$/.test(text) &&
      !/^(?:my|your|test|example|sample|demo|project-id)\b/.test(text);

/** Trackers write their keys in capitals. */
const isTicketKey: SecretCheck = (text) => text === text.toUpperCase();

/** Accounts at clouds, and keys of trackers. */
export const accountChecks = {
  'aws-account': isOwnAwsAccount,
  'gcp-project': isOwnGcpProject,
  'ticket-key': isTicketKey,
} as const satisfies Checks;
