import { conditionParts, conditionWords, matchKeys, policyKeys, ruleKeys, values } from './policy-words.ts';

/* Offers keys or values at the cursor of a policy that is being written, as the text around it asks for. */

interface Completion {
  /** The place at which the word that is being written begins. */
  readonly from: number;
  readonly words: readonly string[];
}

const wordsMax = 12;

/** Keys of a mapping, by the key that the mapping belongs to. */
const keysIn: Readonly<Record<string, readonly string[]>> = {
  '': policyKeys,
  rules: ruleKeys,
  match: matchKeys,
  condition: conditionWords,
  ...conditionParts,
};

interface Place {
  /** The key that the mapping or list around the cursor belongs to; '' for the policy itself. */
  readonly owner: string;
  /** Tells whether the cursor stands in a `[…]`, or behind `key:`. */
  readonly isValue: boolean;
}

/** Returns the words that fit. Before a word is begun, these are values only, or all where `isAsked`. */
export function completionAt(text: string, at: number, isAsked: boolean): Completion {
  const before = text.slice(0, at);
  const begun = /[\w-]*$/.exec(before)?.[0] ?? '';
  const from = at - begun.length;
  const { owner, isValue } = placeOf(before.slice(0, from));
  const known = (isValue ? values[owner] : keysIn[owner]) ?? [];
  if (begun === '' && !isAsked && !isValue) return { from, words: [] };
  const fitting = known.filter((it) => it.toLowerCase().startsWith(begun.toLowerCase()) && it !== begun);
  return { from, words: fitting.slice(0, wordsMax).map((it) => (isValue ? it : `${it}: `)) };
}

const keyAtEnd = /([\w-]+):\s*$/;

function placeOf(before: string): Place {
  const open = openBracket(before);
  const line = before.slice(before.lastIndexOf('\n') + 1);
  if (open === undefined || (open.sign === '[' && open.key === undefined)) {
    const key = keyAtEnd.exec(line)?.[1];
    return key === undefined ? { owner: ownerOfLine(before), isValue: false } : { owner: key, isValue: true };
  }
  if (open.sign === '[') return { owner: open.key ?? '', isValue: true };
  const inside = before.slice(open.at + 1);
  const value = /(?:^|,)\s*([\w-]+):\s*$/.exec(inside)?.[1];
  if (value !== undefined) return { owner: value, isValue: true };
  return { owner: open.key ?? ownerOfLine(before.slice(0, open.at)), isValue: false };
}

/** Returns the last `{` or `[` that is not closed, with the key before it; undefined where there is none. */
function openBracket(before: string): { at: number; sign: string; key: string | undefined } | undefined {
  let closed = 0;
  for (let at = before.length - 1; at >= 0; at -= 1) {
    const sign = before[at] ?? '';
    if (sign === '}' || sign === ']') closed += 1;
    if (sign !== '{' && sign !== '[') continue;
    if (closed === 0) return { at, sign, key: keyAtEnd.exec(before.slice(0, at))?.[1] };
    closed -= 1;
  }
  return undefined;
}

/** Returns the key of the mapping that the last line stands in, by how far the lines are indented. */
function ownerOfLine(before: string): string {
  const lines = before.split('\n');
  let depth = depthOf(lines.pop() ?? '');
  for (const line of lines.reverse()) {
    if (line.trim() === '' || line.trimStart().startsWith('#')) continue;
    const own = depthOf(line);
    const key = keyAtEnd.exec(line)?.[1];
    // A list may stand as deep as its key.
    if (own < depth && key !== undefined) return key;
    depth = Math.min(depth, own);
  }
  return '';
}

/** Returns the column at which the first key of a line begins. `- ` belongs to the indentation. */
const depthOf = (line: string): number => /^[\s-]*/.exec(line)?.[0].length ?? 0;
