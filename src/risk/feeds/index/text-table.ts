import { type EntriesData, isEntry, isSameText } from '../entries.ts';

/** Entries by the hash of their text: open addressing, at most two thirds full. */
export interface TextTable {
  /** The number of an entry and one more; 0 where there is none. A power of two of them. */
  readonly slots: Uint32Array;
  /** The hash of the text in each slot. */
  readonly hashes: Uint32Array;
}

/** Returns a table with room for as many. */
export function emptyTable(entries: number): TextTable {
  const size = 2 ** Math.ceil(Math.log2(Math.max(2, entries * 1.5)));
  return { slots: new Uint32Array(size), hashes: new Uint32Array(size) };
}

/** Puts an entry in, unless one of the same text is there; answers whether it did. */
export function putEntry(table: TextTable, hash: number, entry: number, data: EntriesData): boolean {
  const { slots, hashes } = table;
  const mask = slots.length - 1;
  let at = hash & mask;
  for (; slots[at] !== 0; at = (at + 1) & mask) {
    if (hashes[at] === hash && isSameText(data, (slots[at] ?? 0) - 1, entry)) return false;
  }
  slots[at] = entry + 1;
  hashes[at] = hash;
  return true;
}

/** Finds the entry whose text is `host` from `hostFrom` on and `pathLength` characters of `path`; or -1. */
export function findEntry(
  { slots, hashes }: TextTable,
  hash: number,
  data: EntriesData,
  host: string,
  hostFrom: number,
  path: string,
  pathLength: number,
): number {
  const mask = slots.length - 1;
  for (let at = hash & mask; ; at = (at + 1) & mask) {
    const slot = slots[at] ?? 0;
    if (slot === 0) return -1;
    if (hashes[at] === hash && isEntry(data, slot - 1, host, hostFrom, path, pathLength)) return slot - 1;
  }
}
