/* Addresses in the memory of the kernel. `src/inspect/kernel/kernel.ts` has the same numbers. */

/** A piece of the text, and 64 empty bytes behind it. */
export const textAt: i32 = 64;
export const textBytesMax: i32 = 65536;
/** A byte of flags for each 64 of the text. */
export const blocksAt: i32 = textAt + textBytesMax + 64;
/** Bytes that a matcher looks at in one go, and its lists: one of places, and two of pairs of numbers. */
export const goBytes: i32 = 2048;
export const placesAt: i32 = blocksAt + textBytesMax / 64;
export const pairsAt: i32 = placesAt + 4 * (goBytes / 2) + 64;
export const longPairsAt: i32 = pairsAt + 8 * (goBytes / 2) + 64;
/** Tables of a matcher, its filter first. */
export const filterAt: i32 = longPairsAt + 8 * (goBytes / 2) + 64;
/** Tables of `outline` for signs and characters, and the lists of places that it writes. */
export const signsAt: i32 = filterAt;
export const valueBlockAt: i32 = signsAt + 512;
export const headAt: i32 = valueBlockAt + 1472;
export const traitsAt: i32 = valueBlockAt + 1536;
export const listsAt: i32 = traitsAt + 512;
