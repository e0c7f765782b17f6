import { parentPort, workerData } from 'node:worker_threads';
import { disk, loadConfig } from '../../config/load.ts';
import { namesInFiles } from '../../decision/trace/known-names.ts';
import { createCatalogues, ownTables } from '../../tenants/catalogues.ts';
import { loadAddedDetectors } from '../start/loaded.ts';
import { toFailure } from '../workers/messages.ts';
import { filesTaken } from '../workers/taken-files.ts';
import { readPolicies } from './policy-files.ts';
import {
  type ConfigPiece,
  entriesAtOnce,
  lists,
  type ReaderMessage,
  type ReadRequest,
  type ReadTask,
} from './read-in-thread.ts';

/** The thread of `readInThread`. It reads a configuration, and then the policies, when it is told to. */
const { file, env, taken, port } = workerData as ReadTask;
const files = taken ? filesTaken(taken) : disk;

// A message of a thread that ends by itself can be lost, so this one stays until it is terminated.
parentPort?.ref();

function* inPieces<T>(entries: readonly T[]): Generator<readonly T[]> {
  for (let from = 0; from < entries.length; from += entriesAtOnce)
    yield entries.slice(from, from + entriesAtOnce);
}

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
  const detectors = loadAddedDetectors(config, files);
  const { defaultTenant, origins, tenants, agents, keys, credentials, inbound, ...rest } = config;
  const hand = (piece: ConfigPiece): void => port.postMessage(piece);
  for (const list of lists)
    for (const entries of inPieces([...config[list].values()])) hand({ list, entries });
  for (const it of inPieces(origins)) hand({ origins: it });
  parentPort?.on('message', ({ registered, detectorIds, digests }: ReadRequest) => {
    attempt(() => {
      const known = namesInFiles(config, createCatalogues(config, ownTables()), detectorIds, registered);
      for (const told of readPolicies(config.policies, { files, known, before: digests }))
        port.postMessage(told);
      return { isRead: true };
    });
  });
  return { rest, bareTenant: defaultTenant('default'), detectors };
});
