import { existsSync, readFileSync } from 'node:fs';
import { setPriority } from 'node:os';
import { type ReadingTools, readBody } from '../inspect/read-body.ts';
import { createBeginningMemory } from '../inspect/segments/known-beginning.ts';
import { type JobName, jobOf } from '../inspect/threads/jobs.ts';
import { packedFindings } from '../inspect/threads/packed-findings.ts';
import { serveJobs } from '../inspect/threads/serve-jobs.ts';
import { workDeadline } from '../inspect/threads/worked-ms.ts';
import { type EngineSettings, loadEngines } from '../tenants/engines.ts';
import { after } from '../util/maybe-promise.ts';
import { packageFile } from '../util/program-files.ts';
import { packagedInjections, packagedMeanings } from './packaged-readers.ts';

/* The program of a reader thread, with the same jobs and tools as on the event loop. */
/** Bound on the engines of tenants, which share their tables. */
const enginesMax = 64;
const engines = loadEngines(enginesMax);
const injections = packagedInjections();
const meanings = packagedMeanings();
const beginnings = createBeginningMemory();

/**
 * The time for which a thread works before its first job. New code runs ten times slower, and the first
 * bodies would be denied for taking too long.
 */
const warmUpMs = 250;
/**
 * Code and prose of the package, to read at the start. Prose is left out of some images, and a thread must
 * start without it.
 */
const samples = ['bin/postern', 'bin/node-proxy.cjs', 'CHANGELOG.md'];

function warmUp(): void {
  const texts = samples
    .map(packageFile)
    .filter((it) => existsSync(it))
    .map((it) => readFileSync(it, 'utf8'));
  const body = Buffer.from(JSON.stringify({ messages: texts.map((content) => ({ role: 'tool', content })) }));
  const tools = { engine: engines.common, injections, meanings };
  const isOver = workDeadline(warmUpMs);
  const job = {
    ...{ body, contentType: 'application/json', contentEncoding: '', plain: undefined, host: 'localhost' },
    ...{ isBroken: false, context: undefined, messages: undefined, boundary: undefined },
    ...{ isForAgents: false, wantsTexts: false, wantsUrls: false, tenantId: '' },
  };
  while (!isOver()) readBody(job, tools, { maxDecodedBytes: body.length * 16, isOver });
}

/** Niceness of a reader. Where processors are short the event loop goes first, since all calls wait for it. */
const niceness = 10;

warmUp();
// Elsewhere this would set the priority of the whole process.
if (process.platform === 'linux') setPriority(niceness);
serveJobs<ReadingTools>({
  toolsOf(told) {
    const { settings, words } = told as { settings: EngineSettings; words: readonly string[] | undefined };
    return { engine: engines.of(settings), injections, meanings, beginnings, words };
  },
  run: (name, input, tools, bounds) =>
    after(jobOf(name as JobName)(input as never, tools, bounds), packedFindings),
});
