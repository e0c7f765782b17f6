import cluster from 'node:cluster';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual } from 'node:util';
import type { Environment } from '../../config/checks/references.ts';
import { loadConfig } from '../../config/load.ts';
import { placed } from '../../config/places.ts';
import { checkFixedKeys } from '../../config/reload.ts';
import type { Config } from '../../config/schema.ts';
import { parseListenAddress } from '../../config/sections/addresses.ts';
import { GatewayError, toGatewayError } from '../../core/errors.ts';
import type { ProcessLog } from '../../core/log.ts';
import { ownName } from '../../core/safe-name.ts';
import { threadEnvironment } from '../../util/prepared.ts';
import { programModule } from '../../util/program-files.ts';
import { allOrFirstError } from '../all-or-first-error.ts';
import type { Bound } from '../bound.ts';
import type { Addresses, ConfigStatus } from '../config-status.ts';
import { changedKeys, noteReload } from '../reload/last-reload.ts';
import { readDetectorFiles, readPolicyFile } from '../reload/named-files.ts';
import { ReloadTurns } from '../reload/reload-turns.ts';
import { movePid, tellRefusal, warn } from '../start/announce.ts';
import { checkReloadedFiles } from '../start/check-files.ts';
import { readListenersTls } from '../start/listener-tls.ts';
import type { SeedResult } from '../start/seed.ts';
import { Gathering } from './gathering.ts';
import { Member, WorkerGone } from './member.ts';
import type { Opened } from './messages.ts';
import { Successors } from './successors.ts';
import { type TakenFiles, takeFiles } from './taken-files.ts';

/** The time for workers to write down what they have, once their time to drain is over. */
const closeMs = 15_000;
/** The time for a step that only swaps. */
const stepMs = 30_000;
/** Returns the time for reading all that a generation stands on; several workers share the processors. */
const openMs = (workers: number): number => 30_000 + 10_000 * workers;

/** The configuration in force, which a new worker gets. */
interface InForce {
  readonly config: Config;
  readonly taken: TakenFiles;
  readonly standing: ConfigStatus;
}

/** Reads a configuration and its files, so that each worker gets the same. Throws ConfigError. */
export function loadWithFiles(file: string, env: Environment): Pick<InForce, 'config' | 'taken'> {
  const { files, taken } = takeFiles();
  const config = loadConfig(file, env, files);
  readListenersTls(config, files);
  checkReloadedFiles(config, files);
  for (const pattern of config.policies) for (const it of files.find(pattern)) readPolicyFile(files, it);
  readDetectorFiles(files, config);
  return { config, taken };
}

/** Keeps the workers of a daemon, and what they have in common. */
export class Crew {
  readonly #broken = Promise.withResolvers<Error>();
  readonly #file: string;
  readonly #env: Environment;
  readonly #log: ProcessLog;
  readonly #workers: number;
  readonly #members = new Map<number, Member>();
  readonly #successors = new Successors((slot) => void this.#startAgain(slot));
  readonly #gathering = new Gathering();
  /** Starts of workers that are under way; a reload waits for them. */
  readonly #starting = new Set<Promise<void>>();
  #inForce: InForce;
  #lastError: string | null = null;
  /** Facts of the first worker, which all others must share. */
  #ground: Opened | undefined;
  #bound: Bound | undefined;
  #addresses: Addresses;
  readonly #turns = new ReloadTurns(
    () => this.#reload(),
    () => Promise.allSettled(this.#starting),
  );
  #stopping: Promise<void> | undefined;
  // However the parent exits, it kills its workers: a worker that is stuck would not see that its channel is
  // closed.
  readonly #killAll = (): void => {
    for (const member of this.#members.values()) member.kill();
  };

