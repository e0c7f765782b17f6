import { createHmac } from 'node:crypto';
import type { Finding, InspectedCall } from '../core/call.ts';
import { counts } from '../inspect/parts/sanitize.ts';

/**
 * Returns hashes of the credentials that are out of place. Nobody can guess the credentials without the key.
 */
export type HashSecrets = (call: InspectedCall) => readonly string[];

/**
 * Bounds on the hashes of one call, and on the findings that are hashed for them: many findings may be copies
 * of one credential.
 */
export const hashesMax = 64;
export const hashedMax = 1_024;
const none: readonly never[] = Object.freeze([]);

/** Makes the function that hashes. `keyOf` returns a secret of the tenant. */
export function createSecretHashes(keyOf: (tenantId: string) => Buffer): HashSecrets {
  return function hashSecrets(call) {
    const { findings, identity } = call;
    if (findings.length === 0) return none;
    const secrets = findings.filter((it) => it.class === 'SECRETS' && counts(it)).slice(0, hashedMax);
    if (secrets.length === 0) return none;
    const key = keyOf(identity.tenantId);
    const hashes = withoutOverlaps(secrets).map((it) => hashOf(key, textOf(call, it)));
    return [...new Set(hashes)].slice(0, hashesMax);
  };
}

/** Returns the findings that reach over no other one, since several detectors may find one credential. */
function withoutOverlaps(secrets: readonly Finding[]): readonly Finding[] {
  const ends = new Map<Finding['part'], number>();
  return secrets
    .toSorted((a, b) => a.start - b.start || b.end - a.end)
    .filter(({ part, start, end }) => {
      if (start < (ends.get(part) ?? 0)) return false;
      ends.set(part, end);
      return true;
    });
}

/**
 * Returns a hash of 72 bits. Two of the few that one agent has in ten minutes are never the same by chance.
 */
export const hashOf = (key: Buffer, text: Uint8Array): string =>
  createHmac('sha256', key).update(text).digest('base64url').slice(0, 12);

const textOf = (call: InspectedCall, { part, start, end }: Finding): Buffer =>
  (part === 'head' ? call.head : call.plainBody).subarray(start, end);
