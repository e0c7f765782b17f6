import { once } from 'node:events';
import { isDeepStrictEqual } from 'node:util';
import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from 'node:worker_threads';
import type { Environment } from '../../config/checks/references.ts';
import { disk } from '../../config/load.ts';
import type { ValueOrigin } from '../../config/origins.ts';
import type { Config, TenantConfig } from '../../config/schema.ts';
import { eachInSlices } from '../../util/pace.ts';
import { threadEnvironment } from '../../util/prepared.ts';
import { programModule } from '../../util/program-files.ts';
import type { Loaded, LoadedDetectors } from '../start/loaded.ts';
import { type Failure, fromFailure } from '../workers/messages.ts';
import { filesTaken, type TakenFiles } from '../workers/taken-files.ts';
import { PolicyCollector, type ToldPolicies } from './policy-files.ts';

/*
 * A large configuration takes seconds to read, which no call shall wait for. A thread reads it, and this one
 * takes over what has changed, in slices: entries that say the same as before stay the same objects.
 */

export interface ReadTask {
  readonly file: string | undefined;
  readonly env: Environment;
  /** The files to read from; undefined for those of the disk. */
  readonly taken: TakenFiles | undefined;
  /** The port that long lists come through, in pieces that are taken when there is time. */
  readonly port: MessagePort;
}

/** Lists that may have thousands of entries, with what returns the id of an entry. */
const idOf = {
  tenants: (it) => it.id,
  agents: (it) => it.id,
  keys: (it) => it.hash,
  credentials: (it) => `${it.tenantId}/${it.name}`,
  inbound: (it) => it.prefix,
} satisfies { [L in ListName]: (entry: EntryOf<L>) => string };

type ListName = 'tenants' | 'agents' | 'keys' | 'credentials' | 'inbound';
type EntryOf<L extends ListName> = Config[L] extends { values(): Iterable<infer E> } ? E : never;
type Entry = EntryOf<ListName>;

export const lists = Object.keys(idOf) as readonly ListName[];

/**
 * The number of entries of one message, few enough to be read from the port in a fraction of a millisecond.
 */
export const entriesAtOnce = 50;

/** The configuration without what comes in pieces. */
export type Rest = Omit<Config, 'defaultTenant' | 'origins' | ListName>;

export type ReaderMessage =
  | { readonly rest: Rest; readonly bareTenant: TenantConfig; readonly detectors: LoadedDetectors }
  | { readonly isRead: true }
  | { readonly failure: Failure };

/** Asks the thread for the policies. */
export interface ReadRequest {
  readonly registered: ReadonlySet<string>;
  readonly detectorIds: readonly string[];
  readonly digests: ReadonlyMap<string, string>;
}

export type ConfigPiece =
  | { readonly list: ListName; readonly entries: readonly Entry[] }
  | { readonly origins: Config['origins'] };

const heapMbMax = 1024;
/**
 * The memory for new objects, in megabytes. Nearly all that a reading makes lives to its end, so a small
 * nursery would copy it again and again.
 */
const nurseryMb = 64;
const answerMsMax = 60_000;

/**
 * Gives `use` the present configuration and returns its result. Policies can be read while `use` runs. Throws
 * what reading throws.
 */
export async function readInThread<T>(
  task: Omit<ReadTask, 'port'>,
  before: Config,
  use: (loaded: Loaded) => Promise<T>,
): Promise<T> {
  const { port1, port2 } = new MessageChannel();
  const source = programModule('daemon/reload/read-thread');
  const worker = new Worker(source, {
    workerData: { ...task, port: port2 },
    env: threadEnvironment(),
    transferList: [port2],
    resourceLimits: { maxOldGenerationSizeMb: heapMbMax, maxYoungGenerationSizeMb: nurseryMb },
  });
  const nextAnswer = answersOf(worker);
  try {
    const told = await nextAnswer();
    if (!('rest' in told)) throw new Error('the configuration was not read');
    const config = await takeConfig(told, port1, before);
    return await use({
      config,
      detectors: told.detectors,
      files: task.taken ? filesTaken(task.taken) : disk,
      async readPolicies({ registered, detectorIds }, log, policiesBefore) {
        const collector = new PolicyCollector(log, policiesBefore);
        worker.postMessage({ registered, detectorIds, digests: collector.digests } satisfies ReadRequest);
        await nextAnswer();
        await drain<ToldPolicies>(port1, (told) => collector.take(told));
        return collector.result(config.file);
      },
    });
  } finally {
    port1.close();
    await worker.terminate();
  }
}

