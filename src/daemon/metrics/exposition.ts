import type { Family } from './families.ts';

/** The metrics of one process, as they are sent to another one. */
export type Snapshot = readonly object[];

type Client = typeof import('prom-client');

const load = async (): Promise<Client> => (await import('prom-client')).default;

/**
 * Creates what takes the metrics of this process. Those of Node are included from the first time on. The
 * library prom-client is loaded when it is first asked: a daemon that nobody scrapes does not pay for it.
 */
export function createSnapshot(collect: () => Promise<Family[]>): () => Promise<Snapshot> {
  let own: Promise<InstanceType<Client['Registry']>> | undefined;
  const openOwn = async () => {
    const { Registry, collectDefaultMetrics } = await load();
    const registry = new Registry();
    collectDefaultMetrics({ register: registry });
    return registry;
  };
  return async () => {
    own ??= openOwn();
    const ofNode = await (await own).getMetricsAsJSON();
    return [...(await collect()), ...ofNode];
  };
}

/**
 * Returns the metrics of several processes as text. Each is added up, or is the least or the most, as its
 * description says.
 */
export async function toMetricsText(snapshots: readonly Snapshot[]): Promise<string> {
  const { AggregatorRegistry } = await load();
  return AggregatorRegistry.aggregate(snapshots as never).metrics();
}

/** Adds up counters and histograms, which is what is left of processes that have ended. */
export async function endedOf(snapshots: readonly Snapshot[]): Promise<Snapshot> {
  const { AggregatorRegistry } = await load();
  const all = await AggregatorRegistry.aggregate(snapshots as never).getMetricsAsJSON();
  return all.filter(({ type, name }) => grows.has(String(type)) && name.startsWith('postern_'));
}

const grows: ReadonlySet<string> = new Set(['counter', 'histogram']);
