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
  /**
   * Runs `run` once, `ms` from now, unless the returned function is called before. Must not keep the process
   * alive.
   */
  after(ms: number, run: () => void): () => void;
}

export interface FeedsOptions {
  readonly feeds: readonly FeedSource[];
  /** The folder of every feed's last good text. Nobody else writes there. */
  readonly dir: string;
  readonly log: Log;
  /**
   * Receives the health of a feed once when it begins to fail, and once when it becomes stale, until it is
   * well again. Must not throw.
   */
  readonly onTrouble?: (health: FeedHealth) => void;
  readonly download: Download;
  /** The limit of a feed, in bytes without gzip. The default is 128 MB. */
  readonly maxBytes?: number;
  /** The limit from the first connection to the last byte, in milliseconds. The default is 5 minutes. */
  readonly fetchTimeoutMs?: number;
  readonly clock?: Clock;
  /**
   * The part of this process where several share the folder. The leader fetches, and all take what it has
   * fetched. By default no other process has the folder.
   */
  readonly part?: 'leader' | 'follower' | undefined;
  /** The source of numbers from 0 to 1 for the jitter; `Math.random` by default. */
  readonly random?: () => number;
}

const maxBytesDefault = 128 * 1024 * 1024;
const fetchTimeoutMsDefault = 5 * 60_000;
const fetchesAtOnce = 4;
/** The longest sleep of the timer. It wakes to see which feeds have become stale. */
const sleepMsMax = 60_000;
/** The time after which a process looks for what another one has fetched. */
const followMs = 2_000;

const systemClock: Clock = {
  now: Date.now,
  after(ms, run) {
    const timer = setTimeout(run, ms).unref();
    return () => clearTimeout(timer);
  },
};

export class Feeds {
  readonly #log;
  readonly #part;
  readonly #clock;
  readonly #stopped = new AbortController();
  readonly #shared;
  #feeds: readonly Feed[] = [];
  #index = new ThreatIndex([]);
  #cancelTimer = (): void => {};
  readonly #underWay = new Set<Promise<unknown>>();

  constructor(options: FeedsOptions) {
    const { dir, log, part, clock = systemClock, random = Math.random } = options;
    this.#log = log;
    this.#part = part;
    this.#clock = clock;
    const key = newHashKey();
    this.#shared = {
      dir,
      log,
      key,
      random,
      now: clock.now,
      onTrouble: options.onTrouble ?? (() => {}),
      onChange: () => this.#rebuild(),
      download: options.download,
      maxBytes: options.maxBytes ?? maxBytesDefault,
      fetchTimeoutMs: options.fetchTimeoutMs ?? fetchTimeoutMsDefault,
      stopped: this.#stopped.signal,
      fetching: createTurns(fetchesAtOnce),
      // Feeds are read one after the other, because each takes a processor and some hundred megabytes while
      // it is read.
      reading: createTurns(1),
    };
  }

  /** Returns the entries of all feeds as they are now. Ask for it anew at every call. */
  get index(): ThreatIndex {
    return this.#index;
  }

  health(): readonly FeedHealth[] {
    return this.#feeds.map((it) => it.health());
  }

  /**
   * Fetches a feed now, or waits for a running fetch. Does not throw where the feed is bad. Returns undefined
   * for an unknown name, and after the end.
   */
  async refresh(name: string): Promise<FeedHealth | undefined> {
    const feed = this.#feeds.find((it) => it.source.name === name);
    return feed && !this.#stopped.signal.aborted ? await this.#track(feed.refresh()) : undefined;
  }

  /** Goes on with other feeds. An unchanged feed is not read again. A new feed loads its last good text. */
  async use(sources: readonly FeedSource[]): Promise<void> {
    const before = this.#feeds;
    const next = await Promise.all(
      sources.map(
        (source) => before.find((it) => isSame(it.source, source)) ?? openFeed(source, this.#shared),
      ),
    );
    this.#feeds = next;
    for (const feed of before) if (!next.includes(feed)) feed.leave();
    this.#rebuild();
    this.#schedule();
  }

  /** Stops fetching. Resolves when nothing is under way. */
  async close(): Promise<void> {
    this.#stopped.abort();
    this.#cancelTimer();
    await Promise.allSettled(this.#underWay);
  }

  #rebuild(): void {
    this.#index = new ThreatIndex(
      this.#feeds.flatMap(({ source: { name }, set }) => (set ? [{ name, set }] : [])),
    );
  }

  #track(work: Promise<FeedHealth>): Promise<FeedHealth> {
    const done = work.finally(() => {
      this.#underWay.delete(done);
      this.#schedule();
    });
    this.#underWay.add(done);
    return done;
  }

  #begin({ source: { name } }: Feed, work: () => Promise<FeedHealth>): void {
    this.#track(work()).catch((error: unknown) =>
      this.#log.error({ feed: name, err: error }, 'a threat feed cannot be refreshed'),
    );
  }

  /** Sets the one timer of all feeds. */
  #schedule(): void {
    this.#cancelTimer();
    if (this.#stopped.signal.aborted || this.#feeds.length === 0) return;
    const dueAtMs = Math.min(...this.#feeds.filter((it) => !it.isFetching).map((it) => it.dueAtMs));
    const dueMs = this.#part === 'follower' ? followMs : dueAtMs - this.#clock.now();
    const waitMs = Math.max(0, Math.min(dueMs, this.#part ? followMs : sleepMsMax));
    this.#cancelTimer = this.#clock.after(waitMs, () => this.#tick());
  }

  #tick(): void {
    const nowMs = this.#clock.now();
    for (const feed of this.#feeds) {
      feed.watch();
      if (feed.isFetching) continue;
      if (this.#part !== 'follower' && feed.dueAtMs <= nowMs) this.#begin(feed, () => feed.refresh());
      else if (this.#part) this.#begin(feed, () => feed.follow());
    }
    this.#schedule();
  }
}

const isSame = (a: FeedSource, b: FeedSource): boolean =>
  a.name === b.name && a.url === b.url && a.format === b.format && a.refreshMs === b.refreshMs;

/**
 * Opens all feeds. Resolves when the last good text of each is loaded; feeds that are due are fetched after
 * that.
 */
export async function openFeeds(options: FeedsOptions): Promise<Feeds> {
  if (options.part === 'follower') await mkdir(options.dir, { recursive: true, mode: 0o700 });
  else await openFolder(options.dir);
  const feeds = new Feeds(options);
  await feeds.use(options.feeds);
  return feeds;
}
