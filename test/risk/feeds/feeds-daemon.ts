import pino from 'pino';
import type { Test } from 'tap';
import type { FeedHealth, FeedSource } from '../../../src/risk/feeds/feed.ts';
import { type Feeds, type FeedsOptions, openFeeds } from '../../../src/risk/feeds/feeds.ts';
import type { Download } from '../../../src/risk/feeds/fetch-feed.ts';
import { Dialer } from '../../../src/wire/client/connect.ts';
import { type Connect, createHttpClient } from '../../../src/wire/client/http-client.ts';
import { createGuard } from '../../../src/wire/client/reach/guard.ts';
import { createResolver } from '../../../src/wire/client/reach/resolve.ts';
import { testAuthority } from '../../support/certificates.ts';
import { startUpstream, type TestUpstream } from '../../support/upstream.ts';

export const hourMs = 3_600_000;

/** A clock that goes on when it is told to. */
export class TestClock {
  nowMs = 1_795_000_000_000;
  #timers = new Set<{ readonly atMs: number; readonly run: () => void }>();

  now = (): number => this.nowMs;

  after = (ms: number, run: () => void): (() => void) => {
    const timer = { atMs: this.nowMs + ms, run };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  };

  get timers(): number {
    return this.#timers.size;
  }

  /** Runs what is due on the way. */
  advance(ms: number): void {
    const untilMs = this.nowMs + ms;
    for (;;) {
      const next = [...this.#timers].sort((a, b) => a.atMs - b.atMs)[0];
      if (next === undefined || next.atMs > untilMs) break;
      this.#timers.delete(next);
      this.nowMs = Math.max(this.nowMs, next.atMs);
      next.run();
    }
    this.nowMs = untilMs;
  }
}

export interface Daemon {
  readonly feeds: Feeds;
  readonly clock: TestClock;
  readonly troubles: FeedHealth[];
  /** All that was logged. */
  readonly log: () => string;
}

/** Downloads from servers on loopback, whose certificate must lead to one of the roots. */
export function downloadTrusting(roots: readonly string[]): Download {
  const guard = createGuard({
    allowPrivate: ['127.0.0.0/8', '::1'],
    deny: [],
    allowedPorts: [],
    ownListeners: () => [],
  });
  const resolver = createResolver({ resolve: [] });
  const dialer = new Dialer({ guard, resolver, roots, connectTimeoutMs: 10_000 });
  const connect: Connect = (to) => dialer.dial(to, 'http/1.1');
  return createHttpClient({ connect, idleTimeoutMs: 10_000 });
}

/** Feeds that nothing fetches but the test, for the clock stands. Ends with the test. */
export async function startFeeds(
  t: Test,
  sources: readonly FeedSource[],
  options: Partial<FeedsOptions> & { readonly dir: string; readonly clock?: TestClock },
): Promise<Daemon> {
  const clock = options.clock ?? new TestClock();
  const troubles: FeedHealth[] = [];
  const lines: string[] = [];
  const feeds = await openFeeds({
    feeds: sources,
    log: pino({ level: 'trace' }, { write: (line: string) => lines.push(line) }),
    onTrouble: (health) => troubles.push(health),
    download: downloadTrusting([testAuthority().certPem]),
    random: () => 0.5,
    ...options,
    clock,
  });
  t.teardown(() => feeds.close());
  return { feeds, clock, troubles, log: () => lines.join('') };
}

export interface Answer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

/** A server of feeds, over TLS, that answers as `answer` says at that moment. */
export async function startFeedServer(t: Test, first: Answer): Promise<TestUpstream & { answer: Answer }> {
  const server = await startUpstream(t, (request, response) => {
    const { status = 200, headers = {}, body = '' } = served.answer;
    const isKnown = headers['etag'] !== undefined && request.headers['if-none-match'] === headers['etag'];
    const isOld =
      headers['last-modified'] !== undefined &&
      request.headers['if-modified-since'] === headers['last-modified'];
    response.writeHead(isKnown || isOld ? 304 : status, headers);
    response.end(isKnown || isOld ? '' : body);
  });
  const served = Object.assign(server, { answer: first });
  return served;
}

export const sourceOf = (url: string, more: Partial<FeedSource> = {}): FeedSource => ({
  name: 'own',
  url,
  refreshMs: hourMs,
  format: 'lines',
  ...more,
});
