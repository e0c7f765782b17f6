import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** One labelled body: a line of `<set>.jsonl`. */
export interface Case {
  readonly id: string;
  readonly set: string;
  readonly kind: string;
  /** A, B or C: how hard an evasion is. */
  readonly level?: string;
  readonly method?: string;
  readonly url?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly direction?: 'response';
  readonly expect: Expectation;
  readonly spans?: readonly { readonly text?: string }[];
}

export interface Expectation {
  /** All of these are wanted. */
  readonly classes?: readonly string[];
  /** One of each group is. */
  readonly any_of?: readonly (readonly string[])[];
  /** May be found or not. */
  readonly optional?: readonly string[];
  readonly injection?: boolean;
}

export function loadCases(dir: string): Case[] {
  const files = readdirSync(dir).filter((name) => name.endsWith('.jsonl'));
  if (files.length === 0) throw new Error(`${dir} has no *.jsonl files.`);
  return files.sort().flatMap((file) =>
    readFileSync(join(dir, file), 'utf8')
      .split('\n')
      .filter((line) => line.trim() !== '')
      .map((line) => ({ ...(JSON.parse(line) as Case), set: file.slice(0, -'.jsonl'.length) })),
  );
}

/** Sets that ask something else than whether it is found: policy, or more than is promised. */
const apart = new Set(['placeholders', 'testcards', 'negatives_ruleset', 'injection_quoted']);

/** Whether a set counts in the figures of its class. */
export const isCore = (set: string): boolean =>
  !apart.has(set) && !set.endsWith('_hard') && set !== 'evasion';

/** Whether a set holds what is to be found. */
export const isPositive = ({ expect }: Case): boolean =>
  (expect.classes?.length ?? 0) + (expect.any_of?.length ?? 0) > 0;
