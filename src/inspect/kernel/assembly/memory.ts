/*
 * Where the two sides meet in the memory of the kernel. `src/inspect/kernel/kernel.ts` has the same numbers.
 */

/** The text, or a piece of it, and 64 bytes of nothing behind it. */
export const textAt: i32 = 64;
export const textBytesMax: i32 = 65536;
/** A byte of flags for each 64 of the text. */
export const blocksAt: i32 = textAt + textBytesMax + 64;
/** What a matcher looks at in one go, in bytes, and the lists that it makes of it: of places, and two of pairs of numbers. */
export const goBytes: i32 = 2048;
export const placesAt: i32 = blocksAt + textBytesMax / 64;
export const pairsAt: i32 = placesAt + 4 * (goBytes / 2) + 64;
export const longPairsAt: i32 = pairsAt + 8 * (goBytes / 2) + 64;
/** What a matcher needs stands behind that, its filter first. */
export const filterAt: i32 = longPairsAt + 8 * (goBytes / 2) + 64;
/** What `outline` knows of signs and of characters, and the lists of places that it writes. */
export const signsAt: i32 = filterAt;
export const valueBlockAt: i32 = signsAt + 512;
export const headAt: i32 = valueBlockAt + 1472;
export const traitsAt: i32 = valueBlockAt + 1536;
export const listsAt: i32 = traitsAt + 512;
