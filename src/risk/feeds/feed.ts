import { GatewayError } from '../../core/errors.ts';
import type { Log } from '../../core/log.ts';
import { type Download, fetchFeed, noValidators, type Validators } from './fetch-feed.ts';
import type { FeedFormat } from './formats/index.ts';
import type { IndicatorSet } from './index/indicator-set.ts';
import type { HashKey } from './index/keyed-hash.ts';
import { type Draft, type Kept, type LastGood, lastGoodOf } from './last-good.ts';
import { readFeedInThread } from './read-in-thread.ts';
import { FeedRefused } from './refused.ts';
import type { createTurns } from './turns.ts';

export interface FeedSource {
  readonly name: string;
  /**
   * The URL of the feed: `https:`, `http:` or `file:///…`. It may hold a secret, so only its origin is ever
   * shown.
   */
  readonly url: string;
  readonly refreshMs: number;
  readonly format: FeedFormat;
}

export interface FeedHealth {
  readonly name: string;
  /** The scheme, host and port of the feed; `file:` for a file. */
  readonly origin: string;
  /**
   * The state of the feed. `never`: no fetch yet. `failed`: the last fetch failed. `stale`: the last good
   * text is more than 3 intervals old.
   */
  readonly status: 'ok' | 'stale' | 'failed' | 'never';
  /** The number of indicators in use. */
  readonly indicators: number;
  /** The number of indicators that are left out because they would block what nobody wants blocked. */
  readonly dropped: number;
  /** The time since the feed was last fetched or said to be unchanged; undefined before that. */
  readonly ageMs: number | undefined;
  readonly lastSuccessMs: number | undefined;
  /** The failure of the last fetch as a sentence; empty where it went well. */
  readonly lastError: string;
  readonly etag: string;
  readonly nextFetchMs: number;
}

/** Settings that all feeds share. */
interface FeedSetting {
  readonly dir: string;
  readonly log: Log;
  readonly key: HashKey;
  readonly random: () => number;
  readonly now: () => number;
  readonly onTrouble: (health: FeedHealth) => void;
  readonly onChange: () => void;
  readonly download: Download;
  readonly maxBytes: number;
  readonly fetchTimeoutMs: number;
  readonly stopped: AbortSignal;
  readonly fetching: ReturnType<typeof createTurns>;
  readonly reading: ReturnType<typeof createTurns>;
}

/** Intervals without success after which a feed is stale. */
const staleIntervals = 3;
const firstRetryMs = 60_000;
/** The random share of an interval, by which a fetch may come earlier or later. */
const jitter = 0.1;
const readTimeoutMs = 2 * 60_000;

/** Opens a feed. Resolves when its last good text is loaded, where there is one. */
export async function openFeed(source: FeedSource, setting: FeedSetting): Promise<Feed> {
  const lastGood = lastGoodOf(setting.dir, source.name, source.url, source.format);
  const feed = new Feed(source, setting, lastGood);
  await feed.follow();
  return feed;
}

export class Feed {
  readonly source: FeedSource;
  readonly #origin: string;
  readonly #setting: FeedSetting;
  readonly #lastGood: LastGood;
  #set: IndicatorSet | undefined;
  #kept: Validators = noValidators;
  /** The version of the text in use; '' where there is none. */
  #version = '';
  #lastSuccessMs: number | undefined;
  #lastError = '';
  #failures = 0;
  #dueAtMs = 0;
  #flight: Promise<FeedHealth> | undefined;
  #following: Promise<FeedHealth> | undefined;
  #isStaleTold = false;
  #isLeft = false;

  constructor(source: FeedSource, setting: FeedSetting, lastGood: LastGood) {
    this.source = source;
    const { protocol = '', host = '' } = URL.parse(source.url) ?? {};
    this.#origin = host === '' ? protocol : `${protocol}//${host}`;
    this.#setting = setting;
    this.#lastGood = lastGood;
  }

