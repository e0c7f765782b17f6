import { basic, type PlacedCredential } from './credential-places.ts';

const partLengthMin = 16;
/** Bound on the parts of one credential. */
const partsMax = 64;
const token68 = /[A-Za-z0-9._~+/-]{16,}={0,2}/g;
const aroundToken = /^[.~+/=]+|[.~+/=]+$/g;

/**
 * Returns the parts of a composed credential that may be credentials themselves, such as a quoted token, as
 * written and decoded. Returns undefined where there are over 64.
 */
export function partsOf({ texts }: PlacedCredential, written: string): ReadonlySet<string> | undefined {
  const parts = new Set<string>();
  const pair = basic.exec(written)?.[1];
  const all = [
    written,
    ...texts,
    ...(pair === undefined ? [] : [Buffer.from(pair, 'base64').toString('utf8')]),
  ];
  for (const text of all)
    for (const form of new Set([text, fromPercents(text)]))
      for (const [run] of form.matchAll(token68)) {
        for (const part of [run, run.replace(aroundToken, '')])
          if (part.length >= partLengthMin) parts.add(part);
        if (parts.size > partsMax) return undefined;
      }
  return parts;
}

/**
 * Returns the texts between the dots and tildes of such parts, since a token may stand beside others. Returns
 * undefined where there are over 64.
 */
export function tokenPiecesOf(parts: ReadonlySet<string>): ReadonlySet<string> | undefined {
  const pieces = new Set<string>();
  for (const part of parts)
    for (const piece of part.split(betweenPieces))
      if (piece.length >= partLengthMin && !parts.has(piece)) pieces.add(piece);
  return pieces.size > partsMax ? undefined : pieces;
}
const betweenPieces = /[.~]/;

/** Undoes escapes of ASCII, and leaves malformed ones as they are: they must not hide the rest. */
const fromPercents = (text: string): string =>
  text.replace(/%([0-7][0-9A-Fa-f])/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
