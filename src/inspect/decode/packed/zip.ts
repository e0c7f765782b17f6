import type { DecodeBudget } from '../budget.ts';
import { inflateEntry, isZip } from './compression.ts';

/*
 * Reads ZIP files (PKWARE APPNOTE 6.3.10), such as office documents. Entries are found by the central
 * directory, as most readers do. Bytes outside entries, encrypted entries, methods other than deflate, and
 * ZIP64 stay opaque.
 */

export interface ZipEntry {
  readonly name: string;
  readonly content: Buffer;
}

export interface Unzipped {
  readonly entries: readonly ZipEntry[];
  /** The names of all entries and the comment of the file, one a line. */
  readonly names: Buffer;
  /** Tells whether nothing in the file was skipped. */
  readonly isWhole: boolean;
}

interface Entry {
  readonly name: Buffer;
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
const lineEnd = Buffer.from('\n');
const stored = 0;
const deflated = 8;

/** Returns the entries in the file's order; undefined where no directory can be read. */
export function unzip(bytes: Buffer, budget: DecodeBudget): Unzipped | undefined {
  const directory = readDirectory(bytes);
  if (!directory) return undefined;
  const entries: ZipEntry[] = [];
  let isWhole = directory.entries.length <= entriesMax;
  let end = 0;
  for (const entry of directory.entries.slice(0, entriesMax)) {
    const from = dataStart(bytes, entry.start);
    const content =
      from < 0 ? undefined : unpack(bytes.subarray(from, from + entry.packedBytes), entry, budget);
    isWhole &&= content !== undefined && isBehind(entry.start, end);
    if (content) entries.push({ name: entry.name.toString('latin1'), content });
    end = from + entry.packedBytes;
  }
  const names = Buffer.concat([
    ...directory.entries.flatMap(({ name }) => [name, lineEnd]),
    directory.comment,
  ]);
  budget.spend(names.length);
  return { entries, names, isWhole: isWhole && isBehind(directory.start, end) };
}

/** Tells whether an entry follows the end of another; a descriptor may stand between them (4.3.9). */
const isBehind = (start: number, end: number): boolean => start >= end && start - end <= descriptorMax;

interface Directory {
  readonly start: number;
  readonly entries: Entry[];
  readonly comment: Buffer;
}

function readDirectory(bytes: Buffer): Directory | undefined {
  const end = bytes.lastIndexOf(endSignature);
  if (end < 0 || end + endLength > bytes.length || bytes.length - end > endLength + commentMax)
    return undefined;
  const count = bytes.readUInt16LE(end + 10);
  const start = bytes.readUInt32LE(end + 16);
  const entries: Entry[] = [];
  let at = start;
  for (let index = 0; index < count; index += 1) {
    if (at + entryLength > end || bytes.readUInt32LE(at) !== entrySignature) return undefined;
    const nameEnd = at + entryLength + bytes.readUInt16LE(at + 28);
    entries.push({
      name: bytes.subarray(at + entryLength, nameEnd),
      isEncrypted: (bytes.readUInt16LE(at + 8) & 1) !== 0,
      method: bytes.readUInt16LE(at + 10),
      packedBytes: bytes.readUInt32LE(at + 20),
      start: bytes.readUInt32LE(at + 42),
    });
    at = nameEnd + bytes.readUInt16LE(at + 30) + bytes.readUInt16LE(at + 32);
  }
  const comment = bytes.subarray(end + endLength);
  return { start, entries: entries.sort((a, b) => a.start - b.start), comment };
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
