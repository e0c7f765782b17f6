import type { Environment } from '../config/checks/references.ts';
import { disk, findConfigFile, loadConfig, validateConfig } from '../config/load.ts';
import { withSetting } from '../config/origins.ts';
import { placed } from '../config/places.ts';
import type { Config } from '../config/schema.ts';
import { openLog, type ProcessLog } from '../core/log.ts';
import { ownName } from '../core/safe-name.ts';
import type { Bound } from './bound.ts';
import type { ConfigStatus } from './config-status.ts';
import { type HeldAddresses, holdAddresses } from './held-addresses.ts';
import { untilStateAnswers } from './patience.ts';
import { changedKeys, noteReload } from './reload/last-reload.ts';
import { readInThread } from './reload/read-in-thread.ts';
import { ReloadTurns } from './reload/reload-turns.ts';
import { openServing, type Prepared, type Serving, type ServingOptions } from './serving.ts';
import { announce, movePid, removePid, tellRefusal, urlsOf, warn } from './start/announce.ts';
import { checkFiles } from './start/check-files.ts';
import { type FirstAddresses, firstAddresses } from './start/first-addresses.ts';
import { type FirstStart, firstStartConfig, firstStartPath, openFirstStart } from './start/first-start.ts';
import { type Loaded, loadedHere } from './start/loaded.ts';
import { nextSteps } from './start/next-steps.ts';
import type { SeedResult } from './start/seed.ts';
import { alone } from './worker-slot.ts';

export interface Gateway {
  /** The URL of the first listener for agents. */
  readonly proxyUrl: string;
  readonly controlUrl: string;
  readonly caFile: string;
  readonly firstStart: FirstStart | undefined;
  readonly log: ProcessLog;
  /** Sentences on what is missing before anybody can call. */
  readonly nextSteps: readonly string[];
  /** Reads the configuration again and returns whether it was taken. A refused one changes nothing. */
  reload(): Promise<boolean>;
  /** Takes no new connections, lets requests end for at most `graceMs`, writes everything down, and ends. */
  stop(graceMs?: number): Promise<void>;
  /** Resolves with the reason where the daemon has failed and must be stopped. As a rule it never does. */
  readonly broken: Promise<Error>;
}

const graceMsDefault = 30_000;

/**
 * Opens everything that the daemon stands on and begins to listen. Throws when something is wrong, with
 * nothing left open. Where an address or a named file is wrong, nothing was even made.
 */
export async function startGateway(configFile: string | undefined, env: Environment): Promise<Gateway> {
  const file = findConfigFile(configFile, env);
  const plan = file === undefined ? await planFirst(env) : { config: loadConfig(file, env, disk), env };
  checkFiles(plan.config, disk);
  const held = await holdAddresses(plan.config, disk);
  try {
    return await openGateway(plan, held);
  } catch (error) {
    await held.release();
    throw error;
  }
}

/** The configuration and variables that a daemon is about to run on. */
interface Plan {
  readonly config: Config;
  readonly env: Environment;
  /** The addresses of a start without a configuration; undefined for any other. */
  readonly addresses?: FirstAddresses;
}

/** Returns the plan of a start without a configuration, before any file of it is made. */
async function planFirst(env: Environment): Promise<Plan> {
  const addresses = await firstAddresses(firstStartPath(), env);
  // The addresses are fixed from here on, even where a free port was asked for.
  const fix = (given: Environment, variable: string, address: string): Environment =>
    env[variable] ? { ...given, [variable]: address } : withSetting(given, variable, address, 'first-start');
  const fixed = fix(fix(env, 'POSTERN_LISTEN', addresses.proxy), 'POSTERN_CONTROL_LISTEN', addresses.control);
  return { config: loadConfig(undefined, fixed, disk), env: fixed, addresses };
}

/** Opens what the daemon serves with, and listens. Stops what was opened where that fails. */
async function beginServing(
  config: Config,
  held: HeldAddresses,
  options: ServingOptions,
): Promise<{ serving: Serving; found: SeedResult; bound: Bound }> {
  const { log } = options;
  const open = async (): Promise<{ serving: Serving; found: SeedResult }> => {
    const opened = await openServing(loadedHere(config, disk), options);
    try {
      return { serving: opened, found: await opened.seed() };
    } catch (error) {
      await opened.stop(0);
      throw error;
    }
  };
  const { serving, found } = await untilStateAnswers(config, log, open);
  try {
    warn(config, log);
    await held.release();
    const bound = await serving.listen();
    announce(config, bound);
    return { serving, found, bound };
  } catch (error) {
    await serving.stop(0);
    throw error;
  }
}

