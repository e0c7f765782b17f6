export { match, position, useTables } from './match';
export { outline } from './outline';
export { beginWords, nextSentence, useWordTables } from './words';
