import type { Span } from './decode/span-map.ts';
import { type PlainSpace, plainJson } from './decode/unescape-json.ts';
import type { View } from './decode/views.ts';
import { findWords, hiddenNameEnd, type Words, type WordsFound } from './match/rule-words.ts';
import type { KnownBeginning, WordEnd } from './segments/known-beginning.ts';

/*
 * Makes the texts that a part has beside its views: its whole, its ends, what is new in it, and the words of
 * rules.
 */

/** The length in bytes of a value that may lie across the place where reading begins. */
const valueBytesMax = 512;
const none: readonly never[] = Object.freeze([]);

/** The index that stands for a hidden name among the indices of words. */
const hiddenNames = -1;

/**
 * Lists where each word first ends, and where hidden names do. Returns undefined where only all texts
 * together can tell.
 */
export function wordEndsIn(
  words: Words,
  views: readonly View[],
  known: KnownBeginning,
): readonly WordEnd[] | undefined {
  if (!words.havePlaces) return undefined;
  const ends = new Map(known.wordEnds.map(({ word, end }) => [word, end]));
  const isRead = (view: View): boolean => known.from === undefined || view !== views[0];
  for (const view of views) {
    const note = (word: number, at: number): void => {
      const { end } = view.toSource(at - 1, at);
      ends.set(word, Math.min(ends.get(word) ?? Number.POSITIVE_INFINITY, end));
    };
    if (!view.isSuperseded) for (const [word, at] of words.firstEnds(view.bytes)) note(word, at);
    const hiddenAt = isRead(view) ? hiddenNameEnd(view.bytes) : undefined;
    if (hiddenAt !== undefined) note(hiddenNames, hiddenAt);
  }
  return [...ends].map(([word, end]) => ({ word, start: end, end }));
}

export function wordsFoundIn(
  list: readonly string[],
  wordEnds: readonly WordEnd[] | undefined,
  part: PartTexts,
): WordsFound {
  if (!wordEnds) return findWords(list, part.texts);
  const found = Buffer.alloc(wordEnds.length > 0 ? list.length : 0);
  let hidesNames = false;
  for (const { word } of wordEnds) {
    if (word === hiddenNames) hidesNames = true;
    else found[word] = 1;
  }
  return { found, hidesNames };
}

/** Bound on the forms of one body whose ends are kept. */
const endingTextsMax = 4;
/**
 * How many bytes of either end are kept. They suffice because a request begins with its task and a
 * conversation ends with its newest turn.
 */
const endBytes = 4_096;
/** How many bytes of a body's start are unescaped, so that about `endBytes` of plain text are left. */
const startBytes = 4 * endBytes;

/**
 * Makes the texts of a whole part, of which the beginning may be known. It makes the forms only when they are
 * asked for.
 */
export class PartTexts {
  /** The searched text, or the end of it; undefined where time or room ran out before. */
  readonly searched: View | undefined;
  readonly #searchedAt: number;
  readonly #bytes: Buffer;
  readonly #views: readonly View[];
  readonly #known: KnownBeginning;
  readonly #space: PlainSpace | undefined;
  #plain: Buffer | undefined;
  #texts: readonly Buffer[] | undefined;

  /** Creates the texts. The whole text without its escapes is made in `space`, where that is given. */
  constructor(bytes: Buffer, views: readonly View[], known: KnownBeginning, space?: PlainSpace) {
    this.#bytes = bytes;
    this.#views = views;
    this.#known = known;
    this.#space = space;
    this.#searchedAt = views.findIndex((it) => !it.isSuperseded);
    this.searched = views[this.#searchedAt];
  }

  get decoded(): readonly Buffer[] {
    return [...this.#views.slice(this.#searchedAt + 1).map((it) => it.bytes), ...this.#known.decoded];
  }

  /** Returns the text without its escapes. */
  get bytes(): Buffer {
    const { searched } = this;
    this.#plain ??= searched?.isTail ? plainJson(this.#bytes, this.#space) : (searched?.bytes ?? this.#bytes);
    return this.#plain;
  }

  get texts(): readonly Buffer[] {
    if (this.#views.length === 0) return this.decoded;
    const both = this.bytes.length === this.#bytes.length ? [this.#bytes] : [this.#bytes, this.bytes];
    this.#texts ??= [...both, ...this.decoded];
    return this.#texts;
  }

  /** Returns the known beginning in all forms, and `valueBytesMax` bytes more, for values across its end. */
  knownTexts(): readonly Buffer[] {
    const { from = 0, decoded } = this.#known;
    const plainTo = this.bytes.length - (this.searched?.bytes.length ?? 0) + valueBytesMax;
    return [this.#bytes.subarray(0, from + valueBytesMax), this.bytes.subarray(0, plainTo), ...decoded];
  }

  ends(): readonly Buffer[] {
    if (!this.searched) return none;
    const from = this.#searchedAt + 1;
    if (from === this.#views.length && this.#known.decoded.length === 0) return this.#ownEnds(this.searched);
    const later = this.#views.slice(from, from + endingTextsMax - 1);
    const ends = [...this.#ownEnds(this.searched)];
    for (const view of later) ends.push(...this.#endsIn(view));
    for (const text of this.#known.decoded.slice(0, endingTextsMax - 1 - later.length))
      ends.push(...endsOf(text));
    return ends;
  }

  /** Returns the pieces of a decoded form that come from the ends of the part. */
  #endsIn({ bytes, toSource }: View): readonly Buffer[] {
    const whole = this.#bytes.length;
    if (whole <= 2 * endBytes) return endsOf(bytes);
    const { length } = bytes;
    const headTo = firstWhere(length, (at) => toSource(at, at + 1).start >= endBytes);
    const tailFrom = firstWhere(length, (at) => toSource(at, at + 1).end > whole - endBytes);
    const to = Math.min(headTo, endBytes);
    const from = Math.max(tailFrom, length - endBytes);
    if (to >= from) return [bytes];
    return [bytes.subarray(0, to), bytes.subarray(from)].filter((it) => it.length > 0);
  }

  #ownEnds({ bytes, isTail }: View): readonly Buffer[] {
    if (isTail && bytes.length >= endBytes) {
      const start = plainJson(this.#bytes.subarray(0, startBytes));
      // The last bytes of the start may be half an escape.
      if (start.length >= 2 * endBytes)
        return [start.subarray(0, endBytes), bytes.subarray(bytes.length - endBytes)];
    }
    return endsOf(this.bytes);
  }
}

/** Returns the first multiple of 64 for which `holds` is true, by binary search; `end` if there is none. */
function firstWhere(end: number, holds: (at: number) => boolean): number {
  let [low, high] = [0, Math.ceil(end / 64)];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (holds(64 * middle)) high = middle;
    else low = middle + 1;
  }
  return Math.min(end, 64 * low);
}

/** Returns both ends of a long text, or a short text as a whole. */
const endsOf = (text: Buffer): readonly Buffer[] =>
  text.length <= 2 * endBytes ? [text] : [text.subarray(0, endBytes), text.subarray(text.length - endBytes)];

/** Returns a body's new end in all forms. The raw bytes are among them where the body is read unescaped. */
export function newTexts(
  bytes: Buffer,
  views: readonly View[],
  from: number,
): readonly Pick<View, 'bytes' | 'toSource'>[] {
  const forms = views.filter((it) => !it.isSuperseded);
  if (views.length === forms.length + 1) return forms;
  const toSource = (start: number, end: number): Span => ({ start: from + start, end: from + end });
  return [{ bytes: bytes.subarray(from), toSource }, ...forms];
}
