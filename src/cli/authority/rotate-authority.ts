import { X509Certificate } from 'node:crypto';
import { existsSync, readFileSync, renameSync, rmSync } from 'node:fs';
import type { Config } from '../../config/schema.ts';
import { ownedLike } from '../../util/files/owned-like.ts';
import { replaceFile } from '../../util/files/replace-file.ts';
import { openAuthority } from '../../wire/tls/authority.ts';

/*
 * Changes the authority without a failing call. From the first step to the last, the file that clients trust
 * has both certificates, the one that signs first. Each step may be repeated, and finishes one that was
 * broken off.
 */

type Pair = Config['authority'];

const nextOf = ({ cert, key }: Pair): Pair => ({ cert: `${cert}.next`, key: `${key}.next` });
const oldKeyOf = ({ key }: Pair): string => `${key}.old`;

/** Makes the next authority, and puts its certificate beside the old one. Returns what to do next. */
export function prepareRotation(pair: Pair): string {
  const next = nextOf(pair);
  if (existsSync(oldKeyOf(pair)))
    throw new Error('a rotation is under way: "postern ca rotate --finish" ends it.');
  openAuthority({ certFile: next.cert, keyFile: next.key, nowMs: Date.now() });
  ownedLike(next.key, pair.key);
  const [coming = ''] = certificatesOf(next.cert);
  const standing = certificatesOf(pair.cert).filter((it) => fingerprint(it) !== fingerprint(coming));
  replace(pair.cert, [...standing, coming]);
  return [
    `The next authority is ${fingerprint(coming)}, and ${pair.cert} has both.`,
    'Give that file to every client that trusts the old one; then "postern ca rotate --switch".',
  ].join('\n');
}

/** Makes the daemon sign with the next authority from its next start on. Returns what to do next. */
export function switchAuthority(pair: Pair): string {
  const next = nextOf(pair);
  if (!existsSync(next.cert)) throw new Error('there is no next authority: "postern ca rotate" makes one.');
  const [coming = ''] = certificatesOf(next.cert);
  const others = certificatesOf(pair.cert).filter((it) => fingerprint(it) !== fingerprint(coming));
  if (existsSync(next.key)) {
    renameSync(pair.key, oldKeyOf(pair));
    renameSync(next.key, pair.key);
  }
  replace(pair.cert, [coming, ...others]);
  rmSync(next.cert);
  return `${pair.key} is the key of ${fingerprint(coming)}. Restart the daemon; when no client has the old certificate alone any more, "postern ca rotate --finish".`;
}

/** Removes the old certificate and the old key, so that clients trust the new authority alone. */
export function finishRotation(pair: Pair): string {
  if (existsSync(nextOf(pair).cert))
    throw new Error('the switch is not done: "postern ca rotate --switch" does it.');
  const [current = ''] = certificatesOf(pair.cert);
  replace(pair.cert, [current]);
  rmSync(oldKeyOf(pair), { force: true });
  return `${pair.cert} has ${fingerprint(current)} alone. Restart the daemon.`;
}

const certificatesOf = (file: string): string[] =>
  readFileSync(file, 'latin1').match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];

const fingerprint = (pem: string): string => new X509Certificate(pem).fingerprint256;

const replace = (file: string, certificates: readonly string[]): void =>
  replaceFile(file, certificates.map((it) => `${it}\n`).join(''), 0o644);
