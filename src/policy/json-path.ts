/*
 * The JSONPath subset of body conditions: `$.field`, `$.nested.field`, `$['odd name']`, `$.items[0]`, `$.items[*].field`. Only
 * own properties are seen, so `__proto__`, `constructor` and `length` are fields like others or absent. A body is a tree, hence
 * any path visits each of its values at most once, however many `[*]` it has.
 */

const pathLengthMax = 512;
const stepsMax = 32;

/** A field's name, an index, or every element. */
export type Step = { readonly name: string } | { readonly index: number } | 'each';

const stepForm =
  /\.([\p{L}\p{N}_$-]+)|\[(\d{1,9})\]|\[(\*)\]|\['((?:[^'\\]|\\['\\])*)'\]|\["((?:[^"\\]|\\["\\])*)"\]/uy;

/** The steps of a path, or undefined where it is none of the subset. */
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
 * A field name that the text of a body must contain for the path to lead anywhere: the longest that has only one spelling in
 * JSON (save `\u` escapes) and in a form.
 */
export function requiredName(steps: readonly Step[]): string | undefined {
  const names = steps.flatMap((step) => (step !== 'each' && 'name' in step ? [step.name] : []));
  const plain = names.filter((name) => /^[\w.-]{2,}$/.test(name));
  return plain.sort((a, b) => b.length - a.length)[0];
}

export type Scalar = string | number | boolean | null;

/** The values that a path leads to in all readings of a body, to be compared with what rules name. */
export class PathValues {
  readonly #values: readonly unknown[];
  /** Infinity and -Infinity where there is no number; numbers in texts count. */
  readonly least: number;
  readonly greatest: number;

  constructor(values: readonly unknown[]) {
    this.#values = values;
    let [least, greatest] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
    for (const value of this.#values) {
      const number = toNumber(value);
      if (number === undefined) continue;
      if (number < least) least = number;
      if (number > greatest) greatest = number;
    }
    this.least = least;
    this.greatest = greatest;
  }

  /**
   * Whether any value equals; a number equals its text, and, `isLenient`, true and false do: in a form there is nothing else. Looks
   * at one after the other: a hash table would be filled with keys of the caller's choice.
   */
  has(wanted: Scalar, isLenient: boolean): boolean {
    const text = isLenient && typeof wanted === 'boolean' ? String(wanted) : undefined;
    return this.#values.some((value) => equals(value, wanted) || (text !== undefined && value === text));
  }
}

/** The sum of the numbers that a path leads to, those in texts too; infinite where one is too large to say. What is negative or no number adds nothing. */
export function sumAt(steps: readonly Step[], root: unknown): number {
  let sum = 0;
  for (const value of collect(steps, [root])) {
    const number = toNumber(value) ?? 0;
    if (number > 0) sum += number;
  }
  return sum;
}

function equals(value: unknown, wanted: Scalar): boolean {
  if (value === wanted) return true;
  const isMixed = (typeof value === 'number') !== (typeof wanted === 'number');
  return isMixed && toNumber(value) !== undefined && toNumber(value) === toNumber(wanted);
}

/** Lenient on purpose (` +5000`, `5e3`, `05000`): what some server reads as a number, a limit must read as one. */
function toNumber(value: unknown): number | undefined {
  if (typeof value === 'number') return value;
  if (typeof value !== 'string' || value.trim() === '') return undefined;
  const number = Number(value);
  return Number.isNaN(number) ? undefined : number;
}

function collect(steps: readonly Step[], roots: readonly unknown[]): readonly unknown[] {
  let values = roots;
  for (const step of steps) values = stepInto(step, values);
  return values;
}

/** The values one step further. */
export function stepInto(step: Step, values: readonly unknown[]): readonly unknown[] {
  if (values.length === 0) return values;
  const next: unknown[] = [];
  for (const value of values) takeStep(step, value, next);
  return next;
}

function takeStep(step: Step, value: unknown, into: unknown[]): void {
  if (typeof value !== 'object' || value === null) return;
  if (step === 'each') {
    // A loop, not a spread: an array of a body may be longer than an argument list.
    for (const element of Array.isArray(value) ? value : Object.values(value)) into.push(element);
  } else if ('index' in step) {
    if (Array.isArray(value) && step.index < value.length) into.push(value[step.index]);
  } else if (!Array.isArray(value) && Object.hasOwn(value, step.name)) {
    into.push((value as Record<string, unknown>)[step.name]);
  }
}