type Answer = Exclude<ReaderMessage, { readonly failure: Failure }>;

/**
 * Returns what waits for the next answer of a thread. It throws what the thread has failed with, and after a
 * minute without an answer.
 */
function answersOf(worker: Worker): () => Promise<Answer> {
  const { promise: ended, reject } = Promise.withResolvers<never>();
  worker.once('error', reject);
  worker.once('exit', () => reject(new Error('reading the configuration ended without a result')));
  // The thread may end while nobody waits for it.
  ended.catch(() => undefined);
  return async () => {
    const signal = AbortSignal.timeout(answerMsMax);
    const [told] = (await Promise.race([once(worker, 'message', { signal }), ended])) as [ReaderMessage];
    if ('failure' in told) throw fromFailure(told.failure);
    return told;
  };
}

/** Takes all messages that wait in the port. */
const drain = <T>(port: MessagePort, take: (message: T) => void): Promise<void> =>
  eachInSlices(waitingIn<T>(port), take);

function* waitingIn<T>(port: MessagePort): Generator<T> {
  for (let got = receiveMessageOnPort(port); got; got = receiveMessageOnPort(port)) yield got.message as T;
}

async function takeConfig(
  { rest, bareTenant: bare }: Extract<Answer, { readonly rest: Rest }>,
  port: MessagePort,
  before: Config,
): Promise<Config> {
  const bareTenant = frozen(bare);
  const read = new Map<ListName, List>();
  for (const list of lists) read.set(list, new List(list, await byName(list, before[list].values())));
  const origins: ValueOrigin[] = [];
  await drain<ConfigPiece>(port, (piece) => {
    // Origins are not compared: there are as many as values, and nobody asks whether they are those of before.
    if ('origins' in piece) origins.push(...frozen(piece.origins));
    else read.get(piece.list)?.add(piece.entries);
  });
  const kept = Object.entries(rest).map(([key, it]) => [key, keptOr(before[key as keyof Rest], it)]);
  const asList = (list: ListName) => Object.freeze(read.get(list)?.entries ?? []);
  return Object.freeze({
    ...Object.fromEntries(kept),
    origins: Object.freeze(origins),
    defaultTenant: (id: string): TenantConfig => Object.freeze({ ...bareTenant, id, name: id }),
    tenants: await byName('tenants', asList('tenants')),
    agents: asList('agents'),
    keys: asList('keys'),
    credentials: asList('credentials'),
    inbound: await byName('inbound', asList('inbound')),
  }) as Config;
}

const nameOf = (list: ListName, entry: Entry): string => (idOf[list] as (entry: Entry) => string)(entry);

async function byName(list: ListName, entries: Iterable<Entry>): Promise<Map<string, Entry>> {
  const named = new Map<string, Entry>();
  await eachInSlices(entries, (it) => named.set(nameOf(list, it), it));
  return named;
}

/** Collects one list of the configuration, which comes in pieces. */
class List {
  readonly entries: Entry[] = [];
  readonly #list: ListName;
  readonly #before: ReadonlyMap<string, Entry>;

  constructor(list: ListName, before: ReadonlyMap<string, Entry>) {
    this.#list = list;
    this.#before = before;
  }

  add(entries: readonly Entry[]): void {
    for (const it of entries) this.entries.push(keptOr(this.#before.get(nameOf(this.#list, it)), it));
  }
}

const keptOr = <T>(before: unknown, next: T): T =>
  isDeepStrictEqual(before, next) ? (before as T) : frozen(next);

/** Freezes a value, since values from another thread are not frozen any more. Schemas bound its depth. */
function frozen<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value;
  for (const it of value instanceof Map || value instanceof Set ? value.values() : Object.values(value))
    frozen(it);
  return Object.freeze(value);
}
