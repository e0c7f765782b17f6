import { loadMeanings } from '../../src/detectors/meaning/reader.ts';

/** The reader that comes with the gateway. */
export const meanings = loadMeanings(new URL('../../config/meaning', import.meta.url).pathname);
