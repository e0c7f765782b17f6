// What threat feeds of a million indicators cost: to read (in a thread of its own), to keep, and to ask. Goals: 150 MB, 2 microseconds a
// look-up. `node bench/feeds.ts`
import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { entryAt } from '../src/risk/feeds/entries.ts';
import type { FeedFormat } from '../src/risk/feeds/formats/index.ts';
import type { IndicatorSet } from '../src/risk/feeds/index/indicator-set.ts';
import { newHashKey } from '../src/risk/feeds/index/keyed-hash.ts';
import { type NamedSet, ThreatIndex } from '../src/risk/feeds/index/threat-index.ts';
import { readFeedInThread } from '../src/risk/feeds/read-in-thread.ts';

const rounds = 7;
const perRound = 200_000;

/** The same numbers in every run (mulberry32). */
function randoms(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return (mixed ^ (mixed >>> 14)) >>> 0;
  };
}

const random = randoms(7);
const word = (): string => random().toString(36);
const ipv4 = (): string => `${20 + (random() % 60)}.${random() % 256}.${random() % 256}.${random() % 256}`;
const url = (): string => `http://${word()}.${word()}.com/${word()}/${word()}.exe`;

const feeds: Readonly<Record<string, { format: FeedFormat; header?: string; line: (at: number) => string }>> =
  {
    urlhaus: {
      format: 'urlhaus',
      line: (at) =>
        `"${at}","2026-11-20 10:00:00","${url()}","online","","malware_download","elf","https://urlhaus.abuse.ch/url/${at}/","who"`,
    },
    openphish: { format: 'openphish', line: url },
    own: { format: 'lines', line: () => `${word()}.${word()}.net` },
    addresses: { format: 'cidr', line: ipv4 },
  };

const dir = mkdtempSync(join(tmpdir(), 'postern-bench-'));
try {
  const key = newHashKey();
  const sets: NamedSet[] = [];
  for (const [name, { format, line }] of Object.entries(feeds)) {
    const file = join(dir, name);
    for (let from = 0; from < 250_000; from += 1000)
      appendFileSync(file, `${Array.from({ length: 1000 }, (_, at) => line(from + at)).join('\n')}\n`);
    global.gc?.();
    const blocked = watchLoop();
    const began = performance.now();
    const set = await readFeedInThread(
      { file, skipBytes: 0, format, key, maxBytes: 1e9 },
      { timeoutMs: 60_000 },
    );
    const tookMs = performance.now() - began;
    console.log(
      `${name}: ${set.indicators} in ${tookMs.toFixed(0)} ms, loop held for ${blocked().toFixed(1)} ms at most`,
    );
    sets.push({ name, set });
    rmSync(file);
  }
  const index = new ThreatIndex(sets);
  const kept = sets.reduce((sum, { set }) => sum + bytesOf(set), 0);
  console.log(`kept: ${index.indicators} in ${(kept / 1e6).toFixed(0)} MB`);

  const clean = Array.from({ length: 4096 }, () => ({
    host: `api.${word()}.example.com`,
    path: `/v1/${word()}/${word()}?q=${word()}`,
    isAddress: false,
  }));
  const listed = url();
  const onListed = sets
    .filter(({ name }) => name === 'urlhaus')
    .flatMap(({ set }) =>
      Array.from({ length: 4096 }, (_, at) => `http://${entryAt(set.entries, at).indicator}/x`),
    );
  const oddOnListed = onListed.map((it) => `${it}%20a//b`);
  const odd = clean.map(({ host, path }) => `https://${host}${path}%20a//b`);
  const addresses = Array.from({ length: 4096 }, ipv4);
  report('target', (at) => index.findTarget(clean[at % clean.length] ?? never()));
  report('text of a URL', (at) => index.findUrl(`${listed}?${at}`));
  report('text of an odd URL', (at) => index.findUrl(odd[at % odd.length] ?? ''));
  report('page on a host that has listed ones', (at) => index.findUrl(onListed[at % onListed.length] ?? ''));
  report('the same, odd', (at) => index.findUrl(oddOnListed[at % oddOnListed.length] ?? ''));
  report('address', (at) => index.findAddress(addresses[at % addresses.length] ?? ''));
  report('IPv6 address', () => index.findAddress('2606:2800:220:1:248:1893:25c8:1946'));
} finally {
  rmSync(dir, { recursive: true });
}

function bytesOf(set: IndicatorSet): number {
  const { entries, hosts, urls, urlHosts, ipv4, ipv6 } = set;
  return [entries, hosts, urls, { urlHosts }, ipv4, ipv6]
    .flatMap((part) => Object.values(part))
    .reduce<number>((sum, it) => sum + (ArrayBuffer.isView(it) ? it.byteLength : 0), 0);
}

function never(): never {
  throw new RangeError('nothing to ask');
}

/** The longest that a timer of 1 ms was late. */
function watchLoop(): () => number {
  let last = performance.now();
  let longest = 0;
  const timer = setInterval(() => {
    const now = performance.now();
    longest = Math.max(longest, now - last - 1);
    last = now;
  }, 1);
  return () => {
    clearInterval(timer);
    return longest;
  };
}

/** The least of the rounds: the noise of a shared machine only adds. */
function report(name: string, ask: (at: number) => unknown): void {
  let least = Infinity;
  for (let round = 0; round < rounds; round++) {
    const began = performance.now();
    for (let at = 0; at < perRound; at++) ask(at);
    least = Math.min(least, (1e6 * (performance.now() - began)) / perRound);
  }
  console.log(`${name}: ${least.toFixed(0)} ns`);
}
