export { match, position, useTables } from './match';
export { outline } from './outline';
export { unescapedLength, unescapedTo, unescapeJson } from './unescape';
export { beginWords, nextSentence, useWordTables } from './words';
