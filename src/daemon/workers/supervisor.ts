import type { Environment } from '../../config/checks/references.ts';
import { disk } from '../../config/load.ts';
import type { Config } from '../../config/schema.ts';
import { type Log, openLog } from '../../core/log.ts';
import { openVault } from '../../credentials/credentials.ts';
import { makeFolder } from '../../util/files/make-folder.ts';
import { openAuthority } from '../../wire/tls/authority.ts';
import type { Bound } from '../bound.ts';
import type { Gateway } from '../gateway.ts';
import { type HeldAddresses, holdAddresses } from '../held-addresses.ts';
import { untilStateAnswers } from '../patience.ts';
import { announce, removePid, urlsOf, warn } from '../start/announce.ts';
import { checkFiles } from '../start/check-files.ts';
import { nextSteps } from '../start/next-steps.ts';
import { loadPepper } from '../start/pepper.ts';
import type { SeedResult } from '../start/seed.ts';
import { Crew, loadWithFiles } from './crew.ts';

/*
 * The parent of a daemon with several workers. It reads the files, makes what a first start makes, starts the
 * workers, and has them take each step together. All are opened before one of them seeds the state, and only
 * then do they listen. A reload is prepared by all before it is in force in one. The parent judges nothing,
 * and no call passes through it.
 *
 * The parent has the listening sockets. They are shared by Node's cluster, which deals connections out in
 * turn. SO_REUSEPORT was measured against it (four workers on two processors). It opens connections half as
 * fast again: 4,400 a second instead of 2,700, each of which costs a worker milliseconds of TLS. But a worker
 * that is busy for a second gets a quarter of all connections meanwhile, where in turn it gets one.
 * Connections that wait for a worker that ends are reset. A second daemon on the same port is not told that
 * it is taken. And SO_REUSEPORT works on Linux alone, and has no Unix sockets.
 */

const graceMsDefault = 30_000;
/** Starts several workers. If it throws, none is left; for a bad address or file nothing was even made. */
export async function startWorkers(file: string, env: Environment): Promise<Gateway> {
  const first = loadWithFiles(file, env);
  checkFiles(first.config, disk);
  const held = await holdAddresses(first.config, disk);
  try {
    return await openWorkers(file, env, first, held);
  } catch (error) {
    await held.release();
    throw error;
  }
}

async function openWorkers(
  file: string,
  env: Environment,
  first: ReturnType<typeof loadWithFiles>,
  held: HeldAddresses,
): Promise<Gateway> {
  const log = openLog(first.config.log);
  const caFile = makeOnce(first.config, log);
  const inForce = { ...first, standing: { generation: 1, loadedAtMs: Date.now() } };
  const open = async (): Promise<{ crew: Crew; found: SeedResult }> => {
    const opened = new Crew(file, env, inForce, log);
    try {
      return { crew: opened, found: await opened.open() };
    } catch (error) {
      await opened.stop(0);
      throw error;
    }
  };
  const { crew, found } = await untilStateAnswers(first.config, log, open);
  let bound: Bound;
  try {
    await held.release();
    bound = await crew.listen();
    warn(first.config, log);
    announce(first.config, bound);
  } catch (error) {
    await crew.stop(0);
    throw error;
  }
  return {
    ...urlsOf(first.config, bound),
    caFile,
    firstStart: undefined,
    log,
    nextSteps: nextSteps(first.config, found),
    broken: crew.broken,
    reload: () => crew.reload(),
    stop: (graceMs = graceMsDefault) => crew.stop(graceMs).then(() => removePid(crew.config)),
  };
}

/**
 * Makes the files of a first start before there are several processes. Returns the file of the authority's
 * certificate.
 */
function makeOnce(config: Config, log: Log): string {
  makeFolder(config.state.dir, 0o700);
  loadPepper(config, log);
  openVault(config);
  const { cert: certFile, key: keyFile } = config.authority;
  return openAuthority({ certFile, keyFile, nowMs: Date.now() }).certFile;
}
