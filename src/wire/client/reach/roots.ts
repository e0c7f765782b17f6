import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { getCACertificates } from 'node:tls';

const pemBlock = /-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----/g;

/**
 * Returns the authorities that upstream certificates may lead to: Node's own and those in `files` (PEM
 * bundles). Throws where a file cannot be read, or holds no certificate or a broken one. A root that is
 * missing shows only when a call fails.
 */
export function loadRoots(files: readonly string[], read = readFile): readonly string[] {
  return [...getCACertificates('default'), ...files.flatMap((it) => loadBundle(it, read))];
}

const readFile = (file: string): string => readFileSync(file, 'latin1');

/** Returns the certificates of a PEM text, each with its first and last line. */
export const certificatesIn = (pem: string): readonly string[] => pem.match(pemBlock) ?? [];

function loadBundle(file: string, read: typeof readFile): readonly string[] {
  const blocks = certificatesIn(read(file));
  if (blocks.length === 0) throw new Error(`${file} holds no PEM certificate.`);
  for (const block of blocks) {
    try {
      new X509Certificate(block);
    } catch (cause) {
      throw new Error(`${file} holds a certificate that cannot be read.`, { cause });
    }
  }
  return blocks;
}
