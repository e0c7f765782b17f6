import { setTimeout as sleep } from 'node:timers/promises';
import { checkFixedKeys } from '../config/reload.ts';
import type { Config } from '../config/schema.ts';
import type { Log } from '../core/log.ts';
import { createApprovalSweep } from '../decision/approvals/approval-sweep.ts';
import type { Bound } from './bound.ts';
import { Closers } from './closers.ts';
import type { Addresses, ConfigStatus, ReloadStatus } from './config-status.ts';
import { configReloaded } from './gateway-notices.ts';
import { createMetrics, type Gather, type Metrics } from './metrics/metrics.ts';
import { listenerCertificates } from './metrics/sources.ts';
import { createGate, openMaterial } from './reload/generation.ts';
import { createReloadAudit } from './reload/reload-audit.ts';
import type { FirstStart } from './start/first-start.ts';
import { openFoundations } from './start/foundations.ts';
import { readListenersTls } from './start/listener-tls.ts';
import { listen } from './start/listeners.ts';
import type { Loaded } from './start/loaded.ts';
import { applyTerms, type SeedResult, seed } from './start/seed.ts';
import { Servers } from './start/servers.ts';
import { Exporter } from './telemetry/exporter.ts';
import type { WorkerSlot } from './worker-slot.ts';

/*
 * The services of one process. They are put in force in steps that several processes take together: all prepare, one
 * seeds the state, and then all take over, or none does.
 */

export interface Serving {
  readonly certFile: string;
  /** Tells whether two processes have the same authority and secret. */
  readonly certPem: string;
  readonly pepper: Buffer;
  /** In force. */
  config(): Config;
  readonly metrics: Pick<Metrics, 'snapshot'>;
  /** Puts the agents and keys of what it was opened with into the state. Throws ConfigError where they contradict it. */
  seed(): Promise<SeedResult>;
  /** Begins to serve; at `addresses`, where they are not those of the configuration. */
  listen(addresses?: Addresses): Promise<Bound>;
  /** Puts a whole next generation together. Throws, with nothing changed, where that cannot be. */
  prepare(next: Loaded): Promise<Prepared>;
  /** Notes why a reload was refused. */
  refuse(reason: string): void;
  /**
   * Says at `/readyz` that it goes, for `drain_delay`; then takes no new connections, lets running requests end for at
   * most `graceMs`, writes everything down, and is gone.
   */
  stop(graceMs: number): Promise<void>;
}

/** A generation that is not in force yet. */
export interface Prepared {
  seed(): Promise<SeedResult>;
  /** From the next call on this one judges. */
  take(standing: ConfigStatus): Promise<void>;
  drop(): void;
}

export interface ServingOptions {
  readonly place: WorkerSlot;
  readonly log: Log;
  readonly standing: ReloadStatus;
  readonly firstStart: FirstStart | undefined;
  /** Asks all processes for their metrics; undefined where one process serves. */
  readonly gatherMetrics?: Gather;
}

/** Opens everything that a process serves with. Throws, with nothing left open, when something is wrong. */
export async function openServing(loaded: Loaded, options: ServingOptions): Promise<Serving> {
  const closers = new Closers();
  try {
    return await openAll(loaded, options, closers);
  } catch (error) {
    // The first failure is told.
    await closers.close().catch((err: unknown) => options.log.warn({ err }, 'not all could be closed'));
    throw error;
  }
}

async function openAll(
  { config: first, files, readPolicies }: Loaded,
  { place, log, standing, firstStart, gatherMetrics }: ServingOptions,
  closers: Closers,
): Promise<Serving> {
  let config = first;
  let tls = readListenersTls(config, files);
  let bound: Bound = { proxy: [], control: [] };
  const status = { ...standing, isDraining: false };
  const metrics = createMetrics(gatherMetrics);
  const exporter = new Exporter({
    origin: { instance: `${process.pid}-${place.slot}`, startMs: performance.timeOrigin },
    counters: metrics.counters,
    families: metrics.families,
    log,
  });
  const { foundations, authority, feedConnections, notifications, startReaders } = await openFoundations(
    config,
    {
      files,
      place,
      log,
      bound: () => bound,
      status: () => status,
      closers,
      metrics,
      exporter,
    },
  );
  metrics.watch(listenerCertificates(() => tls));
  const seeding = { ...foundations, firstStart };
  const reloads = createReloadAudit(foundations.store, log);
  closers.add(() => reloads.close());
  const material = openMaterial(config, files, foundations);
  let policyFiles = await readPolicies(material.known, foundations.log, []);
  let gate = createGate(material, policyFiles, foundations);
  closers.add(() => gate.upstream.close());
  const servers = new Servers(() => gate, authority, tls, log);
  closers.add(() => servers.close());
  notifications.use(config, gate.transport);
  exporter.use(config.telemetry, gate.transport);
  closers.add(() => exporter.close());

  return {
    certFile: authority.certFile,
    certPem: authority.certPem,
    pepper: foundations.pepper,
    config: () => config,
    metrics,
    seed: () => seed(config, seeding),
    async listen({ proxy, control } = { proxy: config.proxy.listen, control: config.control.listen }) {
      applyTerms(config, foundations);
      const opened = { proxy: [] as string[], control: [] as string[] };
      // Bound addresses are not dialled, from the first one on.
      bound = opened;
      for (const address of proxy) opened.proxy.push(await listen(servers.newProxy(), address));
      for (const address of control) opened.control.push(await listen(servers.newControl(), address));
      // Not before: while what a daemon stands on is read, nothing else has its turn, and an answer of the state would come too late.
      notifications.start();
      startReaders();
      const sweep = createApprovalSweep({ store: foundations.store, log });
      closers.add(() => sweep.close());
      return opened;
    },
    async prepare(next) {
      checkFixedKeys(config, next.config);
      const nextTls = readListenersTls(next.config, next.files);
      const useFeedConnections = feedConnections.prepare(next.config, next.files);
      const material = openMaterial(next.config, next.files, foundations, gate);
      const nextPolicies = await next.readPolicies(material.known, foundations.log, policyFiles);
      const nextGate = createGate(material, nextPolicies, foundations);
      try {
        await nextGate.policies.follow(gate.policies, nextGate.tenants.ids());
      } catch (error) {
        nextGate.retire();
        throw error;
      }
      return {
        seed: () => seed(next.config, seeding),
        async take({ generation, loadedAtMs }) {
          useFeedConnections();
          await foundations.feeds.use(next.config.feeds);
          applyTerms(next.config, foundations);
          const before = gate;
          gate = nextGate;
          policyFiles = nextPolicies;
          notifications.use(next.config, nextGate.transport);
          exporter.use(next.config.telemetry, nextGate.transport);
          servers.showTls(nextTls);
          tls = nextTls;
          config = next.config;
          before.retire();
          Object.assign(status, { generation, loadedAtMs, lastError: null });
          log.level = next.config.log.level;
          notifications.tell(configReloaded(generation, loadedAtMs));
          // One process of the daemon writes the audit entry.
          if (place.slot === 1) reloads.note([...config.tenants.keys()], { generation, loadedAtMs });
        },
        drop: () => nextGate.retire(),
      };
    },
    refuse(reason) {
      status.lastError = reason;
    },
    async stop(graceMs) {
      status.isDraining = true;
      // Load balancers see it at /readyz, and send new calls elsewhere, while all that come are still served.
      if (bound.proxy.length > 0 && graceMs > 0) await sleep(config.drainDelayMs);
      await Promise.all([servers.drain(graceMs), notifications.drain(graceMs)]);
      await closers.close();
    },
  };
}
