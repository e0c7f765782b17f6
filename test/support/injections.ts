import { packagedInjections } from '../../src/decision/packaged-readers.ts';

/** The reader that comes with the gateway. */
export const injections = packagedInjections();