  constructor(file: string, env: Environment, inForce: InForce, log: ProcessLog) {
    this.#file = file;
    this.#env = env;
    this.#log = log;
    this.#inForce = inForce;
    const { workers, proxy, control } = inForce.config;
    this.#workers = workers;
    this.#addresses = { proxy: proxy.listen, control: control.listen };
    cluster.schedulingPolicy = cluster.SCHED_RR;
    cluster.setupPrimary({
      exec: fileURLToPath(programModule('daemon/workers/worker')),
      args: [],
      // Options that bin/postern gives to a daemon are among them.
      execArgv: process.execArgv,
      serialization: 'advanced',
    });
    process.once('exit', this.#killAll);
  }

  /** Resolves when a worker ends again and again. */
  get broken(): Promise<Error> {
    return this.#broken.promise;
  }

  /** Returns the configuration in force. */
  get config(): Config {
    return this.#inForce.config;
  }

  /** Starts the workers, and has one of them seed the state. */
  async open(): Promise<SeedResult> {
    const slots = Array.from({ length: this.#workers }, (_, at) => at + 1);
    const members = slots.map((slot) => this.#fork(slot));
    const [first] = await allOrFirstError(members.map((it) => this.#open(it).then(() => it)));
    if (!first) throw new Error('there is no worker');
    return first.ask({ to: 'seed' }, openMs(this.#workers));
  }

  /** Makes all workers serve, and resolves when they do. */
  async listen(): Promise<Bound> {
    const members = [...this.#members.values()];
    const [first, ...others] = members;
    if (!first || members.length < this.#workers)
      throw new Error('a worker ended before all could serve; the log says why');
    // The first one listens alone: a port that is taken is reported once, and a free port is known to the
    // others.
    this.#bound = await this.#listen(first);
    await allOrFirstError(others.map((it) => this.#listen(it)));
    this.#log.info({ workers: this.#workers, pids: members.map((it) => it.pid) }, 'all workers serve');
    return this.#bound;
  }

  /** Reloads the configuration in all workers, and returns whether it was taken. */
  reload(): Promise<boolean> {
    return this.#turns.ask();
  }

  stop(graceMs: number): Promise<void> {
    this.#stopping ??= this.#stop(graceMs);
    return this.#stopping;
  }

  async #stop(graceMs: number): Promise<void> {
    this.#successors.stop();
    await Promise.all([...this.#members.values()].map((it) => this.#end(it, graceMs)));
    process.off('exit', this.#killAll);
  }

  /** Ends a worker. One that does not serve yet has nothing to drain and is killed. */
  async #end(member: Member, graceMs: number): Promise<void> {
    if (member.servingSinceMs === undefined) member.kill();
    else {
      try {
        await member.ask({ to: 'stop', graceMs }, this.config.drainDelayMs + graceMs + closeMs);
        member.dismiss();
      } catch (error) {
        if (!(error instanceof WorkerGone))
          this.#log.error({ err: error, worker: member.slot }, 'the stop failed');
        member.kill();
      }
    }
    const timer = setTimeout(() => member.kill(), closeMs);
    await member.ended;
    clearTimeout(timer);
  }

  async #reload(): Promise<boolean> {
    if (this.#isStopping()) return false;
    try {
      const next = loadWithFiles(this.#file, this.#env);
      checkFixedKeys(this.#inForce.config, next.config);
      await this.#takeOver({
        ...next,
        standing: { generation: this.#inForce.standing.generation + 1, loadedAtMs: Date.now() },
      });
      return true;
    } catch (failure) {
      // Workers that are ending refuse nothing.
      if (this.#isStopping()) return false;
      const error = placed(failure);
      const reason = error instanceof Error ? error.message : String(error);
      this.#lastError = reason;
      const { config, standing } = this.#inForce;
      noteReload(config, { generation: standing.generation, changed: [], error: reason });
      await this.#tellAll((it) => it.ask({ to: 'drop', reason }, stepMs));
      tellRefusal(error, this.#log);
      return false;
    }
  }

  /**
   * Puts the next configuration in force in all workers. Rejects where one of them refuses it, with nothing
   * changed.
   */
  async #takeOver(next: InForce): Promise<void> {
    const timeoutMs = openMs(this.#workers);
    const [first, ...others] = this.#serving();
    if (!first) throw new GatewayError('GATEWAY_BUSY', 'No worker serves at the moment; reload again.');
    // The first worker prepares alone: a configuration that ends a worker while it reads must not end all of
    // them.
    await first.ask({ to: 'prepare', taken: next.taken }, timeoutMs);
    await allOrFirstError(
      others.map((it) => ifThere(it.ask({ to: 'prepare', taken: next.taken }, timeoutMs))),
    );
    await first.ask({ to: 'seed' }, timeoutMs);
    const before = this.#inForce.config;
    this.#inForce = next;
    this.#lastError = null;
    const { standing, config } = next;
    await this.#tellAll((it) => it.ask({ to: 'take', standing }, stepMs));
    const { generation } = standing;
    const changed = await changedKeys(before, config);
    noteReload(config, { generation, changed, error: null });
    this.#log.use(config.log);
    movePid(before, config);
    warn(config, this.#log);
    this.#log.info({ generation, changed: changed.map(ownName) }, 'configuration reloaded');
  }

  /**
   * Tells all workers something that none may fail to do. A worker that fails is started anew, with what is
   * in force.
   */
  async #tellAll(tell: (member: Member) => Promise<unknown>): Promise<void> {
    await Promise.all(
      this.#serving().map((member) =>
        tell(member).catch((error: unknown) => {
          if (error instanceof WorkerGone) return;
          this.#log.error(
            { err: error, worker: member.slot },
            'a worker does not follow; it is started anew',
          );
          member.kill();
        }),
      ),
    );
  }

  /**
   * Sends the metrics of all workers to the one that asks. If that one has ended meanwhile, nobody waits for
   * them.
   */
  async #showMetrics(asking: Member): Promise<void> {
    const snapshots = await this.#gathering.gather(() => this.#serving());
    await ifThere(asking.askIdly({ to: 'show', snapshots }, stepMs)).catch((err: unknown) =>
      this.#log.warn({ err, worker: asking.slot }, 'the metrics of all workers do not reach one'),
    );
  }

  #isStopping(): boolean {
    return this.#stopping !== undefined;
  }

  #serving(): Member[] {
    return [...this.#members.values()].filter((it) => it.servingSinceMs !== undefined && !it.isGone);
  }

  #fork(slot: number): Member {
    const member = new Member(
      slot,
      cluster.fork(threadEnvironment()),
      (asking) => void this.#showMetrics(asking),
    );
    this.#members.set(slot, member);
    void member.ended.then((end) => this.#gone(member, end));
    return member;
  }

  /**
   * Opens a worker. Rejects where its authority or pepper differs from the others': files that must stay
   * while the daemon runs have changed.
   */
  async #open(member: Member): Promise<void> {
    const { taken, standing } = this.#inForce;
    const place = { slot: member.slot, workers: this.#workers };
    const opened = await member.ask(
      { to: 'open', file: this.#file, taken, place, standing: { ...standing, lastError: this.#lastError } },
      openMs(this.#workers),
    );
    this.#ground ??= opened;
    if (!isDeepStrictEqual(this.#ground, opened))
      throw new Error(
        'the authority or the pepper is not that which the daemon was started with; restart it',
      );
  }

  async #listen(member: Member): Promise<Bound> {
    const bound = await member.ask({ to: 'listen', addresses: this.#addresses }, stepMs);
    if (this.#bound && !isDeepStrictEqual(this.#bound, bound))
      throw new Error('a worker listens elsewhere than was announced');
    member.servingSinceMs = performance.now();
    return bound;
  }

  #gone(member: Member, end: { code: number | null; signal: string | null }): void {
    if (this.#members.get(member.slot) === member) this.#members.delete(member.slot);
    void this.#gathering.keep(member);
    // Until all workers serve, the caller of `open` or `listen` hears of it, and gives up.
    if (this.#isStopping() || !this.#bound) return;
    const servedMs = member.servingSinceMs === undefined ? 0 : performance.now() - member.servingSinceMs;
    this.#log.error({ worker: member.slot, worker_pid: member.pid, ...end }, 'a worker ended');
    if (!this.#successors.follow(member, servedMs))
      this.#broken.resolve(new Error(`worker ${member.slot} ends again and again; the log says why`));
  }

  /**
   * Starts a worker again. It waits for a reload that is under way: else the new worker would stand on what
   * is about to be replaced.
   */
  async #startAgain(slot: number): Promise<void> {
    await this.#turns.ended();
    if (this.#isStopping()) return;
    // While no worker serves, nobody holds the ports that the system chose.
    if (this.#serving().length === 0 && this.#bound) this.#addresses = toAddresses(this.#bound);
    const member = this.#fork(slot);
    const started = this.#open(member)
      .then(() => this.#listen(member))
      .then(() => this.#log.info({ worker: slot, worker_pid: member.pid }, 'a worker serves again'))
      .catch((error: unknown) => this.#notStarted(member, error))
      .finally(() => this.#starting.delete(started));
    this.#starting.add(started);
  }

  #notStarted(member: Member, error: unknown): void {
    if (error instanceof WorkerGone || this.#isStopping()) return;
    this.#log.error({ err: error, worker: member.slot }, 'a worker could not be started');
    member.isWaiting = toGatewayError(error).code === 'STATE_UNAVAILABLE';
    member.kill();
  }
}

/** Ignores that a worker has ended: the one that follows it begins with what is in force then. */
const ifThere = (work: Promise<unknown>): Promise<unknown> =>
  work.catch((error: unknown) => {
    if (!(error instanceof WorkerGone)) throw error;
  });

/** Turns bound addresses into those to listen at, which fixes a port that the system chose. */
function toAddresses({ proxy, control }: Bound): Addresses {
  const toAddress = (text: string) => {
    const address = parseListenAddress(text);
    if (!address) throw new Error(`${text} is no address`);
    return address;
  };
  return { proxy: proxy.map(toAddress), control: control.map(toAddress) };
}
