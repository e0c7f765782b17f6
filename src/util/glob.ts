/*
 * Shell globs: `*` stands for any run of characters, `/` included, `?` for one character, `[abc]`, `[a-z]`
 * and `[!a]` for one of a set. Case counts, unless `ignoresCase` is set.
 *
 * Other readers of globs know more than that (braces, extended globs, negation). Such patterns are refused
 * instead of taken literally. Matching takes linear time, where a regular expression backtracks over
 * `*a*a*a*…`. Each run of `*` is passed once from left to right. The text between two of them is compared 32
 * characters at a time.
 */

export const globLengthMax = 512;

const sets = /\[[^\]]*\]?/g;
const extendedGlob = /[+@*?!]\(/;
const negation = /^(?:\.\/)*!/;

/** What a piece says of one character: a text is the character itself, `undefined` any character. */
type Unit = string | undefined | CharSet;

interface CharSet {
  readonly negated: boolean;
  readonly ranges: readonly (readonly [from: string, to: string])[];
  readonly ignoresCase?: boolean;
}

/** The part of a pattern between two stars. It is a plain text where it has no `?` and no set. */
type Piece = string | readonly Unit[];

export type Glob = (text: string) => boolean;

/** Returns why the text is no glob, in words for its author; undefined where it is one. */
export function globProblem(pattern: string): string | undefined {
  if (pattern.length > globLengthMax) return `is longer than ${globLengthMax} characters`;
  if (/[{}]/.test(pattern)) return 'has braces, which globs do not expand here; write several patterns';
  const outsideSets = pattern.replace(sets, 'x');
  if (extendedGlob.test(outsideSets)) return 'has an extended glob such as +(…) or !(…); use * ? [abc] only';
  if (negation.test(outsideSets)) return 'begins with !, which does not negate here; use * ? [abc] only';
  if (/\\|^\^|\$$|\([^)]*\|/.test(pattern)) return 'looks like a regular expression; use * ? [abc] only';
  try {
    parseGlob(pattern);
    return undefined;
  } catch (error) {
    if (error instanceof GlobError) return error.message;
    throw error;
  }
}

/**
 * Compiles a pattern in which `globProblem` finds nothing. Throws at a wrong set; it does not look for the
 * other problems.
 */
export function compileGlob(pattern: string, ignoresCase = false): Glob {
  if (!ignoresCase) return compilePieces(parseGlob(pattern));
  const glob = compilePieces(parseGlob(pattern).map(withoutCase));
  return (text) => glob(text.toLowerCase());
}

/**
 * Returns the piece as it matches text in lower case. A set stays as written and tries both cases, since
 * `[Z-a]` in lower case would run backwards.
 */
function withoutCase(piece: Piece): Piece {
  if (typeof piece === 'string') return piece.toLowerCase();
  return piece.map((unit) =>
    typeof unit === 'object' ? { ...unit, ignoresCase: true } : unit?.toLowerCase(),
  );
}

function compilePieces(pieces: readonly Piece[]): Glob {
  const first = pieces[0] ?? '';
  if (pieces.length === 1) return (text) => text.length === first.length && standsAt(first, text, 0);
  const last = pieces.at(-1) ?? '';
  const between = pieces.slice(1, -1).flatMap((piece) => (piece.length > 0 ? toFinder(piece) : []));
  return (text) => {
    const end = text.length - last.length;
    if (end < first.length || !standsAt(first, text, 0)) return false;
    let from = first.length;
    for (const find of between) {
      from = find(text, from, end);
      if (from < 0) return false;
    }
    return standsAt(last, text, end);
  };
}

class GlobError extends Error {}

function parseGlob(pattern: string): Piece[] {
  const pieces: Unit[][] = [[]];
  for (let at = 0; at < pattern.length; at++) {
    const char = pattern[at];
    if (char === '*') pieces.push([]);
    else if (char === '?') pieces.at(-1)?.push(undefined);
    else if (char === '[') {
      const { set, end } = parseSet(pattern, at);
      pieces.at(-1)?.push(set);
      at = end;
    } else pieces.at(-1)?.push(char);
  }
  return pieces.map((units) => (units.every((unit) => typeof unit === 'string') ? units.join('') : units));
}

function parseSet(pattern: string, start: number): { set: CharSet; end: number } {
  const negated = pattern[start + 1] === '!' || pattern[start + 1] === '^';
  const first = start + (negated ? 2 : 1);
  // A bracket that comes first is a member, as in a shell.
  const end = pattern.indexOf(']', first + 1);
  if (end < 0) throw new GlobError('has a [ without its ]');
  const members = pattern.slice(first, end);
  if (members.includes('[:'))
    throw new GlobError('has a character class such as [:alpha:]; list the characters');
  const ranges: [string, string][] = [];
  for (let at = 0; at < members.length; at++) {
    const from = members.charAt(at);
    const isRange = members[at + 1] === '-' && at + 2 < members.length;
    const to = isRange ? members.charAt(at + 2) : from;
    if (to < from) throw new GlobError(`has the range ${from}-${to}, which runs backwards`);
    ranges.push([from, to]);
    if (isRange) at += 2;
  }
  return { set: { negated, ranges }, end };
}

function standsAt(piece: Piece, text: string, at: number): boolean {
  if (typeof piece === 'string') return text.startsWith(piece, at);
  return piece.every((unit, index) => isOf(unit, text.charAt(at + index)));
}

function isOf(unit: Unit, char: string): boolean {
  if (unit === undefined) return true;
  if (typeof unit === 'string') return unit === char;
  return isIn(unit, char) || (unit.ignoresCase === true && isIn(unit, char.toUpperCase()));
}

const isIn = ({ ranges, negated }: CharSet, char: string): boolean =>
  ranges.some(([from, to]) => from <= char && char <= to) !== negated;

/**
 * Returns the end of the leftmost match of a piece that lies between `from` and `end`; -1 where there is
 * none.
 */
type Finder = (text: string, from: number, end: number) => number;

function toFinder(piece: Piece): Finder {
  if (typeof piece !== 'string') return unitFinder(piece);
  return (text, from, end) => {
    const at = text.indexOf(piece, from);
    return at >= 0 && at + piece.length <= end ? at + piece.length : -1;
  };
}

const wordBits = 32;
const asciiMax = 0x7f;

/**
 * Finds units by Shift-And (Baeza-Yates and Gonnet, 1992): bit n says that the last n + 1 characters are the
 * first n + 1 units. A search that tries all units at each character would be slow for a text that an agent
 * chooses.
 */
function unitFinder(units: readonly Unit[]): Finder {
  const words = Math.ceil(units.length / wordBits);
  const masksOf = (char: string): Int32Array => {
    const masks = new Int32Array(words);
    units.forEach((unit, at) => {
      if (isOf(unit, char)) masks[at >> 5] = (masks[at >> 5] as number) | (1 << (at & 31));
    });
    return masks;
  };
  const ascii = Array.from({ length: asciiMax + 1 }, (_, code) => masksOf(String.fromCharCode(code)));
  const lastWord = words - 1;
  const lastBit = 1 << ((units.length - 1) & 31);
  return (text, from, end) => {
    const state = new Int32Array(words);
    for (let at = from; at < end; at++) {
      const masks = ascii[text.charCodeAt(at)] ?? masksOf(text.charAt(at));
      let carry = 1;
      for (let word = 0; word < words; word++) {
        const bits = state[word] as number;
        state[word] = ((bits << 1) | carry) & (masks[word] as number);
        carry = bits >>> 31;
      }
      if (((state[lastWord] as number) & lastBit) !== 0) return at + 1;
    }
    return -1;
  };
}
