import type { Tail } from '../call.ts';
import { randomBits } from '../detectors/checks/randomness.ts';
import type { CutToken, DetectorEngine, Match } from '../detectors/engine.ts';
import { isPlaceholder } from '../detectors/placeholder.ts';
import type { View } from '../text/views.ts';
import type { Placed } from './split-values.ts';

/*
 * A secret that is sent in pieces, one with each call. The call that lets its beginning out leaves a tail: which secret it may become, and
 * how many characters that lacks. A later call of the agent to the same host with a value of just that alphabet and length brings the
 * rest. Nothing of the text is remembered, so the value may be something else after all: the finding has medium confidence.
 */

/** Of a piece between the first and the last one: shorter values are words. */
const middleLengthMin = 8;
const middlesMax = 4;
const randomBitsMin = 5;
/** Values of a text that are looked at. */
const valuesMax = 4_096;
const separators = String.raw`"'\\&<>,;:/?#=\r\n\t\x1e`;
const value = new RegExp(`(?<![^${separators}])[^${separators}]{4,512}(?![^${separators}])`, 'g');
/** Digests and UUIDs without dashes. What is random and may have other letters has some. */
const hexadecimal = /^(?:[\da-f]+|[\dA-F]+)$/;
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

export interface Rests {
  /** Values that complete a tail. */
  readonly found: Placed<Match>[];
  /** What tails lack still, if values that are too short to complete them are pieces of the same secrets. */
  readonly tails: Tail[];
}

/** What the texts have of the rest of secrets that earlier calls have begun. */
export function findRests(
  { openTails, atMs }: { readonly openTails: readonly Tail[]; readonly atMs: number },
  views: readonly View[],
  engine: DetectorEngine,
): Rests {
  const found: Placed<Match>[] = [];
  const tails: Tail[] = [];
  for (const view of views) {
    let values = 0;
    for (const { 0: text, index: start } of view.bytes.toString('latin1').matchAll(value)) {
      if (++values > valuesMax) break;
      if (!mayBeRest(text)) continue;
      const end = start + text.length;
      for (const { kind, min, max } of openTails) {
        const body = engine.tokenOf(kind);
        if (!body || !isMadeOf(body.alphabet, text) || (min < max && !isMixed(text))) continue;
        const lacking = { min: min - text.length, max: max - text.length };
        // Of secrets of many lengths the shortest and the longest are issued; all between them would be completed by nearly any value.
        if (lacking.min === 0 || lacking.max === 0) {
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

/** Names and published examples stand in most calls; a piece that was cut out of something random is neither. */
const mayBeRest = (text: string): boolean => randomBits(text) >= randomBitsMin && !isPlaceholder(text, 0);

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