async function openGateway({ config: planned, env, addresses }: Plan, held: HeldAddresses): Promise<Gateway> {
  const { file } = planned;
  const firstStart = file === undefined ? openFirstStart(env, addresses) : undefined;
  const read = (): Config =>
    firstStart
      ? validateConfig(firstStartConfig(firstStart), { file: undefined, env })
      : loadConfig(file, env, disk);
  const config = firstStart ? read() : planned;
  const log = openLog(config.log);
  const standing = { generation: 1, loadedAtMs: Date.now(), lastError: null };
  const { serving, found, bound } = await beginServing(config, held, {
    place: alone,
    log,
    standing,
    firstStart,
  });
  const prepare = async (next: Loaded): Promise<[Config, Prepared]> => [
    next.config,
    await serving.prepare(next),
  ];
  const reloader = new Reloader(serving, { config, standing }, log, (before) =>
    firstStart
      ? prepare(loadedHere(read(), disk))
      : readInThread({ file, env, taken: undefined }, before, prepare),
  );
  let stopping: Promise<void> | undefined;
  return {
    ...urlsOf(config, bound),
    caFile: serving.certFile,
    firstStart,
    log,
    nextSteps: nextSteps(config, found),
    reload: () => reloader.reload(),
    stop(graceMs = graceMsDefault) {
      reloader.stop();
      stopping ??= serving.stop(graceMs).then(() => removePid(reloader.config));
      return stopping;
    },
    // A process of this kind that has failed ends by itself.
    broken: new Promise(() => undefined),
  };
}

/** Reads the configuration again and puts it in force, one reload after the other. */
class Reloader {
  readonly #serving: Serving;
  readonly #log: ProcessLog;
  readonly #prepareNext: (before: Config) => Promise<[Config, Prepared]>;
  #inForce: { readonly config: Config; readonly standing: ConfigStatus };
  readonly #turns = new ReloadTurns(() => this.#reload());
  #isStopping = false;

  constructor(
    serving: Serving,
    first: { readonly config: Config; readonly standing: ConfigStatus },
    log: ProcessLog,
    prepareNext: (before: Config) => Promise<[Config, Prepared]>,
  ) {
    this.#serving = serving;
    this.#inForce = first;
    this.#log = log;
    this.#prepareNext = prepareNext;
  }

  get config(): Config {
    return this.#inForce.config;
  }

  reload(): Promise<boolean> {
    return this.#turns.ask();
  }

  /** Begins no reload any more, and says nothing of one that fails since all is being closed. */
  stop(): void {
    this.#isStopping = true;
  }

  async #reload(): Promise<boolean> {
    if (this.#isStopping) return false;
    try {
      await this.#takeOver();
      return true;
    } catch (failure) {
      if (this.#isStopping) return false;
      const error = placed(failure);
      const reason = error instanceof Error ? error.message : String(error);
      this.#serving.refuse(reason);
      const { config, standing } = this.#inForce;
      noteReload(config, { generation: standing.generation, changed: [], error: reason });
      tellRefusal(error, this.#log);
      return false;
    }
  }

  async #takeOver(): Promise<void> {
    const { config, standing: before } = this.#inForce;
    const [next, prepared] = await this.#prepareNext(config);
    try {
      await prepared.seed();
    } catch (error) {
      prepared.drop();
      throw error;
    }
    const standing = { generation: before.generation + 1, loadedAtMs: Date.now() };
    const { generation } = standing;
    this.#inForce = { config, standing };
    await prepared.take(standing);
    movePid(config, next);
    this.#inForce = { config: next, standing };
    const changed = await changedKeys(config, next);
    noteReload(next, { generation, changed, error: null });
    warn(next, this.#log);
    this.#log.info({ generation, changed: changed.map(ownName) }, 'configuration reloaded');
  }
}
