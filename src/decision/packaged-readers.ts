import { join } from 'node:path';
import { loadPhrasebook } from '../inspect/injection/phrasebook.ts';
import { createInjectionReader, type InjectionReader } from '../inspect/injection/reader.ts';
import { loadMeanings, type MeaningReader } from '../inspect/intent/reader.ts';
import { packageFile } from '../util/program-files.ts';

const dataFolder = packageFile('config');

let injections: InjectionReader | undefined;

/** The phrases come with the program and take a quarter of a second to prepare: the same for all gateways of a process. */
export function packagedInjections(): InjectionReader {
  injections ??= createInjectionReader(loadPhrasebook(join(dataFolder, 'injection'), 'phrasebook'), true);
  return injections;
}

let meanings: MeaningReader | undefined;

/** The same of the lexicon. */
export function packagedMeanings(): MeaningReader {
  meanings ??= loadMeanings(join(dataFolder, 'meaning'), 'meaning');
  return meanings;
}
