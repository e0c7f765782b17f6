import { randomBytes } from 'node:crypto';
import {
  closeSync,
  constants,
  fstatSync,
  linkSync,
  openSync,
  readSync,
  rmSync,
  type Stats,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { makeFolder, syncFolder } from '../../util/files/make-folder.ts';

/**
 * Returns the secret in `file`: one line of hex, or of base64. The file is made on the first start, with mode
 * 0600. Two processes that start at once get the same secret. Throws, never quoting the content, when the
 * file belongs to somebody else or can be read by others. It also throws when the file does not hold exactly
 * `bytes` bytes. A wrong secret is not replaced, because what was made with the old one would be lost.
 */
export function loadOrMakeSecret(file: string, bytes: number): Buffer {
  const [secret, ...more] = loadOrMakeSecrets(file, bytes);
  if (!secret || more.length > 0) throw new Error(`${file} must hold ${bytes} bytes as hex or base64.`);
  return secret;
}

/** Returns the secrets in a file that may hold several, each on a line of its own: see `loadOrMakeSecret`. */
export function loadOrMakeSecrets(file: string, bytes: number): readonly Buffer[] {
  return load(file, bytes) ?? make(file, bytes);
}

const fileBytesMax = 4_096;

function load(file: string, bytes: number): readonly Buffer[] | undefined {
  let fd: number;
  try {
    fd = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  try {
    checkOwner(file, fstatSync(fd));
    const content = Buffer.alloc(fileBytesMax);
    const text = content.toString('latin1', 0, readSync(fd, content)).trim();
    return text.split(/\s+/).map((line) => {
      const secret =
        /^[0-9a-f]+$/i.test(line) && line.length === bytes * 2 ? Buffer.from(line, 'hex') : fromBase64(line);
      if (secret?.length !== bytes) throw new Error(`${file} must hold ${bytes} bytes as hex or base64.`);
      return secret;
    });
  } finally {
    closeSync(fd);
  }
}

function checkOwner(file: string, stats: Stats): void {
  if (!stats.isFile()) throw new Error(`${file} is not a file.`);
  if ((stats.mode & 0o077) !== 0) throw new Error(`${file} can be read by others; chmod 600 it.`);
  const uid = process.getuid?.();
  if (uid !== undefined && stats.uid !== uid && uid !== 0)
    throw new Error(`${file} belongs to another user.`);
}

const fromBase64 = (text: string): Buffer | undefined =>
  /^[A-Za-z0-9+/]+={0,2}$/.test(text) ? Buffer.from(text, 'base64') : undefined;

/**
 * Makes the file with a random secret, and returns its secrets. It is written elsewhere and linked into place
 * when whole. The link fails if another start was first; that start's secret is then returned.
 */
function make(file: string, bytes: number): readonly Buffer[] {
  makeFolder(dirname(file), 0o700);
  const draft = `${file}.${randomBytes(8).toString('hex')}`;
  try {
    const text = `${randomBytes(bytes).toString('hex')}\n`;
    writeFileSync(draft, text, { flag: 'wx', mode: 0o600, flush: true });
    linkSync(draft, file);
    syncFolder(dirname(file));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    rmSync(draft, { force: true });
  }
  const secret = load(file, bytes);
  if (!secret) throw new Error(`${file} was removed while it was being made.`);
  return secret;
}
