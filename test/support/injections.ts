import { loadPhrasebook } from '../../src/inspect/injection/phrasebook.ts';
import { createInjectionReader } from '../../src/inspect/injection/reader.ts';

/** The reader that comes with the gateway. */
export const injections = createInjectionReader(
  loadPhrasebook(new URL('../../config/injection', import.meta.url).pathname),
);
