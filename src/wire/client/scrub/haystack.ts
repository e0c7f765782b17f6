import { type Automaton, makeAutomaton, type Needle, rowMask } from './automaton.ts';
import { beginsEscape, byteLengthOf, characterBytesMax, codeOf, readCharacter } from './escapes.ts';
import { dropped, makeViews, type ScrubView } from './needles.ts';

/** A place of a secret: `start` is its first byte, `end` the first one behind it. */
export interface SecretPlace {
  readonly start: number;
  readonly end: number;
}

const lineFeed = 0x0a;
const none = -1;

/** Tells by a byte whether it needs more than a look into the table. */
const special = Uint8Array.from({ length: 256 }, (_, byte) =>
  Number(beginsEscape(byte) || byte === lineFeed),
);

/**
 * Finds the secrets of one credential. The bytes are read backwards, because an escape says at its beginning
 * where it ends. So the needles that begin at a place depend on nothing before it. Each byte costs the same,
 * however much of a secret stands there. Else the time of an answer would tell how much of a guess is right.
 */
export class Haystack {
  /**
   * States of the search, three for each place. All haystacks share them, because a search ends before the
   * next one begins.
   */
  static #states = new Int32Array(0);
  /** Bytes of the longest form of a secret, with what must be seen to read its last character. */
  readonly bytesMax: number;
  readonly #automaton: Automaton;

  constructor(views: readonly ScrubView[], automaton: Automaton) {
    this.#automaton = automaton;
    let bytesMax = 0;
    for (const { needles, bytesPerCharacterMax } of views)
      for (const { length } of needles) bytesMax = Math.max(bytesMax, length * bytesPerCharacterMax);
    this.bytesMax = bytesMax + characterBytesMax;
  }

  /** Returns the places that begin before `to`, in order. With `isByLine` none goes beyond a line feed. */
  find(bytes: Buffer, to: number, isByLine: boolean): SecretPlace[] {
    const { columns, next, roots } = this.#automaton;
    const places: SecretPlace[] = [];
    const last = bytes.length;
    if (Haystack.#states.length < (last + 1) * 3) Haystack.#states = new Int32Array((last + 1) * 6);
    const states = Haystack.#states;
    states.set(roots, last * 3);
    let [text, hex, base64] = roots as [number, number, number];
    for (let at = last - 1; at >= 0; at--) {
      let code = bytes[at] as number;
      if (special[code] !== 0) {
        const read = readCharacter(bytes, at);
        const behind = isByLine && code === lineFeed ? last : at + byteLengthOf(read);
        code = codeOf(read);
        text = states[behind * 3] as number;
        hex = states[behind * 3 + 1] as number;
        base64 = states[behind * 3 + 2] as number;
      }
      const column = columns[code] as number;
      text = next[(text & rowMask) + column] as number;
      hex = next[(hex & rowMask) + column] as number;
      base64 = next[(base64 & rowMask) + column] as number;
      states[at * 3] = text;
      states[at * 3 + 1] = hex;
      states[at * 3 + 2] = base64;
      if (at < to && (text | hex | base64) < 0) {
        const end = Math.max(
          this.#endAt(text, bytes, at, isByLine),
          this.#endAt(hex, bytes, at, isByLine),
          this.#endAt(base64, bytes, at, isByLine),
        );
        if (end !== none) places.push({ start: at, end });
      }
    }
    return places.reverse();
  }

  /** Returns the furthest end of the needles that begin at `start` by one view; -1 where none does. */
  #endAt(state: number, bytes: Buffer, start: number, isByLine: boolean): number {
    let furthest = none;
    if (state >= 0) return furthest;
    for (const needle of this.#automaton.needlesAt(state)) {
      const end = endOf(needle, bytes, start, isByLine);
      if (end > furthest) furthest = end;
    }
    return furthest;
  }
}

/** Makes a haystack in steps, each of which is short. */
export function* makeHaystack(secrets: readonly string[]): Generator<undefined, Haystack> {
  const views = yield* makeViews(secrets);
  return new Haystack(views, yield* makeAutomaton(views));
}

/**
 * Returns where a needle ends that begins at `start`, or -1 where it does not stand there. A character that
 * does not count may stand between two, but a needle does not begin with one.
 */
function endOf({ view, characters }: Needle, bytes: Buffer, start: number, isByLine: boolean): number {
  const { meanings } = view;
  let at = start;
  for (let i = 0; i < characters.length; ) {
    if (at === bytes.length || (isByLine && bytes[at] === lineFeed)) return none;
    const read = readCharacter(bytes, at);
    const code = meanings[codeOf(read)];
    if (code === dropped ? at === start : code !== characters[i]) return none;
    if (code !== dropped) i++;
    at += byteLengthOf(read);
  }
  return at;
}