  get set(): IndicatorSet | undefined {
    return this.#set;
  }

  get dueAtMs(): number {
    return this.#dueAtMs;
  }

  get isFetching(): boolean {
    return this.#flight !== undefined || this.#following !== undefined;
  }

  /** Takes what an earlier process or another one has fetched, unless this one takes it already. Never rejects. */
  follow(): Promise<FeedHealth> {
    this.#following ??= this.#follow().finally(() => {
      this.#following = undefined;
    });
    return this.#following;
  }

  async #follow(): Promise<FeedHealth> {
    try {
      const kept = await this.#lastGood.find();
      if (kept && kept.confirmedAtMs !== this.#lastSuccessMs) await this.#adopt(kept);
    } catch (error) {
      this.#lastError = reasonOf(error);
      const line = { feed: this.source.name, reason: this.#lastError };
      if (!this.#setting.stopped.aborted) this.#setting.log.warn(line, 'a kept threat feed is not taken');
    }
    this.watch();
    return this.health();
  }

  async #adopt(kept: Kept): Promise<void> {
    const isNew = kept.version !== this.#version;
    const set = isNew ? await this.#read(kept) : this.#set;
    if (this.#isLeft) return;
    this.#set = set;
    this.#kept = kept;
    this.#version = kept.version;
    this.#lastError = '';
    this.#isStaleTold = false;
    this.#lastSuccessMs = kept.confirmedAtMs;
    // A clock that was set back must not put the next fetch off.
    const sinceMs = Math.min(kept.confirmedAtMs, this.#setting.now());
    this.#dueAtMs = sinceMs + this.#jittered(this.source.refreshMs);
    if (isNew) this.#setting.onChange();
  }

  /** Fetches the feed, or waits for a fetch that is under way. Never rejects. */
  refresh(): Promise<FeedHealth> {
    this.#flight ??= this.#afterFollowing().finally(() => {
      this.#flight = undefined;
    });
    return this.#flight;
  }

  async #afterFollowing(): Promise<FeedHealth> {
    if (this.#following !== undefined) await this.#following;
    return this.#refresh();
  }

  async #refresh(): Promise<FeedHealth> {
    const { log, now, fetching, onTrouble, stopped } = this.#setting;
    try {
      await fetching(() => this.#fetch());
      this.#failures = 0;
      this.#lastError = '';
      this.#isStaleTold = false;
      this.#lastSuccessMs = now();
      this.#dueAtMs = now() + this.#jittered(this.source.refreshMs);
    } catch (error) {
      this.#lastError = reasonOf(error);
      const retryMs = firstRetryMs * 2 ** Math.min(this.#failures, 20);
      this.#dueAtMs = now() + this.#jittered(Math.min(this.source.refreshMs, retryMs));
      const isFirst = this.#failures++ === 0;
      if (stopped.aborted || this.#isLeft) return this.health();
      log.warn({ feed: this.source.name, reason: this.#lastError }, 'a threat feed was not refreshed');
      if (isFirst) onTrouble(this.health());
    }
    this.watch();
    return this.health();
  }

  async #fetch(): Promise<void> {
    const { download, maxBytes, fetchTimeoutMs, stopped } = this.#setting;
    const signal = AbortSignal.any([stopped, AbortSignal.timeout(fetchTimeoutMs)]);
    // An answer `unchanged` would be no help for a feed that is not in use.
    const known = this.#set ? this.#kept : noValidators;
    const drafts: Draft[] = [];
    const sink = async (validators: Validators) => {
      const draft = await this.#lastGood.draft(validators);
      drafts.push(draft);
      return draft.sink;
    };
    try {
      await fetchFeed(this.source.url, known, sink, { download, maxBytes, signal });
      const [draft] = drafts;
      if (draft) await this.#take(draft);
      else await this.#confirm();
    } finally {
      for (const draft of drafts) await draft.discard();
    }
  }

  async #take(draft: Draft): Promise<void> {
    const set = await this.#read(draft);
    if (this.#isLeft) return;
    this.#version = await draft.keep(this.#setting.now());
    this.#set = set;
    this.#kept = draft;
    const { indicators, dropped, malformed } = set;
    const line = { feed: this.source.name, indicators, dropped, malformed };
    this.#setting.log.info(line, 'a threat feed was refreshed');
    this.#setting.onChange();
  }

  async #confirm(): Promise<void> {
    try {
      await this.#lastGood.confirm(this.#setting.now());
    } catch (error) {
      // The kept text is gone, so next time the whole feed is fetched.
      this.#kept = noValidators;
      throw error;
    }
  }

  #read({ file, skipBytes }: Pick<Kept, 'file' | 'skipBytes'>): Promise<IndicatorSet> {
    const { key, maxBytes, stopped: signal, reading } = this.#setting;
    const task = { file, skipBytes, format: this.source.format, key, maxBytes };
    return reading(() => readFeedInThread(task, { signal, timeoutMs: readTimeoutMs }));
  }

  /** Warns once of a feed that has become stale. Must be called now and then. */
  watch(): void {
    // A clock that was set back must not put the next fetch off.
    this.#dueAtMs = Math.min(this.#dueAtMs, this.#setting.now() + (1 + jitter) * this.source.refreshMs);
    const health = this.health();
    if (health.status !== 'stale' || this.#isStaleTold) return;
    this.#isStaleTold = true;
    this.#setting.log.warn({ feed: this.source.name, ageMs: health.ageMs }, 'a threat feed is stale');
    this.#setting.onTrouble(health);
  }

  /** Notes that the feed is no longer in use. Work that is under way ends without effect. */
  leave(): void {
    this.#isLeft = true;
  }

  health(): FeedHealth {
    const ageMs =
      this.#lastSuccessMs === undefined ? undefined : Math.max(0, this.#setting.now() - this.#lastSuccessMs);
    return {
      name: this.source.name,
      origin: this.#origin,
      status: this.#status(ageMs),
      indicators: this.#set?.indicators ?? 0,
      dropped: this.#set?.dropped ?? 0,
      ageMs,
      lastSuccessMs: this.#lastSuccessMs,
      lastError: this.#lastError,
      etag: this.#kept.etag,
      nextFetchMs: this.#dueAtMs,
    };
  }

  #status(ageMs: number | undefined): FeedHealth['status'] {
    if (ageMs !== undefined && ageMs > staleIntervals * this.source.refreshMs) return 'stale';
    if (this.#lastError !== '') return 'failed';
    return ageMs === undefined ? 'never' : 'ok';
  }

  /** Returns a time that varies at random, to spread the requests of nodes that were started together. */
  #jittered(ms: number): number {
    return Math.round(ms * (1 - jitter + 2 * jitter * this.#setting.random()));
  }
}

/**
 * Returns the reason of a failure as a sentence. It has nothing of the source's URL, which libraries put into
 * their messages.
 */
function reasonOf(error: unknown): string {
  if (error instanceof FeedRefused) return error.message;
  if (error instanceof GatewayError && error.code !== 'INTERNAL') return error.message;
  const { name, code } = error as { readonly name?: unknown; readonly code?: unknown };
  // The only other signal is that of the end, and then nobody asks for the reason.
  if (name === 'AbortError' || name === 'TimeoutError') return 'The feed did not arrive in time.';
  const isZlib = typeof code === 'string' && /^(?:Z_|ERR_BROTLI|ERR__ERROR)/.test(code);
  if (isZlib) return 'The content coding of the feed is broken or cut.';
  const isCode = typeof code === 'string' && /^[A-Z][A-Z0-9_]{1,63}$/.test(code);
  return isCode ? `The feed could not be fetched (${code}).` : 'The feed could not be fetched.';
}
