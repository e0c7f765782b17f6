import { serveJobs } from '../inspect/threads/serve-jobs.ts';
import { loadEngines, type Settings } from './engines.ts';
import { type JobName, jobOf } from './jobs.ts';
import { packagedInjections, packagedMeanings } from './packaged-readers.ts';
import type { ReadingTools } from './read-body.ts';

/** What runs in a reader thread: the jobs, with the same tools as on the event loop. */
const engines = loadEngines();
const injections = packagedInjections();
const meanings = packagedMeanings();

serveJobs<ReadingTools>({
  toolsOf: (settings) => ({ engine: engines.of(settings as Settings), injections, meanings }),
  run: (name, input, tools, bounds) => jobOf(name as JobName)(input as never, tools, bounds),
});
