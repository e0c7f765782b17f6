import { randomBytes } from 'node:crypto';
import { longStringPlaces } from '../../inspect/kernel/string-ends.ts';

/*
 * Long strings of a JSON text are left out when it is parsed, since rules hardly ever look at them. Each is
 * parsed when somebody asks for it.
 */

/** A text without its long strings. `restore` puts them in their places in a value that was parsed of it. */
interface Shortened {
  readonly bytes: Buffer;
  restore(value: unknown): void;
}

/** The least size of texts, and of strings, that are shortened. Smaller ones are parsed in less time. */
const textBytesMin = 8_192;
const stringBytesMin = 512;
/** The beginning of placeholders. No text can have it, since nobody knows it. */
const mark = randomBytes(16).toString('hex');
const colon = 0x3a;

/** Returns the text without its long strings; undefined where it has hardly any. The text must be UTF-8. */
export function withoutLongStrings(text: Buffer): Shortened | undefined {
  if (text.length < textBytesMin) return undefined;
  const places = longStringPlaces(text, stringBytesMin, true);
  const parts: Buffer[] = [];
  const left: number[] = [];
  let from = 0;
  let leftBytes = 0;
  for (let at = 0; at < places.length; at += 2) {
    const [start, end] = places.slice(at, at + 2) as [number, number];
    if (isName(text, end)) continue;
    parts.push(text.subarray(from, start), Buffer.from(`"${mark}${left.length}"`));
    left.push(start, end);
    leftBytes += end - start;
    from = end;
  }
  if (2 * leftBytes < text.length) return undefined;
  parts.push(text.subarray(from));
  const stringAt = (at: number): string => JSON.parse(text.toString('utf8', left[at], left[at + 1]));
  return { bytes: Buffer.concat(parts), restore: (value) => restoreIn(value, stringAt) };
}

/** Tells whether a string that ends at a place is the name of a member. */
function isName(text: Buffer, end: number): boolean {
  let at = end;
  while (at < text.length && (text[at] as number) <= 0x20) at += 1;
  return text[at] === colon;
}

function restoreIn(value: unknown, stringAt: (at: number) => string): void {
  if (typeof value !== 'object' || value === null) return;
  const holder = value as Record<string, unknown>;
  for (const key of Object.keys(holder)) {
    const it = holder[key];
    if (typeof it !== 'string') restoreIn(it, stringAt);
    else if (it.startsWith(mark)) defineLater(holder, key, () => stringAt(Number(it.slice(mark.length))));
  }
}

function defineLater(holder: object, key: string, make: () => string): void {
  const traits = { enumerable: true, configurable: true };
  Object.defineProperty(holder, key, {
    ...traits,
    get() {
      const value = make();
      Object.defineProperty(holder, key, { ...traits, value });
      return value;
    },
  });
}
