import type { Span } from '../decode/span-map.ts';
import { byteSet, digits, isDigit, lowerCase, upperCase } from '../kernel/bytes.ts';
import type { Match } from './found.ts';

/*
 * Finds secrets in a text that was turned: written backwards, or with each letter moved by 13 places (ROT13).
 * Any text can be read so, which would double the search. So the matcher looks for the beginnings of secrets
 * in their turned form along with all other words. Only around one of them is the text turned back and
 * searched once more.
 */

/** A way to turn a text. Doing it twice gives the text again. */
interface Turning {
  turn(bytes: Buffer): Buffer;
  /** Tells whether the text runs backwards, so that a secret stands before its beginning. */
  readonly isBackwards: boolean;
}

const letters = `${lowerCase}${upperCase}`;
const moved = Uint8Array.from({ length: 256 }, (_, byte) => byte);
for (const [at, letter] of Buffer.from(letters).entries())
  moved[letter] = letters.charCodeAt(at < 26 ? (at + 13) % 26 : 26 + ((at + 13) % 26));

export const turnings: readonly Turning[] = [
  { isBackwards: true, turn: (bytes) => Buffer.from(bytes).reverse() },
  { isBackwards: false, turn: (bytes) => Buffer.from(bytes.map((byte) => moved[byte] as number)) },
];

/**
 * Beginnings of secrets that most agents have, and names before a value of no form. They are few, because
 * each word costs a little time in every text.
 */
const beginnings = [
  ...['AKIA', 'ASIA', 'AIza', 'GOCSPX-', 'ATATT3', '-----BEGIN '],
  ...['ghp_', 'gho_', 'ghs_', 'github_pat_', 'glpat-', 'npm_', 'pypi-AgEIcHlwaS5vcmc', 'dckr_pat_'],
  ...[
    'xoxb-',
    'xoxp-',
    'xapp-',
    'sk-ant-',
    'sk-proj-',
    'sk_live_',
    'rk_live_',
    'whsec_',
    'shpat_',
    'dop_v1_',
  ],
  ...['password', 'PASSWORD', 'secret_key', 'SECRET_KEY', 'api_key', 'API_KEY'],
];

/** A word that begins a secret in a text that was turned. */
export interface TurnedWord {
  readonly word: string;
  readonly turning: Turning;
}

export const turnedWords: readonly TurnedWord[] = turnings.flatMap((turning) =>
  beginnings.map((word) => ({ word: turning.turn(Buffer.from(word)).toString(), turning })),
);

/** Bound on the places that are looked at in one text. */
const placesMax = 64;
/**
 * The length from which a beginning counts by itself. A shorter one counts only beside `tokenBytesMin` bytes
 * of a token with a digit in them.
 */
const longBeginning = 7;
const tokenBytesMin = 12;
const isOfToken = byteSet(`${digits}${letters}+/=-_.`);
/** How many bytes are turned back on the side of the secret, and on the other side. */
const reach = 4096;
const reachBeside = 256;
/** Bound on the bytes between a beginning and its match: a name, a sign and quotes. */
const gapMax = 8;

/** A stretch of a text that is turned back, and the beginnings in it. */
export interface TurnedStretch extends Span {
  readonly turning: Turning;
  readonly places: readonly Span[];
}

/** Collects the beginnings of turned secrets in one text, and makes stretches of them. */
export class TurnedPlaces {
  readonly #bytes: Buffer;
  readonly #places: { readonly place: Span; readonly turning: Turning }[] = [];

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  add({ word, turning }: TurnedWord, start: number): void {
    const place = { start, end: start + word.length };
    if (this.#places.length < placesMax && this.#mayBeSecret(place, turning))
      this.#places.push({ place, turning });
  }

  stretches(): readonly TurnedStretch[] {
    return turnings.flatMap((turning) => {
      const stretches: { start: number; end: number; turning: Turning; places: Span[] }[] = [];
      const own = this.#places.filter((it) => it.turning === turning).map(({ place }) => place);
      for (const place of own.toSorted((a, b) => a.start - b.start)) {
        const start = Math.max(0, place.start - (turning.isBackwards ? reach : reachBeside));
        const end = Math.min(this.#bytes.length, place.end + (turning.isBackwards ? reachBeside : reach));
        const last = stretches.at(-1);
        if (last && start <= last.end) {
          last.end = Math.max(last.end, end);
          last.places.push(place);
        } else stretches.push({ start, end, turning, places: [place] });
      }
      return stretches;
    });
  }

  /**
   * Tells whether a secret may begin there. No text has a long beginning by chance; behind a short one a
   * token must go on in the turned direction.
   */
  #mayBeSecret({ start, end }: Span, { isBackwards }: Turning): boolean {
    if (end - start >= longBeginning) return true;
    const [first, step] = isBackwards ? [start - 1, -1] : [end, 1];
    let hasDigit = false;
    for (let count = 0; count < tokenBytesMin; count += 1) {
      const byte = this.#bytes[first + step * count] ?? 0;
      if (isOfToken[byte] !== 1) return false;
      hasDigit ||= isDigit(byte);
    }
    return hasDigit;
  }
}

/**
 * Returns the matches of a stretch that was turned back, at their places in the text. Only secrets with a
 * beginning count.
 */
export function inTurned(
  { start, end, turning, places }: TurnedStretch,
  matches: readonly Match[],
): readonly Match[] {
  return matches.flatMap((match) => {
    const isSecret = match.detector.class === 'SECRETS' && match.confidence !== 'low';
    const placed = turning.isBackwards
      ? { ...match, start: end - match.end, end: end - match.start }
      : { ...match, start: start + match.start, end: start + match.end };
    const isAt = (place: Span): boolean =>
      turning.isBackwards
        ? placed.end > place.start - gapMax && placed.start < place.end
        : placed.start < place.end + gapMax && placed.end > place.start;
    return isSecret && places.some(isAt) ? [placed] : [];
  });
}
