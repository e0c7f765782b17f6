import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fstatSync,
  linkSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, resolve } from 'node:path';
import { makeFolder, syncFolder } from '../../util/files/make-folder.ts';
import { keyIdOf } from './certificate.ts';
import type { KeyAndCertificate } from './new-authority.ts';

/*
 * The authority's pair on disk. Two files cannot appear at one instant, so the key decides: a pair exists
 * from the moment its key has its final name. By then its certificate is on disk too, under a name that
 * carries the key's. Whoever finds a key without its certificate finishes the work: the same daemon after a
 * crash, or another one that starts at the same time. No lock is held, so none can be left behind.
 */

export interface PairFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

/**
 * Bytes of the largest file that is read, far above any chain of certificates. A device or a log that was
 * named by mistake is not read into memory.
 */
const fileBytesMax = 1_048_576;
const othersMayReadOrWrite = 0o077;

/**
 * Makes the pair where neither file is there. Of several processes that do so at once one wins, and all find
 * its pair. Throws an Error that says what to do where only one of the two is there and cannot be completed.
 */
export function ensurePair(files: PairFiles, create: () => KeyAndCertificate): void {
  const { certFile, keyFile } = files;
  if (resolve(certFile) === resolve(keyFile)) {
    throw new Error(`The CA's certificate and its key must be two files, not both ${certFile}.`);
  }
  // The certificate is looked at first: it appears last, so a key that is missing after it is missing for
  // good.
  const hasCert = existsSync(certFile);
  const hasKey = existsSync(keyFile);
  if (hasCert && !hasKey) {
    throw new Error(
      `The CA certificate ${certFile} stands without its key ${keyFile}. Restore the key, or remove the certificate to have a new CA made.`,
    );
  }
  if (!hasKey) publish(files, create());
  if (!hasCert) finish(files);
}

/**
 * Returns the name of a file before it has its final one. It ends in .pem, so that whatever keeps `*.pem` out
 * of a repository keeps it out, too.
 */
const pendingName = (file: string, keyId: string): string => `${file}.${keyId}.new.pem`;

/**
 * Writes both files under pending names, then gives the key its own. `link` fails where a name is taken;
 * `rename` would replace the file.
 */
function publish({ certFile, keyFile }: PairFiles, pair: KeyAndCertificate): void {
  const pendingCert = pendingName(certFile, pair.keyId);
  const pendingKey = pendingName(keyFile, pair.keyId);
  for (const file of [certFile, keyFile]) makeFolder(dirname(resolve(file)));
  try {
    writeNew(pendingCert, pair.certPem, 0o644);
    writeNew(pendingKey, pair.keyPem, 0o600);
    syncFolder(dirname(certFile));
    linkSync(pendingKey, keyFile);
  } catch (error) {
    rmSync(pendingCert, { force: true });
    // Another process was first: its pair is the pair.
    if (codeOf(error) !== 'EEXIST' || !existsSync(keyFile)) throw error;
  } finally {
    rmSync(pendingKey, { force: true });
  }
  syncFolder(dirname(keyFile));
}

/** Gives the certificate its final name, where the key has its own already. */
function finish({ certFile, keyFile }: PairFiles): void {
  const keyId = keyIdOf(createPublicKey(loadKey(keyFile))).toString('hex');
  try {
    renameSync(pendingName(certFile, keyId), certFile);
    syncFolder(dirname(certFile));
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
    if (existsSync(certFile)) return; // another process was faster
    throw new Error(
      `The CA key ${keyFile} stands without its certificate ${certFile}. Restore the certificate, or remove the key to have a new CA made.`,
      { cause: error },
    );
  }
  // A crash between giving the key its name and taking the pending one away leaves this file behind.
  rmSync(pendingName(keyFile, keyId), { force: true });
}

/** Returns the certificate file's text. */
export const readCertFile = (file: string): string => readBounded(file, () => {});

/** Returns the key. Throws where others may read or write its file; Windows has no modes. */
export function loadKey(file: string): KeyObject {
  const pem = readBounded(file, (mode) => {
    if (process.platform !== 'win32' && (mode & othersMayReadOrWrite) !== 0) {
      throw new Error(
        `The CA key ${file} can be reached by others (mode ${(mode & 0o777).toString(8)}). Run: chmod 600 ${file}`,
      );
    }
  });
  try {
    return createPrivateKey(pem);
  } catch (cause) {
    throw new Error(`The CA key ${file} is not a private key in PEM without a passphrase.`, { cause });
  }
}

/**
 * Returns the text of a file after `checkMode` has seen its mode. The mode is that of the open file, which
 * cannot be swapped between the check and the reading.
 */
function readBounded(file: string, checkMode: (mode: number) => void): string {
  const descriptor = openSync(file, 'r');
  try {
    const stat = fstatSync(descriptor);
    checkMode(stat.mode);
    if (!stat.isFile() || stat.size > fileBytesMax) throw new Error(`${file} is not a PEM file.`);
    return readFileSync(descriptor, 'latin1');
  } finally {
    closeSync(descriptor);
  }
}

/** Writes a new file (`wx`: O_CREAT | O_EXCL), which is on disk when this returns. */
const writeNew = (file: string, text: string, mode: number): void =>
  writeFileSync(file, text, { flag: 'wx', mode, flush: true });

const codeOf = (error: unknown): unknown => (error as NodeJS.ErrnoException).code;
