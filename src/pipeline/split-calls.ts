import type { Call, Identity, Tail } from '../call.ts';
import { randomBits } from '../detectors/checks/randomness.ts';
import type { CutToken, DetectorEngine, Match } from '../detectors/engine.ts';
import { isPlaceholder } from '../detectors/placeholder.ts';
import type { Store } from '../state/store.ts';
import type { FieldFormat } from '../text/fields.ts';
import type { View } from '../text/views.ts';
import type { Placed } from './split-values.ts';

/*
 * A secret that is sent in pieces, one with each call. The call that lets its beginning out leaves a tail: which secret it may become, and
 * how many characters that lacks. A later call of the agent to the same host brings the rest: a random word of that alphabet and length.
 * Nothing of the text is remembered, so the word may be something else after all (a PKCE verifier, say): the finding has medium
 * confidence, and a tenant has to ask for it. Messages of one connection are always looked at together.
 */

/** Of a piece between the first and the last one: shorter words are words. */
const middleLengthMin = 8;
const middlesMax = 4;
const randomBitsMin = 5;
/** Of the rest of a secret that may have many lengths: shorter words are ids of all kinds, but where just so much is missing. */
const openRestLengthMin = 12;
const exactRestLengthMin = 6;
/** Words of a text that are looked at. */
const wordsMax = 16_384;
const run = /[0-9A-Za-z_+/=%~-]{4,}/g;
const word = /[^/=%]{4,512}/g;
/** Paths, and encoded data, of which many a part would do: long, or in the lines of RFC 2045 or RFC 7468, behind an escaped line end too. */
const data = /[+/%]|^.{513}|^n?(?:.{64}|.{76})$/;
const dataLineMin = 60;
/** Random parts of a text's encoded data: of many, one has the length that a secret lacks, and each is as likely as the others. */
const dataPartsMax = 16;
const lineEndMax = 3;
/** Digests and UUIDs. What is random and may have other letters has some. */
const hexadecimal = /^(?:[\da-f-]+|[\dA-F-]+)$/;
const letterG = 0x67;

/** What a call leaves behind: the tokens cut at the ends of its values, but for those whose rest was found in the same call. */
export function tailsOf(
  cutTokens: readonly Placed<CutToken>[],
  found: readonly Placed<Match>[],
  atMs: number,
): Tail[] {
  return cutTokens.flatMap(({ match: { detector, missing }, start }) => {
    const isFound = found.some((it) => it.start <= start && start < it.end);
    return missing && !isFound ? [{ kind: detector.id, ...missing, atMs }] : [];
  });
}

/** Leaves what a call that was let out begins to send to the later calls of its agent, where the tenant wants that. */
export function noteTails(
  store: Pick<Store, 'noteTails'>,
  { leavesTails, leftTails, target }: Pick<Call, 'leavesTails' | 'leftTails' | 'target'>,
  { tenantId, agentId }: Pick<Identity, 'tenantId' | 'agentId'>,
): void {
  if (leavesTails && leftTails.length > 0)
    store.noteTails({ tenantId, agentId, host: target.host, tails: leftTails });
}

export interface Rests {
  /** Values that complete a tail. */
  readonly found: Placed<Match>[];
  /** What tails lack still, if values that are too short to complete them are pieces of the same secrets. */
  readonly tails: Tail[];
}

export interface Begun {
  readonly openTails: readonly Tail[];
  readonly atMs: number;
  readonly format: FieldFormat;
}

/** What the texts have of the rest of secrets that earlier calls have begun. */
export function findRests(
  { openTails, atMs, format }: Begun,
  views: readonly View[],
  engine: DetectorEngine,
): Rests {
  const found: Placed<Match>[] = [];
  const tails: Tail[] = [];
  for (const view of views) {
    const words = restsIn(view.bytes);
    // A body that brings nothing else is made to bring it; in others such words are ids, and so they are in URLs and header fields.
    const isAlone =
      format !== 'head' && words.filter(({ text }) => text.length >= openRestLengthMin).length === 1;
    for (const { text, start, isData } of words) {
      const end = start + text.length;
      for (const { kind, min, max } of openTails) {
        const body = engine.tokenOf(kind);
        if (!body || !isMadeOf(body.alphabet, text) || (min < max && !isMixed(text))) continue;
        const lacking = { min: min - text.length, max: max - text.length };
        if (min === max ? lacking.min === 0 : isRest(lacking, text, isAlone && !isData)) {
          const match: Match = { detector: body.detector, start, end, confidence: 'medium' };
          found.push({ match, ...view.toSource(start, end) });
        } else if (lacking.min > 0 && text.length >= middleLengthMin && tails.length < middlesMax) {
          tails.push({ kind, ...lacking, atMs });
        }
      }
    }
  }
  return { found, tails };
}

interface Word {
  readonly text: string;
  readonly start: number;
  readonly isData: boolean;
}

/** The words that may be the rest of something. */
function restsIn(bytes: Buffer): readonly Word[] {
  const words = [...wordsOf(bytes.toString('latin1'))].filter(({ text }) => mayBeRest(text));
  const data = words.filter(({ isData }) => isData);
  return data.length > dataPartsMax ? words.filter(({ isData }) => !isData) : words;
}

/** The words of a text, without the marks around them. */
function* wordsOf(text: string): Generator<Word> {
  let words = 0;
  let lineEnd = Number.NEGATIVE_INFINITY;
  for (const { 0: whole, index } of text.matchAll(run)) {
    // The last line of data is shorter than the others.
    const isData = data.test(whole) || index - lineEnd < lineEndMax;
    if (isData && whole.length >= dataLineMin) lineEnd = index + whole.length;
    for (const { 0: part, index: at } of whole.matchAll(word)) {
      if (++words > wordsMax) return;
      yield { text: part, start: index + at, isData };
    }
  }
}

/** Of secrets of many lengths the shortest and the longest are issued most; where a word stands alone, whatever is long enough will do. */
function isRest({ min, max }: { min: number; max: number }, { length }: string, isAlone: boolean): boolean {
  if (min === 0 || max === 0) return length >= exactRestLengthMin;
  return isAlone && min < 0 && max > 0 && length >= openRestLengthMin;
}

/** Names and published examples stand in most calls, as do abbreviations; a piece that was cut out of something random is none. */
const mayBeRest = (text: string): boolean =>
  randomBits(text) >= randomBitsMin &&
  (text.length >= middleLengthMin || /\d/.test(text)) &&
  !isPlaceholder(text, 0);

/** Letters of both kinds and digits change places often, other than in names of many words. */
function isMixed(text: string): boolean {
  const changes = text.match(/[a-z](?=[^a-z])|[A-Z](?=[^A-Z])|\d(?=\D)/g)?.length ?? 0;
  return /\d/.test(text) && changes * 4 >= text.length;
}

function isMadeOf(alphabet: Uint8Array, text: string): boolean {
  if (alphabet[letterG] === 1 && hexadecimal.test(text)) return false;
  for (let at = 0; at < text.length; at += 1) if (alphabet[text.charCodeAt(at)] === 0) return false;
  return true;
}
