import { inflateSync } from 'node:zlib';
import { byteSet } from '../../kernel/bytes.ts';
import { textFlags } from '../../kernel/outline.ts';
import type { DecodeBudget } from '../budget.ts';
import { runEnd } from '../runs.ts';
import type { Block, BlockDecoder, EncodedText } from './block-decoder.ts';
import { type Inflated, isZlib, withInfo } from './inflate.ts';

/*
 * Reads the pack that `git push` sends (gitformat-pack(5)): commands in lines of known length
 * (gitprotocol-pack(5)), and behind them objects, each packed by itself. An object may be written as a
 * difference to another one; then its new bytes are read.
 */

const magic = Buffer.from('PACK\0\0\0', 'latin1');
const headerLength = 12;
/** Bounds on the bytes of the commands before the pack, and on the objects that are read. */
const commandBytesMax = 65_536;
const objectsMax = 20_000;
/** The part of the room for decoded bytes that a pack may take. The rest of a larger pack stays opaque. */
const roomShare = 1 / 2;
const offsetDelta = 6;
const referenceDelta = 7;
const commit = 1;
const tag = 4;
/** Bytes in the name of an object, by SHA-1 and SHA-256. */
const nameLengths = [20, 32];
/** The first bytes: digits of the length with which a line begins, or the name with which a pack does. */
const firstBytes = 4;
const isFirstByte = byteSet('0123456789abcdefPACK');

export const gitPack: BlockDecoder = {
  name: 'git-pack',
  mayHold: ({ bytes, outline }) => (outline.flags & textFlags.nonAscii) !== 0 && isPush(bytes),
  *find({ bytes }: EncodedText, budget: DecodeBudget): Iterable<Block> {
    const start = packStart(bytes);
    const count = bytes.length < start + headerLength ? 0 : bytes.readUInt32BE(start + 8);
    let room = Math.floor(budget.remainingBytes * roomShare);
    let at = start + headerLength;
    let read = 0;
    for (; read < Math.min(count, objectsMax); read += 1) {
      const object = objectAt(bytes, at, room, budget);
      if (!object) break;
      room -= object.bytes.length;
      yield object;
      at = object.end;
    }
    if (read < count)
      yield { start, end: bytes.length, bytes: bytes.subarray(start, start), opaque: 'archive' };
  },
};

/** Tells whether bytes are a pack, with or without commands before it. */
export const isPush = (bytes: Buffer): boolean =>
  runEnd(bytes, 0, isFirstByte, firstBytes) === firstBytes && packStart(bytes) >= 0;

/** Returns the place of the pack, which follows the commands; -1 where there is none. */
const packStart = (bytes: Buffer): number => bytes.subarray(0, commandBytesMax).indexOf(magic);

/**
 * Returns the object that begins at a place, unpacked; undefined where it cannot be unpacked, or is larger
 * than `room`.
 */
function objectAt(bytes: Buffer, start: number, room: number, budget: DecodeBudget): Block | undefined {
  const first = bytes[start] ?? 0;
  const type = (first >> 4) & 7;
  let size = first & 0x0f;
  let at = start + 1;
  for (let scale = 16, byte = first; byte >= 0x80; at += 1, scale *= 128) {
    if (scale > Number.MAX_SAFE_INTEGER || at >= bytes.length) return undefined;
    byte = bytes[at] as number;
    size += (byte & 0x7f) * scale;
  }
  if (size > room) return undefined;
  if (type === offsetDelta) while ((bytes[at++] ?? 0) >= 0x80);
  const starts = type === referenceDelta ? nameLengths.map((length) => at + length) : [at];
  const packedAt = starts.find((it) => isZlib(bytes.subarray(it)));
  const content = packedAt === undefined ? undefined : inflate(bytes.subarray(packedAt), size, budget);
  if (packedAt === undefined || !content) return undefined;
  const isNamed = type === commit || type === tag;
  return {
    ...{ start, end: packedAt + content.engine.bytesWritten },
    bytes: isNamed ? withoutPeople(content.buffer) : content.buffer,
  };
}

function inflate(packed: Buffer, size: number, budget: DecodeBudget): Inflated | undefined {
  budget.check();
  try {
    const options = { ...withInfo(size + 1), chunkSize: Math.max(64, size + 1) };
    const inflated = budget.run(() => inflateSync(packed, options)) as unknown as Inflated;
    return inflated.buffer.length === size ? inflated : undefined;
  } catch {
    // The bytes are no stream, or a longer one than was said. The rest of the pack stays opaque.
    return undefined;
  }
}

/**
 * Removes the head of a commit or tag, with who wrote it and when: that is public, and every commit has it.
 */
function withoutPeople(object: Buffer): Buffer {
  const headEnd = object.indexOf('\n\n');
  return headEnd < 0 ? object : object.subarray(headEnd + 1);
}
