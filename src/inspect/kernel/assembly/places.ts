import { listsAt, textBytesMax } from './memory';

/*
 * Keeps lists of places where something may be found, from left to right. Each list begins with its length.
 * `src/inspect/kernel/outline.ts` has the same numbers.
 */

const numbersMax: i32 = textBytesMax;
const listBytes: i32 = 4 * (numbersMax + 1);

export const runsList: i32 = listsAt;
export const escapesList: i32 = runsList + listBytes;
export const cutsList: i32 = escapesList + listBytes;
export const headersList: i32 = cutsList + listBytes;
export const markupList: i32 = headersList + listBytes;
export const codesList: i32 = markupList + listBytes;
export const groupsList: i32 = codesList + listBytes;
export const seamsList: i32 = groupsList + listBytes;

export function clearLists(): void {
  store<i32>(runsList, 0);
  store<i32>(escapesList, 0);
  store<i32>(cutsList, 0);
  store<i32>(headersList, 0);
  store<i32>(markupList, 0);
  store<i32>(codesList, 0);
  store<i32>(groupsList, 0);
  store<i32>(seamsList, 0);
}

/** Adds a number to a list. A list has at most as many as the text has bytes; further ones are dropped. */
export function addTo(list: i32, number: i32): void {
  const count = load<i32>(list);
  if (count === numbersMax) return;
  store<i32>(list + 4 + (count << 2), number);
  store<i32>(list, count + 1);
}

/** Returns the number that was added last; -1 where there is none. */
export function lastOf(list: i32): i32 {
  const count = load<i32>(list);
  return count === 0 ? -1 : load<i32>(list + (count << 2));
}

export function setLastOf(list: i32, number: i32): void {
  store<i32>(list + (load<i32>(list) << 2), number);
}
