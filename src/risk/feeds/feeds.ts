import { mkdir } from 'node:fs/promises';
import type { Log } from '../../core/log.ts';
import { type Feed, type FeedHealth, type FeedSource, openFeed } from './feed.ts';
import type { Download } from './fetch-feed.ts';
import { newHashKey } from './index/keyed-hash.ts';
import { ThreatIndex } from './index/threat-index.ts';
import { openFolder } from './last-good.ts';
import { createTurns } from './turns.ts';

interface Clock {
  now(): number;
  /** Runs once, `ms` from now, unless the answer is called before. Must not keep the process alive. */
  after(ms: number, run: () => void): () => void;
}

export interface FeedsOptions {
  readonly feeds: readonly FeedSource[];
  /** The folder of every feed's last good text. Nobody else writes there. */
  readonly dir: string;
  readonly log: Log;
  /** Called when a feed begins to fail, and when it becomes stale: once each, until it is well again. Must not throw. */
  readonly onTrouble?: (health: FeedHealth) => void;
  readonly download: Download;
  /** The limit of a feed without gzip. Default 128 MB. */
  readonly maxBytes?: number;
  /** From the first connection to the last byte. Default 5 minutes. */
  readonly fetchTimeoutMs?: number;
  readonly clock?: Clock;
  /**
   * The part of this process where several share the folder: the leader fetches, and all take what it has fetched.
   * Default: nobody else has it.
   */
  readonly part?: 'leader' | 'follower' | undefined;
  /** 0 to 1, for the jitter. */
  readonly random?: () => number;
}

export interface Feeds {
  /** The entries of all feeds, as of now. Ask anew for every call. */
  readonly index: ThreatIndex;
  health(): readonly FeedHealth[];
  /** Fetches a feed now, or waits for the fetch that is under way. Never throws for what is wrong with the feed; undefined: there is none of this name. */
  refresh(name: string): Promise<FeedHealth | undefined>;
  /** Goes on with other feeds. What stays as it was is not read again; resolves when what is new is loaded from its last good text. */
  use(feeds: readonly FeedSource[]): Promise<void>;
  /** Stops fetching; resolves when nothing is under way. */
  close(): Promise<void>;
}

const maxBytesDefault = 128 * 1024 * 1024;
const fetchTimeoutMsDefault = 5 * 60_000;
const fetchesAtOnce = 4;
/** The timer wakes at least so often, for feeds that have become stale. */
const sleepMsMax = 60_000;
/** How soon one process sees what another one has fetched. */
const followMs = 2_000;

const systemClock: Clock = {
  now: Date.now,
  after(ms, run) {
    const timer = setTimeout(run, ms).unref();
    return () => clearTimeout(timer);
  },
};

/** Resolves when the last good text of every feed is loaded; what is due is fetched after that. */
export async function openFeeds(options: FeedsOptions): Promise<Feeds> {
  const { dir, log, part, clock = systemClock, random = Math.random } = options;
  const key = newHashKey();
  const stopped = new AbortController();
  const shared = {
    dir,
    log,
    key,
    random,
    now: clock.now,
    onTrouble: options.onTrouble ?? (() => {}),
    onChange: rebuild,
    download: options.download,
    maxBytes: options.maxBytes ?? maxBytesDefault,
    fetchTimeoutMs: options.fetchTimeoutMs ?? fetchTimeoutMsDefault,
    stopped: stopped.signal,
    fetching: createTurns(fetchesAtOnce),
    // One after the other: each takes a processor and some hundred megabytes while it lasts.
    reading: createTurns(1),
  };
  let feeds: readonly Feed[] = [];
  let index = new ThreatIndex([]);
  let cancelTimer = (): void => {};
  const underWay = new Set<Promise<unknown>>();

  function rebuild(): void {
    index = new ThreatIndex(feeds.flatMap(({ source: { name }, set }) => (set ? [{ name, set }] : [])));
  }

  async function use(sources: readonly FeedSource[]): Promise<void> {
    const before = feeds;
    const next = await Promise.all(
      sources.map((source) => before.find((it) => isSame(it.source, source)) ?? openFeed(source, shared)),
    );
    feeds = next;
    for (const feed of before) if (!next.includes(feed)) feed.leave();
    rebuild();
    schedule();
  }

  function track(work: Promise<FeedHealth>): Promise<FeedHealth> {
    const done = work.finally(() => {
      underWay.delete(done);
      schedule();
    });
    underWay.add(done);
    return done;
  }

  function begin({ source: { name } }: Feed, work: () => Promise<FeedHealth>): void {
    track(work()).catch((error: unknown) =>
      log.error({ feed: name, err: error }, 'a threat feed cannot be refreshed'),
    );
  }

  /** One timer for all. */
  function schedule(): void {
    cancelTimer();
    if (stopped.signal.aborted || feeds.length === 0) return;
    const dueAtMs = Math.min(...feeds.filter((it) => !it.isFetching).map((it) => it.dueAtMs));
    const dueMs = part === 'follower' ? followMs : dueAtMs - clock.now();
    const waitMs = Math.max(0, Math.min(dueMs, part ? followMs : sleepMsMax));
    cancelTimer = clock.after(waitMs, tick);
  }

  function tick(): void {
    const nowMs = clock.now();
    for (const feed of feeds) {
      feed.watch();
      if (feed.isFetching) continue;
      if (part !== 'follower' && feed.dueAtMs <= nowMs) begin(feed, () => feed.refresh());
      else if (part) begin(feed, () => feed.follow());
    }
    schedule();
  }

  if (part === 'follower') await mkdir(dir, { recursive: true, mode: 0o700 });
  else await openFolder(dir);
  await use(options.feeds);

  return {
    get index() {
      return index;
    },
    health: () => feeds.map((it) => it.health()),
    async refresh(name) {
      const feed = feeds.find((it) => it.source.name === name);
      return feed && !stopped.signal.aborted ? await track(feed.refresh()) : undefined;
    },
    use,
    async close() {
      stopped.abort();
      cancelTimer();
      await Promise.allSettled(underWay);
    },
  };
}

const isSame = (a: FeedSource, b: FeedSource): boolean =>
  a.name === b.name && a.url === b.url && a.format === b.format && a.refreshMs === b.refreshMs;
