import { Cluster, Command, Redis, type RedisOptions } from 'ioredis';
import { GatewayError, stateUnavailable } from '../../../core/errors.ts';
import { kept } from '../../../util/kept.ts';
import { createCache } from '../../cache.ts';
import type { Script } from '../scripts/scripts.ts';
import { Breaker } from './breaker.ts';

/** The address of Redis, and what a client needs to sign in. */
export interface RedisAddress {
  readonly cluster: boolean;
  readonly tls: boolean;
  readonly nodes: readonly { readonly host: string; readonly port: number }[];
  readonly username: string | null;
  readonly password: string | null;
  readonly database: number;
}

export interface RedisConnectionOptions extends RedisAddress {
  readonly timeoutMs: number;
  /** The authorities, in PEM, that a TLS server is verified against; undefined: those of Node. */
  readonly ca: string | undefined;
  /** Receives errors of the connection. Those of commands go to whoever sent them. */
  readonly onError: (error: Error) => void;
  /** Called when a command succeeds after so many failures that Redis was taken for away. */
  readonly onHealed?: () => void;
}

type Argument = string | number | Buffer;

/**
 * Sends commands to Redis, each bounded by `timeoutMs`, whatever the network does. All failures are
 * STATE_UNAVAILABLE. The caller then does not know whether the command was carried out.
 */
export type RedisConnection = Awaited<ReturnType<typeof openConnection>>;

type Client = Redis | Cluster;

const away = (cause?: unknown): GatewayError =>
  new GatewayError('STATE_UNAVAILABLE', 'The state does not answer.', { retryAfterSeconds: 1 }, cause);

/** The most masters that a Redis Cluster has. */
const nodesMax = 1_000;

/**
 * Connects to Redis. Rejects with STATE_UNAVAILABLE where Redis refuses, or is not ready within five times
 * `timeoutMs`.
 */
export async function openConnection(options: RedisConnectionOptions) {
  const { timeoutMs } = options;
  const client = connect(options);
  let isOpen = false;
  client.on('error', (error: Error) => {
    // While it opens, a refusal is told by the rejection, in a sentence.
    if (isOpen || !redisRefusal(error)) options.onError(error);
  });
  // Each node has a breaker, so that calls whose data is on a node that answers do not fail because of
  // another.
  const breakers = createCache<Breaker>(2 * nodesMax);
  let isClosed = false;

  async function bounded<T>(key: Argument | undefined, send: () => Promise<T>): Promise<T> {
    const breaker = kept(breakers, nodeOf(client, key), () => new Breaker());
    if (isClosed) throw new GatewayError('SHUTTING_DOWN', 'The state is closed.');
    if (!breaker.mayTry(Date.now())) throw away();
    try {
      const answer = await within(timeoutMs, send());
      if (breaker.succeeded()) options.onHealed?.();
      return answer;
    } catch (error) {
      if (hasAnswered(error)) breaker.succeeded();
      else breaker.failed(Date.now());
      throw away(error);
    }
  }

  const masters = (): readonly Redis[] => (client instanceof Cluster ? client.nodes('master') : [client]);

  try {
    await ready(client, timeoutMs * 5, options.nodes);
  } catch (error) {
    client.disconnect();
    throw error;
  }
  isOpen = true;
  const refreshing = refreshSlots(client);
  return {
    /** Runs a script; all `keys` must lie on one node. */
    run: (script: Script, keys: readonly string[], args: readonly Argument[]) =>
      bounded(keys[0], () => evaluate(client, script, keys, args)),
    /** Sends one command, whose first argument is its key, if it has one. */
    call: (command: string, ...args: readonly Argument[]) =>
      bounded(args[0], () => client.call(command, ...args.map(toArgument))),
    /** Sends one command as `call` does; the texts of the answer are bytes. */
    callBuffers: (command: string, ...args: readonly Argument[]) =>
      bounded(args[0], () => client.callBuffer(command, ...args.map(toArgument))),
    /** Returns the answer to `INFO` of each master. */
    info: () => bounded(undefined, () => Promise.all(masters().map((it) => it.info()))),
    /** Tells whether some node of a Cluster answers, so that only a part of it is away; false on one Redis. */
    async isPartThere(): Promise<boolean> {
      if (!options.cluster) return false;
      const asked = bounded(undefined, () => Promise.any(masters().map((it) => it.ping())));
      return asked.then(
        () => true,
        () => false,
      );
    },
    async close() {
      if (isClosed) return;
      isClosed = true;
      clearInterval(refreshing);
      await within(timeoutMs, client.quit()).catch(() => {
        // Redis is away, and there is nothing to tell it.
      });
      client.disconnect();
    },
  };
}

async function evaluate(
  client: Client,
  { text, sha1 }: Script,
  keys: readonly string[],
  args: readonly Argument[],
): Promise<unknown> {
  try {
    return await client.evalsha(sha1, keys.length, ...keys, ...args);
  } catch (error) {
    // The server does not know the script: it was started anew, or another one has taken over.
    if (error instanceof Error && error.message.startsWith('NOSCRIPT'))
      return client.eval(text, keys.length, ...keys, ...args);
    throw error;
  }
}

/** Returns the node that has the key; '' where there is only one node, or any will do. */
function nodeOf(client: Client, key: Argument | undefined): string {
  if (!(client instanceof Cluster) || key === undefined) return '';
  return client.slots[new Command('GET', [String(key)]).getSlot()]?.[0] ?? '';
}

const toArgument = (it: Argument): string | Buffer => (typeof it === 'number' ? String(it) : it);

