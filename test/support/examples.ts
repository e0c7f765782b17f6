import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import type { Detector } from '../../src/inspect/patterns/detector.ts';

export interface Examples {
  readonly match: readonly string[];
  readonly pass: readonly string[];
}

const folder = new URL('../../config/detectors', import.meta.url).pathname;
const examples = new Map(
  readdirSync(folder)
    .flatMap((file) => parseAllDocuments(readFileSync(join(folder, file), 'utf8')))
    .map((document) => document.toJS() as { id: string; examples: Examples })
    .map((detector) => [detector.id, detector.examples]),
);

/** What a detector that comes with the gateway finds, and what it passes. Its file says so; a daemon keeps no examples. */
export function examplesOf({ id }: Pick<Detector, 'id'>): Examples {
  const found = examples.get(id);
  if (found === undefined) throw new Error(`no file has a detector ${id}`);
  return found;
}
