import type { DecodeBudget } from '../budget.ts';
import { inflateEntry, isZip } from './compression.ts';

/*
 * Reads ZIP files (PKWARE APPNOTE 6.3.10), such as office documents. Entries are found by the central
 * directory, as most readers do. Bytes outside entries, encrypted entries, methods other than deflate, and
 * ZIP64 stay opaque.
 */

export interface Unzipped {
  /** The contents of the entries. */
  readonly contents: readonly Buffer[];
  /** Tells whether nothing in the file was skipped. */
  readonly isWhole: boolean;
}

interface Entry {
  readonly isEncrypted: boolean;
  readonly method: number;
  readonly packedBytes: number;
  readonly start: number;
}

const entriesMax = 1000;
const endSignature = Buffer.from('PK\x05\x06', 'latin1');
const endLength = 22;
const commentMax = 65_535;
const entrySignature = 0x02014b50;
const entryLength = 46;
const localLength = 30;
const descriptorMax = 16;
const stored = 0;
const deflated = 8;

/** Returns the contents of the entries in the file's order; undefined where no directory can be read. */
export function unzip(bytes: Buffer, budget: DecodeBudget): Unzipped | undefined {
  const directory = readDirectory(bytes);
  if (!directory) return undefined;
  const contents: Buffer[] = [];
  let isWhole = directory.entries.length <= entriesMax;
  let end = 0;
  for (const entry of directory.entries.slice(0, entriesMax)) {
    const from = dataStart(bytes, entry.start);
    const content =
      from < 0 ? undefined : unpack(bytes.subarray(from, from + entry.packedBytes), entry, budget);
    isWhole &&= content !== undefined && isBehind(entry.start, end);
    if (content) contents.push(content);
    end = from + entry.packedBytes;
  }
  return { contents, isWhole: isWhole && isBehind(directory.start, end) };
}

/** Tells whether an entry follows the end of another; a descriptor may stand between them (4.3.9). */
const isBehind = (start: number, end: number): boolean => start >= end && start - end <= descriptorMax;

function readDirectory(bytes: Buffer): { readonly start: number; readonly entries: Entry[] } | undefined {
  const end = bytes.lastIndexOf(endSignature);
  if (end < 0 || end + endLength > bytes.length || bytes.length - end > endLength + commentMax)
    return undefined;
  const count = bytes.readUInt16LE(end + 10);
  const start = bytes.readUInt32LE(end + 16);
  const entries: Entry[] = [];
  let at = start;
  for (let index = 0; index < count; index += 1) {
    if (at + entryLength > end || bytes.readUInt32LE(at) !== entrySignature) return undefined;
    entries.push({
      isEncrypted: (bytes.readUInt16LE(at + 8) & 1) !== 0,
      method: bytes.readUInt16LE(at + 10),
      packedBytes: bytes.readUInt32LE(at + 20),
      start: bytes.readUInt32LE(at + 42),
    });
    at +=
      entryLength + bytes.readUInt16LE(at + 28) + bytes.readUInt16LE(at + 30) + bytes.readUInt16LE(at + 32);
  }
  return { start, entries: entries.sort((a, b) => a.start - b.start) };
}

/** Returns the place behind the local header of an entry; -1 where there is none. */
function dataStart(bytes: Buffer, at: number): number {
  if (at + localLength > bytes.length || !isZip(bytes.subarray(at))) return -1;
  return at + localLength + bytes.readUInt16LE(at + 26) + bytes.readUInt16LE(at + 28);
}

function unpack(
  packed: Buffer,
  { isEncrypted, method, packedBytes }: Entry,
  budget: DecodeBudget,
): Buffer | undefined {
  if (isEncrypted || packed.length < packedBytes) return undefined;
  budget.check();
  if (method === stored) {
    budget.spend(packed.length);
    return packed;
  }
  if (method !== deflated) return undefined;
  // An entry that is not deflate after all is skipped, and the file is opaque.
  return inflateEntry(packed, budget);
}
