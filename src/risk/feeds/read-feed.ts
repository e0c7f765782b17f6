import { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { type FeedFormat, formats } from './formats/index.ts';
import { type IndicatorSet, SetBuilder } from './index/indicator-set.ts';
import type { HashKey } from './index/keyed-hash.ts';
import type { Reader } from './readers.ts';
import { FeedRefused } from './refused.ts';

interface ReadOptions {
  readonly format: FeedFormat;
  readonly key: HashKey;
  /** The limit of the text, in bytes without gzip. */
  readonly maxBytes: number;
}

type Chunks = AsyncIterable<Uint8Array>;

/** The number of bytes in which the first line that is no comment is looked for. */
const openingBytesMax = 65_536;

/**
 * Makes a set of a feed, piece by piece. No more of the feed is held than its longest entry. Throws
 * FeedRefused, with a reason, where the feed is not what it should be.
 */
export async function readFeed(chunks: Chunks, options: ReadOptions): Promise<IndicatorSet> {
  const { open, referenceBase } = formats[options.format];
  let reader: Reader | undefined;
  const builder = new SetBuilder(options.key, () => reader?.place() ?? 'the beginning');
  let head = Buffer.alloc(0);
  let bytes = 0;
  for await (const piece of plainText(chunks)) {
    bytes += piece.length;
    if (bytes > options.maxBytes) throw new FeedRefused(`The feed is larger than ${options.maxBytes} bytes.`);
    if (piece.includes(0)) throw new FeedRefused('The feed is no text.');
    if (reader) {
      reader.write(piece);
      continue;
    }
    head = Buffer.concat([head, piece]);
    const opening = openingOf(head);
    if (opening === undefined && head.length < openingBytesMax) continue;
    reader = open(builder, opening ?? '');
    reader.write(withoutMark(head));
  }
  if (bytes === 0) throw new FeedRefused('The feed is empty.');
  if (!reader) {
    reader = open(builder, openingOf(Buffer.concat([head, Buffer.from('\n')])) ?? '');
    reader.write(withoutMark(head));
  }
  reader.end();
  return builder.finish(referenceBase);
}

/** Returns the feed without gzip. Gzip is recognised by its first bytes, whatever the name of the file. */
async function* plainText(chunks: Chunks): AsyncGenerator<Buffer> {
  const source = chunks[Symbol.asyncIterator]();
  let head = Buffer.alloc(0);
  while (head.length < 4) {
    const next = await source.next();
    if (next.done === true) break;
    head = Buffer.concat([head, next.value]);
  }
  if (head.subarray(0, 4).toString('latin1') === 'PK\x03\x04') {
    throw new FeedRefused('The feed is a ZIP archive; name a download that is plain or gzip.');
  }
  async function* whole(): AsyncGenerator<Buffer> {
    yield head;
    for await (const chunk of { [Symbol.asyncIterator]: () => source })
      yield Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length);
  }
  if (head[0] !== 0x1f || head[1] !== 0x8b) return yield* whole();
  const gunzip = createGunzip();
  const input = Readable.from(whole(), { objectMode: false });
  input.once('error', (error) => gunzip.destroy(error));
  try {
    yield* input.pipe(gunzip) as AsyncIterable<Buffer>;
  } catch (cause) {
    if (!isZlibError(cause)) throw cause;
    throw new FeedRefused('The gzip of the feed is broken or cut.', { cause });
  } finally {
    input.destroy();
    gunzip.destroy();
  }
}

const isZlibError = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && String(error.code).startsWith('Z_');

const byteOrderMark = Buffer.from([0xef, 0xbb, 0xbf]);
const withoutMark = (bytes: Buffer): Buffer =>
  bytes.subarray(0, 3).equals(byteOrderMark) ? bytes.subarray(3) : bytes;

/**
 * Returns the first line of content; undefined if none has come yet. Throws FeedRefused where the text is
 * HTML or XML.
 */
function openingOf(head: Buffer): string | undefined {
  const text = withoutMark(head).toString('latin1').trimStart();
  if (text.startsWith('<')) throw new FeedRefused('The feed is HTML or XML.');
  // JSON may be one line of any length, so its first character is enough.
  if (/^[[{]/.test(text)) return text.slice(0, 1);
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => line.trim())
    .find((line) => line !== '' && !/^[#;]/.test(line));
}
