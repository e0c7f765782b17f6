import { join } from 'node:path';
import { loadPhrasebook } from '../inspect/injection/phrasebook.ts';
import { createInjectionReader } from '../inspect/injection/reader.ts';
import { loadMeanings } from '../inspect/intent/reader.ts';
import { lazily } from '../util/lazily.ts';
import { packageFile } from '../util/program-files.ts';

const dataFolder = packageFile('config');

/**
 * Returns the reader of the program's phrases. They take a quarter of a second to prepare, so all gateways of
 * a process share them.
 */
export const packagedInjections = lazily(() =>
  createInjectionReader(loadPhrasebook(join(dataFolder, 'injection'), 'phrasebook'), true),
);

/** Returns the lexicon that comes with the program. It is the same for all gateways of a process. */
export const packagedMeanings = lazily(() => loadMeanings(join(dataFolder, 'meaning'), 'meaning'));
