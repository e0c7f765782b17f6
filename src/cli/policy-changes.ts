import type { ListedPolicy } from '../api/answers.ts';
import { type ComparedPolicy, diffPolicies, type PolicyChange, type RuleKeyChange } from '../policy/diff.ts';
import type { Client } from './connection/client.ts';
import { printable, toJson } from './output.ts';
import { type FiledPolicy, labelOf } from './policy-files.ts';

/** A policy as the control plane answers it, whose rules are those of the language. */
export type Policy = ListedPolicy & Pick<ComparedPolicy, 'rules'>;

/** The policies in effect. */
interface Standing {
  readonly policies: readonly Policy[];
  /** Names that policy files of the configuration have; none of them can be applied. */
  readonly namesOfFiles: ReadonlySet<string>;
}

/** Reads the daemon's policies that the filed ones would replace; with `all` all others of the API, too. */
export async function readStanding(
  client: Client,
  filed: readonly FiledPolicy[],
  all: boolean,
): Promise<Standing> {
  const places = new Set(filed.map(labelOf));
  const policies: Policy[] = [];
  const namesOfFiles = new Set<string>();
  for await (const page of client.pages<Policy>('/v1/policies')) {
    for (const policy of page) {
      const { name, env_name: envName, source } = policy;
      if (source === 'file') namesOfFiles.add(name);
      if (places.has(labelOf({ name, envName })) || (all && source === 'api')) policies.push(policy);
    }
  }
  return { policies, namesOfFiles };
}

/** Returns the changes that applying the files would make; with `all`, also the policies without a file. */
export const changesFrom = ({ policies }: Standing, filed: readonly FiledPolicy[]): readonly PolicyChange[] =>
  diffPolicies(policies.map(toCompared), filed);

const toCompared = ({ env_name: envName, ...policy }: Policy): ComparedPolicy => ({
  ...policy,
  envName,
});

/** Returns a change as JSON answers have it, with the keys of the API. */
export const toChangeAnswer = ({ kind, name, envName, keys, rules }: PolicyChange): object => ({
  change: kind,
  name,
  env_name: envName,
  keys: keys.map(toKeyAnswer),
  rules: rules.map((rule) => ({ change: rule.kind, rule_id: rule.ruleId, keys: rule.keys.map(toKeyAnswer) })),
});

/** Returns a changed key. JSON lacks undefined, which is left out, and null is a value of the language. */
const toKeyAnswer = ({ key, before, after }: RuleKeyChange): object => ({
  key,
  ...(before === undefined ? {} : { before }),
  ...(after === undefined ? {} : { after }),
});

const signs = { added: '+', removed: '-', changed: '~' } as const;

/** Returns a line for each policy, rule and key that changes. */
export const toChangeLines = (changes: readonly PolicyChange[]): string =>
  changes
    .flatMap((change) => [
      `${signs[change.kind]} policy ${labelOf(change)}`,
      ...change.keys.map((it) => `  ${toKeyLine(it)}`),
      ...change.rules.flatMap((rule) => [
        `  ${signs[rule.kind]} rule ${rule.ruleId}`,
        ...rule.keys.map((it) => `    ${toKeyLine(it)}`),
      ]),
    ])
    .map((it) => `${printable(it)}\n`)
    .join('');

const toKeyLine = ({ key, before, after }: RuleKeyChange): string =>
  `${key}: ${toValue(before)} -> ${toValue(after)}`;

const toValue = (value: unknown): string => (value === undefined ? 'none' : toJson(value));
