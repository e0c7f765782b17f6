import { loadMeanings } from '../../src/inspect/intent/reader.ts';

/** The reader that comes with the gateway. */
export const meanings = loadMeanings(new URL('../../config/meaning', import.meta.url).pathname);
