import type { Config } from '../config/schema.ts';
import { detectorSchema } from '../inspect/patterns/detector.ts';
import type { WrittenDetector } from './added-detectors.ts';

/*
 * Makes detectors of secrets whose values the operator knows. They go the way of added detectors, so that
 * each value is found in every encoding that is read.
 */

/** How many characters of a value are looked for before all of it is compared. */
const anchorLength = 32;

/** Returns the detector of each known secret, with its place in the configuration. */
export const knownSecretDetectors = (secrets: Config['knownSecrets']): readonly WrittenDetector[] =>
  secrets.map(({ name, value, hosts }, index) => ({
    place: `known_secrets[${index}]`,
    detector: {
      ...detectorSchema.parse({
        id: `known-secret-${name}`,
        title: 'Known secret',
        class: 'SECRETS',
        confidence: 'high',
        vendor_hosts: hosts,
        anchors: [value.slice(0, anchorLength)],
        anchor_case: true,
        boundary: false,
        pattern: value.replace(/[^0-9A-Za-z]/g, '\\$&'),
        examples: { match: [value], pass: [' '] },
      }),
      isKnown: true,
    },
    examples: { match: [value], pass: [] },
  }));
