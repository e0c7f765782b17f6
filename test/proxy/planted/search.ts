import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';

/* Looks for planted texts in whatever was stored or answered, in the forms in which somebody could read them out again. */

export interface Place {
  readonly name: string;
  readonly bytes: Buffer;
}

/** Every file below a folder. */
export const filesIn = (dir: string, name: string): Place[] =>
  readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((it) => it.isFile())
    .map((it) => join(it.parentPath, it.name))
    .map((path) => ({ name: `${name} ${relative(dir, path)}`, bytes: readFileSync(path) }));

/** Shorter than every form; forms are looked up by so many characters that they begin with. */
const startLength = 8;

/** The first four characters as a number of so many bits: most places are ruled out by it, which is faster than to look up a text at each. */
const markBits = 20;
const markAt = (text: string, at: number): number => {
  const code = (offset: number): number => text.charCodeAt(at + offset) & 0xff;
  return (
    Math.imul(code(0) | (code(1) << 8) | (code(2) << 16) | (code(3) << 24), 0x9e3779b1) >>> (32 - markBits)
  );
};

/**
 * Where the texts stand, by what they are called: as they are, in any case, in hexadecimal digits, percent-encoded as a whole, or in base64
 * at any offset. One pass over each place.
 */
export function findPlanted(planted: ReadonlyMap<string, string>, places: readonly Place[]): string[] {
  const byStart = new Map<string, { form: string; called: string }[]>();
  for (const [text, called] of planted) {
    for (const form of formsOf(text)) {
      const start = form.slice(0, startLength);
      byStart.set(start, [...(byStart.get(start) ?? []), { form, called }]);
    }
  }
  const marks = new Uint8Array(2 ** markBits);
  for (const start of byStart.keys()) marks[markAt(start, 0)] = 1;
  const found = new Map<string, Set<string>>();
  for (const { name, bytes } of places) {
    const text = folded(bytes.toString('latin1'));
    for (let at = 0; at + startLength <= text.length; at++) {
      if (marks[markAt(text, at)] === 0) continue;
      for (const { form, called } of byStart.get(text.slice(at, at + startLength)) ?? [])
        if (text.startsWith(form, at)) found.set(called, (found.get(called) ?? new Set()).add(name));
    }
  }
  return [...found].map(([called, names]) => `${called} stands in ${[...names].join(', ')}`);
}

/** Without case, and with one alphabet of base64: what differs in these alone is read out as easily. */
const folded = (text: string): string => text.toLowerCase().replaceAll('+', '-').replaceAll('/', '_');

function formsOf(text: string): Set<string> {
  const hex = Buffer.from(text).toString('hex');
  const base64 = [text, text.toLowerCase(), text.toUpperCase()].flatMap((it) =>
    [0, 1, 2].map((offset) => {
      const encoded = Buffer.from('x'.repeat(offset) + it).toString('base64');
      // Its ends depend on what stands beside it.
      return encoded.slice(offset === 0 ? 0 : 4, -4);
    }),
  );
  return new Set([text, hex, hex.replace(/../g, '%$&'), ...base64].map(folded));
}
