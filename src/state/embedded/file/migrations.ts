import { readFileSync } from 'node:fs';
import { programFile } from '../../../util/program-files.ts';

/*
 * Reads the schemas, which have one step for each version. A step that has been released is never changed; a
 * change is a new step. Records stand as JSON beside the columns that they are looked up by. What a record
 * holds is said once, in the types of the port.
 */

const stepsOf = (database: string): readonly string[] =>
  readFileSync(programFile(`state/embedded/file/${database}.sql`), 'utf8')
    .split(/^-- Step \d+\n/m)
    .slice(1);

export const stateMigrations = stepsOf('state');
export const tracesMigrations = stepsOf('traces');

/** The steps of each database of a state folder. */
export const migrationsOf: Readonly<Record<string, readonly string[]>> = {
  'state.db': stateMigrations,
  'traces.db': tracesMigrations,
};
