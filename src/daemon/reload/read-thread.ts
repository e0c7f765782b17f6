import { parentPort, workerData } from 'node:worker_threads';
import { disk, loadConfig } from '../../config/load.ts';
import type { KnownTool } from '../../policy/index.ts';
import { toFailure } from '../workers/messages.ts';
import { filesTaken } from '../workers/taken-files.ts';
import { readPolicies } from './policy-files.ts';
import {
  entriesAtOnce,
  lists,
  type ReaderMessage,
  type ReadRequest,
  type ReadTask,
} from './read-in-thread.ts';

/** The thread of `readInThread`. It reads a configuration, and then the policies, when it is told to. */
const { file, env, taken, port } = workerData as ReadTask;
const files = taken ? filesTaken(taken) : disk;
const tools: KnownTool[] = [];

// A message of a thread that ends by itself can be lost, so this one stays until it is terminated.
parentPort?.ref();

const tell = (told: ReaderMessage): void => parentPort?.postMessage(told);

function attempt(work: () => ReaderMessage): void {
  try {
    tell(work());
  } catch (error) {
    tell({ failure: toFailure(error) });
  }
}

attempt(() => {
  const config = loadConfig(file, env, files);
  const { defaultTenant, ...rest } = config;
  for (const list of lists) {
    const entries = [...config[list].values()];
    for (let from = 0; from < entries.length; from += entriesAtOnce)
      port.postMessage({ list, entries: entries.slice(from, from + entriesAtOnce) });
  }
  const emptied = Object.fromEntries(lists.map((list) => [list, []]));
  const patterns = config.policies;
  parentPort?.on('message', (asked: ReadRequest) => {
    if ('tool' in asked) {
      tools.push(asked.tool);
      return;
    }
    attempt(() => {
      const known = { ...asked.known, tools };
      for (const told of readPolicies(patterns, { files, known, before: asked.digests }))
        port.postMessage(told);
      return { isRead: true };
    });
  });
  return { rest: { ...rest, ...emptied }, bareTenant: defaultTenant('default') };
});
