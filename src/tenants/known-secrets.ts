import type { Config } from '../config/schema.ts';
import { detectorSchema } from '../inspect/patterns/detector.ts';
import { escaped } from '../inspect/patterns/own-detectors.ts';
import type { WrittenDetector } from './added-detectors.ts';

/*
 * Makes detectors of secrets whose values the operator knows. They go the way of added detectors, so that
 * each value is found in every encoding that is read.
 */

/** How many characters of a form are looked for before all of it is compared. */
const anchorLength = 32;
/** How many bytes of a value an encoded form has. What follows in the same run is cut with it. */
const encodedBytes = 48;
const restOfRun = '[0-9A-Za-z+/_=-]{0,700}';

/** Returns the detector of each known secret, with its place in the configuration. */
export const knownSecretDetectors = (secrets: Config['knownSecrets']): readonly WrittenDetector[] =>
  secrets.map(({ name, value, hosts }, index) => {
    const plain = [value, [...value].reverse().join('')];
    const encoded = encodedForms(Buffer.from(value).subarray(0, encodedBytes));
    const detector = detectorSchema.parse({
      id: `known-secret-${name}`,
      title: 'Known secret',
      class: 'SECRETS',
      confidence: 'high',
      vendor_hosts: hosts,
      anchors: [...new Set([...plain, ...encoded].map((it) => it.slice(0, anchorLength)))],
      anchor_case: true,
      boundary: false,
      pattern: `${plain.map(escaped).join('|')}|(?:${encoded.map(escaped).join('|')})${restOfRun}`,
      examples: { match: [value], pass: [' '] },
    });
    return {
      place: `known_secrets[${index}]`,
      detector: { ...detector, isKnown: true },
      examples: { match: [...plain, ...encoded], pass: [] },
    };
  });

/**
 * Returns the bytes in hexadecimal and base64. Decoders pass over short runs that do not look like text. In
 * base64 the same bytes are written in three ways, by their place in the text; what depends on bytes beside
 * them is left out.
 */
function encodedForms(bytes: Buffer): readonly string[] {
  const hex = bytes.toString('hex');
  const inBase64 = (['base64', 'base64url'] as const).flatMap((alphabet) =>
    [0, 1, 2].map((before) => {
      const text = Buffer.concat([Buffer.alloc(before), bytes]).toString(alphabet);
      return text.slice(Math.ceil((before * 8) / 6), Math.floor(((before + bytes.length) * 8) / 6));
    }),
  );
  return [...new Set([hex, hex.toUpperCase(), ...inBase64])];
}
