import { type EntriesData, isEntry, isSameText } from '../entries.ts';

/** Entries by the hash of their text, in a table with open addressing that is at most two thirds full. */
export interface TextTable {
  /**
   * The number of an entry plus one in each slot; 0 where the slot is free. The number of slots is a power of
   * two.
   */
  readonly slots: Uint32Array;
  /** The hash of the text in each slot. */
  readonly hashes: Uint32Array;
}

/** Returns an empty table with room for a number of entries. */
export function emptyTable(entries: number): TextTable {
  const size = 2 ** Math.ceil(Math.log2(Math.max(2, entries * 1.5)));
  return { slots: new Uint32Array(size), hashes: new Uint32Array(size) };
}

/** Puts an entry in, unless one of the same text is there. Returns whether it was put in. */
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

/**
 * Returns the entry whose text is `host` from `hostFrom` on and `pathLength` characters of `path`; -1 where
 * there is none.
 */
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
