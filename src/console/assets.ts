import { hash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { extname, join, relative, sep } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';

/** A file of the page, ready to be sent. */
export interface Asset {
  readonly type: string;
  readonly plain: Buffer;
  /** The file compressed by gzip; undefined where that is no smaller. */
  readonly gzipped: Buffer | undefined;
  readonly etag: string;
}

/** Assets by their path behind `/console/`. Only what is in this map is ever served. */
export type Assets = ReadonlyMap<string, Asset>;

const filesMax = 256;
const bytesMax = 16 * 1024 * 1024;

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.json': 'application/json',
  '.woff2': 'font/woff2',
  '.txt': 'text/plain; charset=utf-8',
};

const compress = promisify(gzip);

/** Reads a built page into memory. Rejects where it has too much, or a file of a kind that is not served. */
export async function loadAssets(dir: string): Promise<Assets> {
  const found = (await readdir(dir, { recursive: true, withFileTypes: true })).filter((it) => it.isFile());
  if (found.length > filesMax) throw new Error(`The page has more than ${filesMax} files.`);
  const assets = new Map<string, Asset>();
  let bytes = 0;
  for (const { parentPath, name } of found) {
    const file = join(parentPath, name);
    const type = types[extname(name)];
    if (type === undefined) throw new Error(`The page has a file of a kind that is not served: ${name}.`);
    const plain = await readFile(file);
    bytes += plain.length;
    if (bytes > bytesMax) throw new Error(`The page has more than ${bytesMax} bytes.`);
    const gzipped = await compress(plain, { level: 9 });
    assets.set(relative(dir, file).split(sep).join('/'), {
      type,
      plain,
      gzipped: gzipped.length < plain.length ? gzipped : undefined,
      etag: `"${hash('sha256', plain, 'base64url').slice(0, 22)}"`,
    });
  }
  if (!assets.has('index.html')) throw new Error('The page has no index.html.');
  return assets;
}
