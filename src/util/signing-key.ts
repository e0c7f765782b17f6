import { createPrivateKey, type KeyObject, type webcrypto } from 'node:crypto';

/** A private key that signs JSON Web Tokens (RFC 7515). */
export interface SigningKey {
  readonly key: webcrypto.CryptoKey;
  /** The algorithm's name in a token's header (RFC 7518, 3.1; RFC 8037, 3.1). */
  readonly algorithm: 'RS256' | 'ES256' | 'ES384' | 'ES512' | 'EdDSA';
}

const rsaBitsMin = 2048;
const curves = {
  prime256v1: ['ES256', 'P-256'],
  secp384r1: ['ES384', 'P-384'],
  secp521r1: ['ES512', 'P-521'],
} as const;

/**
 * Parses a private key in PEM. Returns undefined for all but RSA of 2048 bits or more, NIST P-256 to P-521,
 * and Ed25519.
 */
export function parseSigningKey(pem: string): SigningKey | undefined {
  const key = parsePrivateKey(pem);
  const { modulusLength = 0, namedCurve = '' } = key?.asymmetricKeyDetails ?? {};
  switch (key?.asymmetricKeyType) {
    case 'rsa': {
      if (modulusLength < rsaBitsMin) return undefined;
      const algorithm = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' };
      return { algorithm: 'RS256', key: key.toCryptoKey(algorithm, false, ['sign']) };
    }
    case 'ec': {
      if (!(namedCurve in curves)) return undefined;
      const [algorithm, curve] = curves[namedCurve as keyof typeof curves];
      return { algorithm, key: key.toCryptoKey({ name: 'ECDSA', namedCurve: curve }, false, ['sign']) };
    }
    case 'ed25519':
      return { algorithm: 'EdDSA', key: key.toCryptoKey({ name: 'Ed25519' }, false, ['sign']) };
    default:
      return undefined;
  }
}

function parsePrivateKey(pem: string): KeyObject | undefined {
  try {
    return createPrivateKey(pem);
  } catch {
    // OpenSSL's message says in its own terms why the text is no key. Authors of a configuration are not
    // helped by it.
    return undefined;
  }
}
