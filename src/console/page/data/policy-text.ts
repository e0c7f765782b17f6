import { dump, load } from 'js-yaml';
import type { PolicyText } from './policy-call.ts';

/* Turns policies into the text that people write, and back. */

const hasFields = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && Object.keys(value).length > 0;

/** Returns a rule without the parts that say nothing. */
function withoutEmpty(rule: unknown): unknown {
  if (typeof rule !== 'object' || rule === null) return rule;
  return Object.fromEntries(
    Object.entries(rule).filter(
      ([name, value]) => (name !== 'match' && name !== 'condition') || hasFields(value),
    ),
  );
}

export function toYaml({ name, description, env_name, mode, rules }: PolicyText): string {
  return dump(
    {
      name,
      ...(description ? { description } : {}),
      ...(env_name ? { env_name } : {}),
      ...(mode === 'monitor' ? { mode } : {}),
      rules: rules.map(withoutEmpty),
    },
    { flowLevel: 3, lineWidth: 110, noRefs: true },
  );
}

/** Returns a rule as it stands in the list of a policy. */
export const ruleToYaml = (rule: unknown): string =>
  dump([withoutEmpty(rule)], { flowLevel: 2, lineWidth: 110, noRefs: true }).trimEnd();

export interface PolicyMistake {
  /** Line of the mistake, from 1; undefined where it is about the whole text. */
  readonly line: number | undefined;
  readonly message: string;
}

type Parsed = { readonly policy: PolicyText } | { readonly mistake: PolicyMistake };

export function parsePolicy(text: string): Parsed {
  try {
    const value: unknown = load(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return { policy: value as PolicyText };
    return { mistake: { line: 1, message: 'A policy has a name and rules.' } };
  } catch (error) {
    const { mark, reason } = error as { mark?: { line: number }; reason?: string };
    return {
      mistake: {
        line: mark === undefined ? undefined : mark.line + 1,
        message: `Not YAML: ${reason ?? 'it cannot be read'}.`,
      },
    };
  }
}

/**
 * Returns the line of a path such as `rules[2].match.methods`, as far as the text tells; undefined if empty.
 */
export function lineOf(text: string, path: string): number | undefined {
  const lines = text.split('\n');
  const parts = path.split(/[.[\]]+/).filter((it) => it !== '');
  const isRule = parts[0] === 'rules' && parts[1] !== undefined && /^\d+$/.test(parts[1]);
  let from = 0;
  let to = lines.length;
  if (isRule) {
    const starts = lines.flatMap((line, index) =>
      /^\s*-\s/.test(line) && indentOf(line) <= 2 ? [index] : [],
    );
    from = starts[Number(parts[1])] ?? 0;
    to = starts[Number(parts[1]) + 1] ?? lines.length;
  }
  const names = parts.slice(isRule ? 2 : 0).filter((it) => !/^\d+$/.test(it));
  for (const name of names.reverse()) {
    const found = lines
      .slice(from, to)
      .findIndex((line) => line.includes(`${name}:`) || line.includes(`"${name}"`));
    if (found !== -1) return from + found + 1;
  }
  return path === '' ? undefined : from + 1;
}

const indentOf = (line: string): number => line.length - line.trimStart().length;
