import { flushCompileCache } from 'node:module';
import type { Environment } from '../../config/checks/references.ts';
import { disk, findConfigFile, loadConfig } from '../../config/load.ts';
import { placed } from '../../config/places.ts';
import type { Gateway } from '../gateway.ts';

/** Starts the daemon's processes as configured. With several, the parent loads nothing that judges. */
export async function startDaemon(configFile: string | undefined, env: Environment): Promise<Gateway> {
  try {
    return await start(configFile, env);
  } catch (error) {
    throw placed(error);
  }
}

async function start(configFile: string | undefined, env: Environment): Promise<Gateway> {
  const file = findConfigFile(configFile, env);
  if (file !== undefined && loadConfig(file, env, disk).workers > 1) {
    const { startWorkers } = await import('../workers/supervisor.ts');
    return startWorkers(file, env);
  }
  const { startGateway } = await import('../gateway.ts');
  // The cache would else be written at the end, where a first start that is stopped at once would take a
  // second for it.
  flushCompileCache();
  return startGateway(configFile, env);
}
