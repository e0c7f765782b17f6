import { packagedMeanings } from '../../src/decision/packaged-readers.ts';

/** The reader that comes with the gateway. */
export const meanings = packagedMeanings();
