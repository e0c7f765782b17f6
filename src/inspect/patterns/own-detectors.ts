import { isAscii } from 'node:buffer';
import { type Detector, detectorSchema } from './detector.ts';

/*
 * Creates detectors for an organisation's own hosts and words. They go through the same schema as YAML files,
 * so that nothing an administrator types can make a search slow.
 */

const ownHostId = 'own-host';
const ownMarkerId = 'own-marker';
/** The ids of all detectors that are created here. */
export const ownIds: readonly string[] = [ownHostId, ownMarkerId];

/** The least length of a literal, because shorter ones would be found in every text. */
const literalMin = 3;
/** Bound on the characters of a marker, since patterns have bounds. */
const markerMax = 100;
/**
 * The length of what a star matches, by the number of stars in the glob. Together they may step back only a
 * bounded number of times.
 */
const starLengths = [0, 253, 88, 18];

/** Reports what cannot be looked for, and why, in a sentence for the author. */
export class OwnWordError extends Error {
  override name = 'OwnWordError';
}

/**
 * Returns the detector for the hosts of a glob such as `*.corp.example.com`. A `*` matches any number of
 * characters, dots among them, and a `?` matches one. Throws OwnWordError where such hosts cannot be looked
 * for.
 */
export function ownHost(glob: string): Detector {
  const parts = glob.replace(/\*{2,}/g, '*').split(/([*?])/);
  const keyword = parts.reduce((longest, part) => (part.length > longest.length ? part : longest), '');
  if (keyword.length < literalMin)
    throw new OwnWordError(`needs ${literalMin} characters in a row that are no wildcard`);
  const stars = parts.filter((part) => part === '*').length;
  const starLength = starLengths[stars];
  if (starLength === undefined) throw new OwnWordError(`has more than ${starLengths.length - 1} stars`);
  const pattern = parts.map((part) => {
    if (part === '*') return `[\\w.-]{0,${starLength}}`;
    return part === '?' ? '[\\w-]' : escaped(part);
  });
  const before = parts.slice(0, parts.indexOf(keyword));
  return toOwnDetector({
    id: ownHostId,
    title: 'Host of the organisation',
    keywords: [keyword],
    window: { before: before.reduce((sum, part) => sum + (part === '*' ? starLength : part.length), 0) },
    pattern: `(?<![\\w.-])${pattern.join('')}(?![\\w-]|\\.\\w)`,
    examples: { match: [glob], pass: [' '] },
  });
}

/**
 * Returns the detector for a marker as a whole, in any case and with any white space between its words.
 * Throws OwnWordError where it cannot be looked for.
 */
export function ownMarker(marker: string): Detector {
  const words = marker.trim().split(/\s+/);
  if (words.join('').length < literalMin) throw new OwnWordError(`needs at least ${literalMin} characters`);
  if (marker.length > markerMax) throw new OwnWordError(`has more than ${markerMax} characters`);
  // The engine folds the case of ASCII letters only.
  const text = words.join(' ');
  const cases = isAscii(Buffer.from(text)) ? [text] : [text, text.toLowerCase(), text.toUpperCase()];
  const forms = [...new Set(cases)];
  const texts = forms.map((form) => form.split(' ').map(bytesOf));
  return toOwnDetector({
    id: ownMarkerId,
    title: 'Marker of the organisation',
    anchors: forms.map(anchorOf),
    pattern: `(?:${texts.map((it) => it.map(escaped).join('\\s{1,8}')).join('|')})(?![0-9A-Za-z])`,
    examples: { match: [marker], pass: [' '] },
  });
}

/** Returns the bytes of a word as latin-1, since patterns run on bytes. */
const bytesOf = (word: string): string => Buffer.from(word).toString('latin1');
/** Returns the pattern that matches a text in latin-1 as it stands. */
export const escaped = (text: string): string => text.replace(/[^0-9A-Za-z\x80-\xff]/g, '\\$&');

/** Returns as many of the first words as are needed to be rare. */
function anchorOf(form: string): string {
  const end = form.indexOf(' ', literalMin);
  return end < 0 ? form : form.slice(0, end);
}

function toOwnDetector(fields: Record<string, unknown>): Detector {
  const parsed = detectorSchema.safeParse({
    class: 'INTERNAL',
    confidence: 'medium',
    flags: 'i',
    ...fields,
  });
  if (parsed.success) return parsed.data;
  throw new OwnWordError(parsed.error.issues.map(({ message }) => message).join('; '));
}
