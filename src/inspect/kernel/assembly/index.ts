export { match, position, useTables } from './match';
export { outline } from './outline';
export { seriesSigns } from './series';
export { beginStrings, longStrings, stringEnds } from './strings';
export { unescapedLength, unescapedTo, unescapeJson } from './unescape';
export { beginWords, nextSentence, useWordTables } from './words';
