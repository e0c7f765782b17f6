import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

/*
 * Stored credentials are sealed with AES-256-GCM before the state sees them. Whoever reads the state or its
 * backups gets nothing without the key of the vault, which is not kept there. Tenant, name and type are
 * sealed in as additional data: a sealed credential that was moved to another place does not open.
 */

/** The tenant, the name and the type of a sealed credential. */
export interface SealedPlace {
  readonly tenantId: string;
  readonly name: string;
  readonly type: string;
}

export type Vault = ReturnType<typeof createVault>;

export const vaultKeyBytes = 32;

const version = 'v1.';
const cipher = 'aes-256-gcm';
/**
 * The number of bytes of a nonce. Random ones of 96 bits are safe for four billion seals under one key (NIST
 * SP 800-38D, 8.3).
 */
const nonceBytes = 12;
const tagBytes = 16;

/** Bound on the keys that may open while one follows another. */
const keysMax = 4;

/** Creates a vault from keys of 32 bytes. The first one seals; all of them open. */
export function createVault(...keys: readonly Buffer[]) {
  const [today] = keys;
  if (!today || keys.length > keysMax) throw new Error(`A vault has 1 to ${keysMax} keys.`);
  if (keys.some((it) => it.length !== vaultKeyBytes))
    throw new Error(`The key of the vault must have ${vaultKeyBytes} bytes.`);
  return {
    /**
     * Seals a secret for its place. The result is `v1.` and base64url; sealing the same twice gives two
     * texts.
     */
    seal(place: SealedPlace, secret: string) {
      const nonce = randomBytes(nonceBytes);
      const sealing = createCipheriv(cipher, today, nonce, { authTagLength: tagBytes });
      sealing.setAAD(boundTo(place));
      const sealed = [nonce, sealing.update(secret, 'utf8'), sealing.final(), sealing.getAuthTag()];
      return version + Buffer.concat(sealed).toString('base64url');
    },
    /**
     * Opens a sealed text. Returns undefined where it was altered, is of another place, or was sealed with
     * another key.
     */
    open(place: SealedPlace, sealed: string) {
      for (const key of keys) {
        const text = openWith(key, place, sealed);
        if (text !== undefined) return text;
      }
      return undefined;
    },
    /** Tells whether a text was sealed with the present key. */
    isOfToday: (place: SealedPlace, sealed: string) => openWith(today, place, sealed) !== undefined,
  };
}

function openWith(key: Buffer, place: SealedPlace, sealed: string): string | undefined {
  const bytes = Buffer.from(sealed.slice(version.length), 'base64url');
  if (!sealed.startsWith(version) || bytes.length < nonceBytes + tagBytes) return undefined;
  const opening = createDecipheriv(cipher, key, bytes.subarray(0, nonceBytes), { authTagLength: tagBytes });
  opening.setAAD(boundTo(place));
  opening.setAuthTag(bytes.subarray(-tagBytes));
  const opened = opening.update(bytes.subarray(nonceBytes, -tagBytes));
  try {
    return Buffer.concat([opened, opening.final()]).toString('utf8');
  } catch {
    // The tag does not fit. That is all there is to know, and what was deciphered must not be looked at.
    return undefined;
  }
}

/**
 * Parses `vault.key_env`, which has white space between keys. Returns undefined where one is bad, there is
 * none, or there are over 4.
 */
export function parseVaultKeys(text: string): readonly Buffer[] | undefined {
  const keys = text
    .trim()
    .split(/\s+/)
    .map(parseVaultKey)
    .filter((it) => it !== undefined);
  return keys.length === text.trim().split(/\s+/).length && keys.length <= keysMax ? keys : undefined;
}

/** Returns a key in hex or base64; undefined where it is not 32 bytes. */
function parseVaultKey(text: string): Buffer | undefined {
  const trimmed = text.trim();
  const key = /^[0-9a-f]{64}$/i.test(trimmed)
    ? Buffer.from(trimmed, 'hex')
    : /^[A-Za-z0-9+/_-]{43}=?$/.test(trimmed)
      ? Buffer.from(trimmed, 'base64')
      : undefined;
  return key?.length === vaultKeyBytes ? key : undefined;
}

const boundTo = ({ tenantId, name, type }: SealedPlace): Buffer =>
  Buffer.from(JSON.stringify(['postern credential', tenantId, name, type]));
