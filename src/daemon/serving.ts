import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { checkFixedKeys } from '../config/reload.ts';
import type { Config } from '../config/schema.ts';
import type { ProcessLog } from '../core/log.ts';
import { createApprovalSweep } from '../decision/approvals/approval-sweep.ts';
import type { GateStatus } from '../decision/gate.ts';
import type { Bound } from './bound.ts';
import type { Addresses, ConfigStatus, ReloadStatus } from './config-status.ts';
import { configReloaded } from './gateway-notices.ts';
import { createMetrics, type Gather, type Metrics } from './metrics/metrics.ts';
import { listenerCertificates } from './metrics/sources.ts';
import { createGate, openMaterial } from './reload/generation.ts';
import type { LoadedPolicyFile } from './reload/policy-files.ts';
import { createReloadAudit } from './reload/reload-audit.ts';
import { checkReloadedFiles } from './start/check-files.ts';
import type { FirstStart } from './start/first-start.ts';
import { type OpenedFoundations, openFoundations } from './start/foundations.ts';
import { type ListenersTls, readListenersTls } from './start/listener-tls.ts';
import { listen } from './start/listeners.ts';
import { type Loaded, warnOfUnmatched } from './start/loaded.ts';
import { applyTerms, type SeedResult, seed } from './start/seed.ts';
import { Servers } from './start/servers.ts';
import { Exporter } from './telemetry/exporter.ts';
import type { WorkerSlot } from './worker-slot.ts';

/*
 * The services of one process. They are put in force in steps that several processes take together: all
 * prepare, one seeds the state, and then all take over, or none does.
 */

/** A generation that is not in force yet. */
export interface Prepared {
  seed(): Promise<SeedResult>;
  /** Puts the generation in force: it judges from the next call on. */
  take(standing: ConfigStatus): Promise<void>;
  drop(): void;
}

export interface ServingOptions {
  readonly place: WorkerSlot;
  readonly log: ProcessLog;
  readonly standing: ReloadStatus;
  readonly firstStart: FirstStart | undefined;
  /** Asks all processes for their metrics; undefined where one process serves. */
  readonly gatherMetrics?: Gather;
}

/** Opens everything that a process serves with. Throws when something is wrong, with nothing left open. */
export async function openServing(loaded: Loaded, options: ServingOptions): Promise<Serving> {
  const closers = new AsyncDisposableStack();
  try {
    return await openAll(loaded, options, closers);
  } catch (error) {
    // The first failure is thrown; failures to close are only logged.
    await closers
      .disposeAsync()
      .catch((err: unknown) => options.log.warn({ err }, 'not all could be closed'));
    throw error;
  }
}

async function openAll(
  { config, files, detectors, readPolicies }: Loaded,
  { place, log, standing, firstStart, gatherMetrics }: ServingOptions,
  closers: AsyncDisposableStack,
): Promise<Serving> {
  const tls = readListenersTls(config, files);
  const shown: Shown = { bound: { proxy: [], control: [] }, status: { ...standing, isDraining: false } };
  const metrics = createMetrics(gatherMetrics);
  const exporter = new Exporter({
    origin: { instance: `${process.pid}-${place.slot}`, startMs: performance.timeOrigin },
    counters: metrics.counters,
    families: metrics.families,
    log,
  });
  const opened = await openFoundations(config, {
    files,
    place,
    log,
    bound: () => shown.bound,
    status: () => shown.status,
    closers,
    metrics,
    exporter,
  });
  const { foundations } = opened;
  const reloads = createReloadAudit(foundations.store, log);
  closers.defer(() => reloads.close());
  const material = openMaterial(config, files, foundations);
  const { catalogues } = material;
  const detectorIds = foundations.engines.idsWith(detectors.added);
  const names = { catalogues, detectorIds, registered: foundations.registeredTenants };
  warnOfUnmatched(detectors, foundations.log);
  const policyFiles = await readPolicies(names, foundations.log, []);
  const gate = createGate(material, { policyFiles, added: detectors.added }, foundations);
  return new Serving(
    { ...opened, shown, place, log, firstStart, closers, metrics, exporter, reloads },
    { config, tls, policyFiles, gate },
  );
}

/** Facts of this process that change, and that others ask for. */
interface Shown {
  bound: Bound;
  status: GateStatus;
}

/** The generation in force. A reload exchanges it as a whole. */
interface InForce {
  readonly config: Config;
  readonly tls: ListenersTls;
  readonly policyFiles: readonly LoadedPolicyFile[];
  readonly gate: ReturnType<typeof createGate>;
}

/** The parts that stay as long as the process. */
interface Parts extends OpenedFoundations, Pick<ServingOptions, 'place' | 'log' | 'firstStart'> {
  readonly shown: Shown;
  readonly closers: AsyncDisposableStack;
  readonly metrics: Metrics;
  readonly exporter: Exporter;
  readonly reloads: ReturnType<typeof createReloadAudit>;
}

export class Serving {
  readonly #parts: Parts;
  readonly #servers: Servers;
  #inForce: InForce;

