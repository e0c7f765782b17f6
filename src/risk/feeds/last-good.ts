import { createHash, randomBytes } from 'node:crypto';
import type { Stats } from 'node:fs';
import { mkdir, open, readdir, rename, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import type { Writable } from 'node:stream';
import type { Validators } from './fetch-feed.ts';

/*
 * The last good text of every feed, so that a daemon that starts knows at once what it knew before. Text and
 * validators are one file, in which a line of JSON stands before the text. The file is renamed into its place
 * once it was read without complaint. So it is whole, whatever moment a crash picks. Its time of modification
 * is the time when the source last confirmed it.
 */

export interface Kept extends Validators {
  readonly file: string;
  /** The number of bytes before the text. */
  readonly skipBytes: number;
  readonly confirmedAtMs: number;
  /** The version of the text. Another text is another file, and has another version. */
  readonly version: string;
}

/** A text that is being written, and is not the last good one yet. */
export interface Draft extends Validators {
  readonly file: string;
  readonly skipBytes: number;
  readonly sink: Writable;
  /** Makes the draft the last good text and returns its version. The sink must have ended. */
  keep(nowMs: number): Promise<string>;
  /** Removes the draft, unless it was kept. */
  discard(): Promise<void>;
}

export type LastGood = ReturnType<typeof lastGoodOf>;

const headBytesMax = 4096;
const draftName = /\.[0-9a-f]{16}\.draft$/;

/** Creates the folder, and removes drafts that a crash left there. */
export async function openFolder(dir: string): Promise<void> {
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const names = await readdir(dir);
  await Promise.all(
    names.filter((name) => draftName.test(name)).map((name) => rm(join(dir, name), { force: true })),
  );
}

/**
 * Returns the place of a feed's last good text. The file must not show `url`, which may hold a key. A text
 * from another URL, or in another format, does not count.
 */
export function lastGoodOf(dir: string, name: string, url: string, format: string) {
  const source = createHash('sha256').update(`${format} ${url}`).digest('hex');
  // The hash of the name is the file's name. So names differ where file systems ignore case, and none is a
  // path.
  const place = join(dir, `${createHash('sha256').update(name).digest('hex').slice(0, 32)}.feed`);

  /** Returns the last good text; undefined where there is none from this source. */
  async function find(): Promise<Kept | undefined> {
    const head = await readHead(place);
    if (head?.source !== source) return undefined;
    const { etag, lastModified, skipBytes } = head;
    const stats = await stat(place);
    return {
      file: place,
      etag,
      lastModified,
      skipBytes,
      confirmedAtMs: Math.round(stats.mtimeMs),
      version: versionOf(stats),
    };
  }

  async function draft({ etag, lastModified }: Validators): Promise<Draft> {
    const file = `${place}.${randomBytes(8).toString('hex')}.draft`;
    const handle = await open(file, 'wx', 0o600);
    const head = Buffer.from(`${JSON.stringify({ source, etag, lastModified })}\n`);
    await handle.write(head);
    return {
      file,
      etag,
      lastModified,
      skipBytes: head.length,
      sink: handle.createWriteStream({ flush: true }),
      async keep(nowMs) {
        await utimes(file, nowMs / 1000, nowMs / 1000);
        const version = versionOf(await stat(file));
        await rename(file, place);
        await using folder = await open(dir, 'r');
        await folder.sync();
        return version;
      },
      async discard() {
        await handle.close();
        await rm(file, { force: true });
      },
    };
  }

  /** Notes that the source still has the text that is kept. */
  const confirm = (nowMs: number) => utimes(place, nowMs / 1000, nowMs / 1000);

  return { find, draft, confirm };
}

/**
 * Returns a mark that tells files apart. The number of a file may come back, but not with the same size and
 * time of creation.
 */
const versionOf = ({ ino, size, birthtimeMs }: Stats): string => `${ino}-${size}-${birthtimeMs}`;

interface Head extends Validators {
  readonly source: string;
  readonly skipBytes: number;
}

/**
 * Returns what the first line of a file says; undefined where there is no file, or its first line is no such
 * head.
 */
async function readHead(place: string): Promise<Head | undefined> {
  try {
    await using file = await open(place, 'r');
    const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(headBytesMax) });
    const end = buffer.subarray(0, bytesRead).indexOf('\n');
    const head: unknown = JSON.parse(buffer.toString('utf8', 0, Math.max(end, 0)));
    return isHead(head) ? { ...head, skipBytes: end + 1 } : undefined;
  } catch (error) {
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

function isHead(head: unknown): head is Omit<Head, 'skipBytes'> {
  if (typeof head !== 'object' || head === null) return false;
  const { source, etag, lastModified } = head as Record<string, unknown>;
  return [source, etag, lastModified].every((it) => typeof it === 'string');
}