/**
 * Tells whether an error is an answer of Redis, and not one that says that the server cannot answer now.
 * Where a slot moves, the nodes have answered.
 */
function hasAnswered(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const [, last] = /^Too many Cluster redirections\. Last error: ReplyError: (.*)/.exec(error.message) ?? [];
  if (error.name !== 'ReplyError' && last === undefined) return false;
  return !/^(?:LOADING|CLUSTERDOWN|READONLY|MASTERDOWN)\b/.test(last ?? error.message);
}

function connect(options: RedisConnectionOptions): Client {
  const { timeoutMs, nodes, username, password, tls, ca } = options;
  const retryStrategy = (times: number): number => Math.min(50 * times, 500);
  const shared = {
    ...(username === null ? {} : { username }),
    ...(password === null ? {} : { password }),
    ...(tls ? { tls: ca === undefined ? {} : { ca } } : {}),
    protocol: 2,
    disableClientInfo: true,
    connectTimeout: timeoutMs,
    // A connection that is silent for so long is given up, since a new one may answer.
    socketTimeout: timeoutMs * 2,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
  } as const satisfies RedisOptions;
  if (options.cluster) {
    const cluster = new Cluster([...nodes], {
      redisOptions: shared,
      enableOfflineQueue: false,
      slotsRefreshTimeout: timeoutMs,
      // See `refreshSlots`.
      slotsRefreshInterval: 0,
      // Nothing is sent again after a failover: what was under way when a connection closed may have been
      // carried out.
      retryDelayOnFailover: 0,
      retryDelayOnClusterDown: 100,
      clusterRetryStrategy: retryStrategy,
    });
    return cluster.on('+node', settleAsking);
  }
  return new Redis({
    ...shared,
    ...nodes[0],
    db: options.database,
    enableOfflineQueue: false,
    retryStrategy,
    // The server has become a replica. The client connects again, to the server that has its address now.
    reconnectOnError: (error) => error.message.startsWith('READONLY'),
  });
}

/**
 * While a slot moves, ioredis sends ASKING before a command and drops its answer, a rejection too. The command
 * fails as well, and its sender is told.
 */
function settleAsking(node: Redis): void {
  const asking = node.asking.bind(node);
  node.asking = () => {
    const sent = asking();
    sent.catch(() => undefined);
    return sent;
  };
}

export const slotsRefreshMs = 5_000;

/**
 * Asks a cluster for its slots now and then. The refreshing of ioredis would never stop if it was closed
 * while it asks.
 */
const refreshSlots = (client: Client): NodeJS.Timeout | undefined =>
  client instanceof Cluster ? setInterval(() => client.refreshSlotsCache(), slotsRefreshMs) : undefined;

/**
 * Returns the error for a server that refuses all that is sent until the configuration or the server is
 * changed. Undefined for other errors.
 */
export function redisRefusal(error: unknown): GatewayError | undefined {
  const [code = ''] = /^[A-Z]+/.exec(error instanceof Error ? error.message : '') ?? [];
  const remedy = refusals[code];
  return remedy === undefined ? undefined : stateUnavailable(`Redis answers ${code}: ${remedy}`, error);
}

const refusals: Readonly<Record<string, string>> = {
  WRONGPASS: 'the user or the password in state.url is not right.',
  NOAUTH: 'it wants a password; write it into state.url, as redis://:PASSWORD@host.',
  NOPERM: 'the user of state.url may not do what Postern needs; docs/administration/redis.md has the rules.',
};

const nodesShownMax = 4;
const troubles: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there',
  ENOTFOUND: 'there is no such host',
  EAI_AGAIN: 'no name server answers',
};

/** Returns a sentence that says where nobody answers, and why, as far as the error of a connection tells. */
export function whyAway(nodes: RedisAddress['nodes'], error: unknown): string {
  const { code }: { readonly code?: unknown } = Object(error);
  const shown = nodes.slice(0, nodesShownMax).map(({ host, port }) => `${host}:${port}`);
  const where = `Redis at ${shown.join(', ')}${nodes.length > nodesShownMax ? ', …' : ''} does not answer`;
  return typeof code === 'string' ? `${where}: ${troubles[code] ?? code}.` : `${where}.`;
}

async function ready(client: Client, withinMs: number, nodes: RedisAddress['nodes']): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let last: unknown;
  const onError = (error: unknown) => {
    last = error;
    const refusal = redisRefusal(error);
    if (refusal) reject(refusal);
  };
  const notThere = () =>
    new GatewayError('STATE_UNAVAILABLE', whyAway(nodes, last), { retryAfterSeconds: 1 }, last);
  const timer = setTimeout(() => reject(notThere()), withinMs);
  client.once('ready', resolve).on('error', onError);
  try {
    await promise;
  } finally {
    clearTimeout(timer);
    client.off('ready', resolve).off('error', onError);
  }
}

/**
 * Returns what the promise returns, or rejects after `ms`; what comes later is dropped. An answer that waits
 * in its socket while this process is busy with something else is not late.
 */
async function within<T>(ms: number, promise: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const endMs = performance.now() + ms;
  const reject = (): void => late.reject(new Error(`no answer within ${ms} ms`));
  const onTimer = (): void => {
    // A timer counts from when its turn of the event loop began, which may be long before it was set.
    const leftMs = Math.floor(endMs - performance.now());
    if (leftMs > 0) timer = setTimeout(onTimer, leftMs);
    // Timers run before sockets are read. By the second turn each socket had its chance.
    else setImmediate(() => setImmediate(reject));
  };
  let timer = setTimeout(onTimer, ms);
  try {
    return await Promise.race([promise, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