  /** Takes over what was opened, which `closers` closes. */
  constructor(parts: Parts, first: InForce) {
    const { authority, closers, log, metrics, exporter } = parts;
    this.#parts = parts;
    this.#inForce = first;
    metrics.watch(listenerCertificates(() => this.#inForce.tls));
    closers.defer(() => this.#inForce.gate.upstream.close());
    this.#servers = new Servers(() => this.#inForce.gate, authority, first.tls, log);
    closers.defer(() => this.#servers.close());
    this.#tellBy(first);
    closers.defer(() => exporter.close());
  }

  get certFile(): string {
    return this.#parts.authority.certFile;
  }

  /** Returns the certificate of the authority. Processes that serve together must have the same. */
  get certPem(): string {
    return this.#parts.authority.certPem;
  }

  get pepper(): Buffer {
    return this.#parts.foundations.pepper;
  }

  get metrics(): Metrics {
    return this.#parts.metrics;
  }

  /** Returns the configuration in force. */
  config(): Config {
    return this.#inForce.config;
  }

  /** Puts the configured agents and keys into the state. Throws ConfigError where they contradict it. */
  seed(config = this.config(), hasCalls = false): Promise<SeedResult> {
    const { foundations, firstStart } = this.#parts;
    return seed(config, { ...foundations, firstStart, hasCalls });
  }

  /** Begins to serve at `addresses`; by default at those of the configuration. */
  async listen(addresses?: Addresses): Promise<Bound> {
    const { foundations, notifications, startReaders, shown, closers, log } = this.#parts;
    const config = this.config();
    const { proxy, control } = addresses ?? { proxy: config.proxy.listen, control: config.control.listen };
    applyTerms(config, foundations);
    const opened = { proxy: [] as string[], control: [] as string[] };
    // The addresses are shown from the first one on, so that none of them is dialled.
    shown.bound = opened;
    for (const address of proxy) opened.proxy.push(await listen(this.#servers.newProxy(), address));
    for (const address of control) opened.control.push(await listen(this.#servers.newControl(), address));
    // What follows does not start before. A daemon that starts has no turns for anything else while it reads,
    // so an answer of the state would come too late.
    notifications.start();
    startReaders();
    const sweep = createApprovalSweep({ store: foundations.store, log });
    closers.defer(() => sweep.close());
    return opened;
  }

  /** Builds a whole next generation. Throws where that cannot be, with nothing changed. */
  async prepare({ config, files, detectors, readPolicies }: Loaded): Promise<Prepared> {
    const { foundations, feedConnections } = this.#parts;
    const { gate: before, config: configBefore, policyFiles: filesBefore } = this.#inForce;
    checkFixedKeys(configBefore, config);
    // Each of these steps takes a millisecond or two, and calls shall not wait for all of them.
    await nextTurn();
    checkReloadedFiles(config, files);
    const tls = readListenersTls(config, files);
    await nextTurn();
    const useFeedConnections = feedConnections.prepare(config, files);
    await nextTurn();
    // This makes the engine of added detectors, which is kept.
    foundations.engines.detectorsWith(detectors.added);
    await nextTurn();
    const material = openMaterial(config, files, foundations, before);
    const { catalogues } = material;
    const detectorIds = foundations.engines.idsWith(detectors.added);
    const names = { catalogues, detectorIds, registered: foundations.registeredTenants };
    warnOfUnmatched(detectors, foundations.log);
    const policyFiles = await readPolicies(names, foundations.log, filesBefore);
    const gate = createGate(material, { policyFiles, added: detectors.added }, foundations);
    try {
      await nextTurn();
      await gate.policies.adoptFrom(before.policies, gate.tenants.ids());
    } catch (error) {
      gate.retire();
      throw error;
    }
    return {
      seed: () => this.seed(config, true),
      take: async (standing) => {
        useFeedConnections();
        await foundations.feeds.use(config.feeds);
        applyTerms(config, foundations);
        this.#take({ config, tls, policyFiles, gate }, standing);
      },
      drop: () => gate.retire(),
    };
  }

  /** Notes why a reload was refused. */
  refuse(reason: string): void {
    this.#show({ lastError: reason });
  }

  /**
   * Says at `/readyz` that it drains, for `drain_delay`. Then it takes no new connections, answers those who
   * wait for approvals, lets running requests end for at most `graceMs`, writes everything down, and closes.
   */
  async stop(graceMs: number): Promise<void> {
    const { shown, notifications, foundations, closers } = this.#parts;
    this.#show({ isDraining: true });
    // Load balancers see it at /readyz and send new calls elsewhere; all calls that still come are served.
    const delayMs = shown.bound.proxy.length > 0 && graceMs > 0 ? this.config().drainDelayMs : 0;
    // Without a delay there is no sleep: it would be a turn in which a new connection is let in.
    if (delayMs > 0) await sleep(delayMs);
    foundations.approvals.endWaits();
    await Promise.all([this.#servers.drain(graceMs), notifications.drain(graceMs)]);
    await closers.disposeAsync();
  }

  #take(next: InForce, { generation, loadedAtMs }: ConfigStatus): void {
    const { notifications, place, log, reloads } = this.#parts;
    const before = this.#inForce.gate;
    this.#inForce = next;
    this.#tellBy(next);
    this.#servers.showTls(next.tls);
    before.retire();
    this.#show({ generation, loadedAtMs, lastError: null });
    log.use(next.config.log);
    notifications.tell(configReloaded(generation, loadedAtMs));
    // One process writes the audit entry for the whole daemon.
    if (place.slot === 1) reloads.note([...next.config.tenants.keys()], { generation, loadedAtMs });
  }

  #show(change: Partial<GateStatus>): void {
    const { shown } = this.#parts;
    shown.status = { ...shown.status, ...change };
  }

  /** Sends notices and telemetry the way of a generation from now on. */
  #tellBy({ config, gate }: InForce): void {
    this.#parts.notifications.use(config, gate.transport);
    this.#parts.exporter.use(config.telemetry, gate.transport);
  }
}
