import { digits, lowerCase, upperCase } from '../kernel/bytes.ts';

/*
 * Kinds of bytes of UTF-8 for a reader of words; from `Kind.lower` on they belong to words.
 * `src/inspect/kernel/assembly/words.ts` has the same kinds.
 */

const Kind = {
  gap: 0,
  /** Ends a sentence where a space follows: `.`, `!`, `?` and `;`. */
  end: 1,
  line: 2,
  /** Opens a sentence or a command inside another one: `"`, `:`, `>`, `&`, `|`, `$`. */
  opening: 3,
  star: 4,
  at: 5,
  slash: 6,
  backslash: 7,
  /** Begins a mark of two bytes, such as the no-break space, or of three, such as typographic quotes. */
  mark: 8,
  longMark: 9,
  /** Begins a comment or a heading. */
  hash: 10,
  parenthesis: 11,
  backtick: 12,
  apostrophe: 13,
  lower: 16,
  upper: 17,
  digit: 18,
  /** Begins a Latin letter with an accent. */
  accented: 19,
  /** Begins an accent that stands behind its letter, as in NFD. */
  accent: 20,
  other: 21,
} as const;

/** The kind of each byte. */
export const kinds = kindsOfBytes();

function kindsOfBytes(): Uint8Array {
  const table = new Uint8Array(256).fill(Kind.other, 0x80);
  const set = (characters: string, kind: number): void => {
    for (const byte of Buffer.from(characters, 'latin1')) table[byte] = kind;
  };
  set(lowerCase, Kind.lower);
  set(upperCase, Kind.upper);
  set(digits, Kind.digit);
  set('.!?;', Kind.end);
  set('\n', Kind.line);
  set('":>&|$', Kind.opening);
  set("'", Kind.apostrophe);
  set('#', Kind.hash);
  set('(', Kind.parenthesis);
  set('`', Kind.backtick);
  set('*', Kind.star);
  set('@', Kind.at);
  set('/', Kind.slash);
  set('\\', Kind.backslash);
  set('\xc2', Kind.mark);
  set('\xe2', Kind.longMark);
  set('\xc3', Kind.accented);
  set('\xcc\xcd', Kind.accent);
  return table;
}

/** The mark of bytes that are no part of a word. */
const gap = 0;
/** The mark of bytes that need a closer look: marks, and letters that are not plain. */
const noLetter = 1;
/** For each byte, where a word may begin, its letter or digit in lower case, or one of the two marks. */
export const firstLetters = Uint8Array.from(kinds, (kind, byte) => {
  if (kind === Kind.gap) return gap;
  if (kind === Kind.upper) return byte | 0x20;
  return kind === Kind.lower || kind === Kind.digit ? byte : noLetter;
});
/**
 * The letters of `firstLetters` for a byte where a word may go on: a mark ends the word, and a capital may
 * begin another.
 */
export const furtherLetters = firstLetters.map((letter, byte) => {
  const kind = kinds[byte] as number;
  if (kind < Kind.lower) return gap;
  return kind === Kind.upper ? noLetter : letter;
});

/**
 * The letters U+00C0 to U+00DF without accents, by the lower five bits of their second byte. The next 32
 * letters are the same in lower case.
 */
export const lettersWithoutAccents = Buffer.from('aaaaaaaceeeeiiiidnoooooxouuuuyts');
