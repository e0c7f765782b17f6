/*
 * The subset of JSONPath for body conditions: `$.field`, `$.nested.field`, `$['odd name']`, `$.items[0]`,
 * `$.items[*].field`. Only own properties are seen. So `__proto__`, `constructor` and `length` are fields
 * like others, or absent.
 */

const pathLengthMax = 512;
const stepsMax = 32;

/** A step of a path: a field's name, an index, or every element. */
export type Step = { readonly name: string } | { readonly index: number } | 'each';

const stepForm =
  /\.([\p{L}\p{N}_$-]+)|\[(\d{1,9})\]|\[(\*)\]|\['((?:[^'\\]|\\['\\])*)'\]|\["((?:[^"\\]|\\["\\])*)"\]/uy;

/** Returns the steps of a path; undefined where it is not of the subset. */
export function parsePath(path: string): readonly Step[] | undefined {
  if (path.length > pathLengthMax || !path.startsWith('$')) return undefined;
  const steps: Step[] = [];
  stepForm.lastIndex = 1;
  while (stepForm.lastIndex < path.length) {
    const match = stepForm.exec(path);
    if (match === null || steps.length === stepsMax) return undefined;
    const [, plain, index, each, single, double] = match;
    if (each !== undefined) steps.push('each');
    else if (index !== undefined) steps.push({ index: Number(index) });
    else steps.push({ name: plain ?? (single ?? double ?? '').replace(/\\(.)/g, '$1') });
  }
  return steps;
}

/**
 * Returns a word that a body must contain, in upper or lower case, for the path to lead anywhere; undefined
 * where there is none. It is the longest run of letters and digits in the path's names. Such a run has one
 * spelling in forms and in JSON, except for escapes and the two letters of `foldsToAscii`.
 */
export function requiredWord(steps: readonly Step[]): string | undefined {
  const names = steps.flatMap((step) => (step !== 'each' && 'name' in step ? [step.name] : []));
  const words = names.flatMap((name) => name.match(/[A-Za-z0-9]{2,}/g) ?? []);
  return words.sort((a, b) => b.length - a.length)[0];
}

/**
 * Folds names that some server takes for one. It ignores case (as Go's `encoding/json`) and spaces around the
 * name, takes `_` for dots and spaces, and reads no further than NUL (as PHP).
 */
export function foldName(name: string): string {
  if (plainName.test(name)) return name;
  const folded = (name.split('\0', 1)[0] ?? '').trim().toLowerCase();
  return wordName.test(folded) ? folded : folded.replaceAll('\u017f', 's').replace(/[. ]/g, '_');
}

const plainName = /^[a-z0-9_]*$/;
const wordName = /^\w*$/;
