import { isAscii } from 'node:buffer';
import { kept } from '../../util/kept.ts';
import { createMatcher, type Matcher } from './matcher.ts';

/*
 * All phrases and field names that the rules of a set look for in bodies, so that one pass over a body answers for all of them.
 * The matcher compares ASCII without case; what it cannot take (one letter, or letters beyond ASCII, whose case only Unicode
 * knows) is looked for in the lower-cased text.
 */

/** Letters beyond ASCII that are letters of ASCII to those who compare without case: long s and the sign of kelvin. */
export const foldsToAscii = ['\u017f', '\u212a'] as const;

/** The words of a set, ready to be looked for. */
export interface Words {
  /** Its words may all be found by `firstEnds`. */
  readonly havePlaces: boolean;
  /** In the order of their indices. */
  readonly list: readonly string[];
  /** 1 at the index of each word that stands in the texts; empty where none does. */
  find(texts: readonly Buffer[]): Uint8Array;
  /** Where in a text each word that stands there ends for the first time, by its index. */
  firstEnds(text: Buffer): ReadonlyMap<number, number>;
}

export class WordList {
  readonly #indexOf = new Map<string, number>();

  /** The index of a word, the same for the same word in any case. */
  add(word: string): number {
    const lower = fold(word);
    const known = this.#indexOf.get(lower);
    if (known !== undefined) return known;
    this.#indexOf.set(lower, this.#indexOf.size);
    return this.#indexOf.size - 1;
  }

  build(): Words {
    return wordsOf(Object.freeze([...this.#indexOf.keys()]));
  }
}

/** The words as they are: those of a list are folded already, and folded once more some would become others. */
function wordsOf(list: readonly string[]): Words {
  const entries = list.map((word, index) => ({ word, index }));
  const plain = entries.filter(({ word }) => isPlain(word));
  const others = entries.filter(({ word }) => !isPlain(word));
  const plainWords = plain.map(({ word }) => word);
  let matcher: Matcher | undefined;
  return {
    list,
    // What is written with a backslash stands in the body as it came, and not in what it stands for.
    havePlaces: others.length === 0 && !list.some((word) => word.includes('\\')),
    firstEnds(text) {
      const ends = new Map<number, number>();
      if (plain.length === 0) return ends;
      matcher ??= createMatcher(plainWords);
      matcher.scan(text, (place, start) => {
        const { index, word } = plain[place] as (typeof plain)[number];
        ends.set(index, Math.min(ends.get(index) ?? Number.POSITIVE_INFINITY, start + word.length));
      });
      return ends;
    },
    find(texts) {
      // Made for the first one: most bodies have none.
      let found: Uint8Array | undefined;
      const add = (index: number): void => {
        found ??= new Uint8Array(entries.length);
        found[index] = 1;
      };
      const mark = (place: number): void => add(plain[place]?.index ?? 0);
      if (plain.length > 0) {
        matcher ??= createMatcher(plainWords);
        for (const text of texts) matcher.scan(text, mark);
      }
      for (const text of others.length > 0 ? texts : []) {
        const lower = fold(text.toString('utf8'));
        for (const { word, index } of others) if (lower.includes(word)) add(index);
      }
      return found ?? noneFound;
    },
  };
}

const noneFound = new Uint8Array(0);

/** What the texts of a body hold of the words of a set: found where the body is read, so that nobody goes through it again. */
export interface WordsFound {
  /** 1 at the index of each word that stands there; may be empty where none does. */
  readonly found: Uint8Array;
  readonly hidesNames: boolean;
}

const sets = new WeakMap<readonly string[], Words>();

/** The words of a set, given as its list. They are kept ready as long as the list is. */
export const wordsOfList = (list: readonly string[]): Words => kept(sets, list, () => wordsOf(list));

/** Looks for the words of a set in all texts of a body. */
export const findWords = (list: readonly string[], texts: readonly Buffer[]): WordsFound => ({
  found: Buffer.from(wordsOfList(list).find(texts)),
  hidesNames: texts.some(hidesNames),
});

/** `{"\\u0061mount": 1}` has an amount, as `"\\x61mount"` has for lenient parsers; `{"it\\u2019s": 1}` hides nothing. */
export const hidesNames = (text: Buffer): boolean => hiddenNameEnd(text) !== undefined;

/** Where the first sign of a text ends that may hide a name; undefined where there is none. */
export function hiddenNameEnd(text: Buffer): number | undefined {
  const isPlainText = isAscii(text);
  if (isPlainText && !text.includes(backslash)) return undefined;
  const ends = (isPlainText ? asciiSigns : hidingSigns).flatMap((sign) => {
    const at = text.indexOf(sign);
    return at < 0 ? [] : [at + sign.length];
  });
  const escapeEnd = hidingEscapeEnd(text);
  if (escapeEnd !== undefined) ends.push(escapeEnd);
  return ends.length > 0 ? Math.min(...ends) : undefined;
}

/** Of the first escape of a letter or digit, or of one that parsers may read as they like: most are of quotes and dashes. */
function hidingEscapeEnd(text: Buffer): number | undefined {
  for (let at = text.indexOf(escapeStart); at >= 0; at = text.indexOf(escapeStart, at + 2)) {
    if (!harmlessCode.test(text.toString('latin1', at + 2, at + 6))) return Math.min(at + 6, text.length);
  }
  return undefined;
}

const backslash = 0x5c;
const escapeStart = Buffer.from('\\u');
/** Names are searched for by their letters and digits of ASCII; see `foldsToAscii` for the two others. */
const harmlessCode = /^(?!00(?:3\d|[46][1-9a-f]|[57][\da])|017f|212a)[\da-f]{4}$/i;
const asciiSigns = [Buffer.from('\\x')];
const hidingSigns = [...asciiSigns, ...foldsToAscii.map((it) => Buffer.from(it))];

const isPlain = (word: string): boolean => /^[\x20-\x7e]{2,}$/.test(word);

/** Lower case, letters and their accents in one form whichever way they were typed, and a sigma the same at the end of a word. */
const fold = (text: string): string => text.normalize('NFC').toLowerCase().replaceAll('ς', 'σ');
