import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

/*
 * Stored credentials are sealed with AES-256-GCM before the state sees them: whoever reads the state or its backups gets nothing without
 * the key of the vault, which is not kept there. Tenant, name and type are bound in as additional data, so that a sealed credential that
 * was moved to another place does not open.
 */

/** Whose credential it is, and which. */
export interface SealedPlace {
  readonly tenantId: string;
  readonly name: string;
  readonly type: string;
}

export interface Vault {
  /** `v1.` and base64url. Sealing the same twice gives two texts. */
  seal(place: SealedPlace, secret: string): string;
  /** Undefined where the text was altered, belongs to another place, or was sealed with another key. */
  open(place: SealedPlace, sealed: string): string | undefined;
}

export const vaultKeyBytes = 32;

const version = 'v1.';
const cipher = 'aes-256-gcm';
/** Random ones of 96 bits are safe for four billion seals under one key (NIST SP 800-38D, 8.3). */
const nonceBytes = 12;
const tagBytes = 16;

/** `key` has 32 bytes. */
export function createVault(key: Buffer): Vault {
  if (key.length !== vaultKeyBytes) throw new Error(`The key of the vault must have ${vaultKeyBytes} bytes.`);
  return {
    seal(place, secret) {
      const nonce = randomBytes(nonceBytes);
      const sealing = createCipheriv(cipher, key, nonce, { authTagLength: tagBytes });
      sealing.setAAD(boundTo(place));
      const sealed = [nonce, sealing.update(secret, 'utf8'), sealing.final(), sealing.getAuthTag()];
      return version + Buffer.concat(sealed).toString('base64url');
    },
    open(place, sealed) {
      const bytes = Buffer.from(sealed.slice(version.length), 'base64url');
      if (!sealed.startsWith(version) || bytes.length < nonceBytes + tagBytes) return undefined;
      const opening = createDecipheriv(cipher, key, bytes.subarray(0, nonceBytes), {
        authTagLength: tagBytes,
      });
      opening.setAAD(boundTo(place));
      opening.setAuthTag(bytes.subarray(-tagBytes));
      const opened = opening.update(bytes.subarray(nonceBytes, -tagBytes));
      try {
        return Buffer.concat([opened, opening.final()]).toString('utf8');
      } catch {
        // The tag does not fit: that is all there is to know, and what was deciphered must not be looked at.
        return undefined;
      }
    },
  };
}

/** The key as `vault.key_env` holds it, in hex or base64; undefined where it is not 32 bytes. */
export function parseVaultKey(text: string): Buffer | undefined {
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
