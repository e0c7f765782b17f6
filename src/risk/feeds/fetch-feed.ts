import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { Transform, type TransformCallback, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import type { HttpAnswer, HttpRequest } from '../../wire/client/http-client.ts';
import { FeedRefused } from './refused.ts';

/**
 * Marks by which a source recognises what it gave. They are HTTP's validators (RFC 9110, 8.8), or for a file
 * a mark that changes with the file.
 */
export interface Validators {
  readonly etag: string;
  readonly lastModified: string;
}

export const noValidators: Validators = { etag: '', lastModified: '' };

interface FetchOptions {
  readonly download: Download;
  /** The limit of the text that is written, in bytes. */
  readonly maxBytes: number;
  readonly signal: AbortSignal;
}

/**
 * Sends a request. `isChosen` tells whether an administrator has chosen the server. It is false for another
 * server that a redirect leads to.
 */
export type Download = (request: HttpRequest, isChosen: boolean) => Promise<HttpAnswer>;

/** Opens the place where the feed is written, once there is something to write. */
type Sink = (validators: Validators) => Promise<Writable>;

const redirectsMax = 3;
const redirects: readonly number[] = [301, 302, 303, 307, 308];
const userAgent = 'Postern (threat feeds)';

/**
 * Fetches a feed of an `https:`, `http:` or `file:` URL into the sink, without its content coding. Returns
 * whether there was anything new. Throws FeedRefused, or an error of the network or the disk.
 */
export async function fetchFeed(
  url: string,
  known: Validators,
  sink: Sink,
  options: FetchOptions,
): Promise<boolean> {
  if (url.startsWith('file:')) return await copyFile(fileURLToPath(url), known, sink, options);
  const { status, headers, body } = await followed(url, known, options);
  try {
    if (status === 304 && (known.etag || known.lastModified)) return false;
    if (status !== 200) throw new FeedRefused(`The server answered ${status}.`);
    const validators = { etag: fieldOf(headers, 'etag'), lastModified: fieldOf(headers, 'last-modified') };
    const decoders = decodersOf(fieldOf(headers, 'content-encoding'));
    // Both sides of the decoder have the same bound, each by itself, because a decompression bomb is small
    // before it.
    const steps = [
      atMost(options.maxBytes),
      ...decoders,
      ...(decoders.length > 0 ? [atMost(options.maxBytes)] : []),
    ];
    await pipeline([body, ...steps, await sink(validators)], { signal: options.signal });
    return true;
  } finally {
    body.destroy();
  }
}

async function followed(
  url: string,
  known: Validators,
  { download, signal }: FetchOptions,
): Promise<HttpAnswer> {
  const headers = {
    'user-agent': userAgent,
    accept: '*/*',
    'accept-encoding': 'gzip, deflate, br',
    ...(known.etag === '' ? {} : { 'if-none-match': known.etag }),
    ...(known.lastModified === '' ? {} : { 'if-modified-since': known.lastModified }),
  };
  const chosen = URL.parse(url)?.origin;
  let from = url;
  for (let times = 0; ; times++) {
    const answer = await download(
      { url: from, method: 'GET', headers, signal },
      URL.parse(from)?.origin === chosen,
    );
    if (!redirects.includes(answer.status)) return answer;
    answer.body.destroy();
    if (times === redirectsMax)
      throw new FeedRefused(`The server redirects more than ${redirectsMax} times.`);
    const to = URL.parse(fieldOf(answer.headers, 'location'), from);
    if (to?.protocol !== 'https:') throw new FeedRefused('The server redirects to what is not https.');
    from = to.href;
  }
}

const fieldLengthMax = 256;

/** Returns the value of a header field; '' where there is none, or one that no honest server sends. */
function fieldOf(headers: HttpAnswer['headers'], name: string): string {
  const value = headers[name];
  const isRight = typeof value === 'string' && (name === 'location' || value.length <= fieldLengthMax);
  return isRight && /^[\x20-\x7e]*$/.test(value) ? value : '';
}

function decodersOf(coding: string): Transform[] {
  switch (coding.trim().toLowerCase()) {
    case '':
    case 'identity':
      return [];
    case 'gzip':
    case 'x-gzip':
      return [createGunzip()];
    case 'deflate':
      return [createInflate()];
    case 'br':
      return [createBrotliDecompress()];
    default:
      throw new FeedRefused('The server uses a content coding that was not asked for.');
  }
}

/** Returns a stream that passes on what comes, and fails at the first byte above the limit. */
function atMost(maxBytes: number): Transform {
  let bytes = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, done: TransformCallback) {
      bytes += chunk.length;
      if (bytes > maxBytes) done(new FeedRefused(`The feed is larger than ${maxBytes} bytes.`));
      else done(null, chunk);
    },
  });
}

const fileTroubles: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist',
  EACCES: 'may not be read by the user of the daemon',
};

/** Throws a sentence that says why a file cannot be opened, without its path. */
function refuseFile(error: NodeJS.ErrnoException): never {
  const { code = '' } = error;
  throw new FeedRefused(`The file of the feed ${fileTroubles[code] ?? `cannot be opened (${code})`}.`);
}

async function copyFile(
  path: string,
  known: Validators,
  sink: Sink,
  options: FetchOptions,
): Promise<boolean> {
  // Without O_NONBLOCK, opening a pipe would wait for whoever writes to it.
  await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch(refuseFile);
  const stat = await file.stat();
  if (!stat.isFile()) throw new FeedRefused('The feed is not a regular file.');
  const etag = `${stat.ino}-${stat.size}-${stat.mtimeMs}`;
  if (known.etag === etag) return false;
  const source = file.createReadStream({ autoClose: false });
  await pipeline([source, atMost(options.maxBytes), await sink({ etag, lastModified: '' })], {
    signal: options.signal,
  });
  return true;
}
