/* Addresses in the memory of the kernel. `src/inspect/kernel/kernel.ts` has the same numbers. */

/** The address of a piece of the text, with 64 empty bytes behind it. */
export const textAt: i32 = 64;
export const textBytesMax: i32 = 65536;
/** The address of the flags: a byte for each 64 of the text. */
export const blocksAt: i32 = textAt + textBytesMax + 64;
/**
 * The number of bytes that a matcher looks at in one go, and the addresses of its lists: one of places, and
 * two of pairs of numbers.
 */
export const goBytes: i32 = 2048;
export const placesAt: i32 = blocksAt + textBytesMax / 64;
export const pairsAt: i32 = placesAt + 4 * (goBytes / 2) + 64;
export const longPairsAt: i32 = pairsAt + 8 * (goBytes / 2) + 64;
/** The address of the tables of a matcher, its filter first. */
export const filterAt: i32 = longPairsAt + 8 * (goBytes / 2) + 64;
/**
 * Addresses of the tables of `outline` for signs and characters, and of the lists of places that it writes.
 */
export const signsAt: i32 = filterAt;
export const valueBlockAt: i32 = signsAt + 512;
export const headAt: i32 = valueBlockAt + 1472;
export const traitsAt: i32 = valueBlockAt + 1536;
export const listsAt: i32 = traitsAt + 512;
