import { once } from 'node:events';
import { cpSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import type http from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import t from 'tap';
import { startUpstream } from '../../support/upstream.ts';
import {
  type Answer,
  downloadTrusting,
  hourMs,
  sourceOf,
  startFeedServer,
  startFeeds,
  TestClock,
} from './feeds-daemon.ts';
import { fixture } from './reading.ts';

const good = 'evil.example\nhttp://host.example/page\n203.0.113.0/24\n';

t.test('a feed is fetched once and then only asked whether it has changed', async (t) => {
  const validators: readonly Readonly<Record<string, string>>[] = [
    { etag: '"one"' },
    { 'last-modified': 'Fri, 20 Nov 2026 10:00:00 GMT' },
  ];
  for (const headers of validators) {
    const server = await startFeedServer(t, { headers, body: good });
    const { feeds, clock } = await startFeeds(t, [sourceOf(`${server.origin}/feed`)], { dir: t.testdir() });
    t.match(feeds.health(), [
      { name: 'own', origin: server.origin, status: 'never', indicators: 0, ageMs: undefined },
    ]);
    t.match(await feeds.refresh('own'), {
      status: 'ok',
      indicators: 3,
      ageMs: 0,
      lastError: '',
      etag: headers['etag'] ?? '',
    });
    const { index } = feeds;
    t.match(index.findUrl('https://evil.example/'), { feed: 'own' });

    clock.nowMs += 1000;
    t.match(await feeds.refresh('own'), {
      status: 'ok',
      indicators: 3,
      ageMs: 0,
      lastSuccessMs: clock.nowMs,
    });
    t.equal(feeds.index, index, 'nothing was read again');
    const [first, second] = server.requests;
    t.equal(first?.headers['if-none-match'] ?? first?.headers['if-modified-since'], undefined);
    t.equal(
      second?.headers['if-none-match'] ?? second?.headers['if-modified-since'],
      Object.values(headers)[0],
    );

    server.answer = { headers: { etag: '"two"' }, body: 'worse.example\n' };
    t.match(await feeds.refresh('own'), { status: 'ok', indicators: 1, etag: '"two"' });
    t.equal(feeds.index.findUrl('https://evil.example/'), undefined);
    t.match(feeds.index.findUrl('https://worse.example/'), { feed: 'own' });
  }
});

t.test('content codings are taken off', async (t) => {
  const codings: Readonly<Record<string, (body: string) => Buffer>> = {
    gzip: gzipSync,
    'X-GZip': gzipSync,
    deflate: deflateSync,
    br: brotliCompressSync,
    identity: Buffer.from,
  };
  const server = await startFeedServer(t, {});
  const { feeds } = await startFeeds(t, [sourceOf(server.origin)], { dir: t.testdir() });
  for (const [coding, encode] of Object.entries(codings)) {
    server.answer = { headers: { 'content-encoding': coding }, body: encode(good) };
    t.match(await feeds.refresh('own'), { status: 'ok', indicators: 3 }, coding);
    server.answer = { headers: { 'content-encoding': coding }, body: encode('') };
    t.match(await feeds.refresh('own'), { status: 'failed', lastError: /empty/ }, `${coding} of nothing`);
  }
});

interface BadAnswer extends Answer {
  readonly name: string;
  readonly reason: RegExp;
}

const badAnswers: readonly BadAnswer[] = [
  { name: 'nothing', body: '', reason: /is empty/ },
  { name: 'HTML', body: '<html><body>Sign in</body></html>', reason: /HTML/ },
  { name: 'the whole internet', body: `${good}0.0.0.0/0\n`, reason: /line 4 .* 0\.0\.0\.0\/0/ },
  { name: 'a top-level domain', body: `com\n${good}`, reason: /line 1 .* com/ },
  { name: 'prose', body: 'Sorry, we moved\n', reason: /not in the format/ },
  { name: 'an error', status: 503, body: good, reason: /answered 503/ },
  { name: 'a refusal', status: 403, body: 'no', reason: /answered 403/ },
  { name: 'an unchanged that was not asked about', status: 304, reason: /answered 304/ },
  { name: 'part of it', status: 206, body: good, reason: /answered 206/ },
  {
    name: 'an unknown coding',
    headers: { 'content-encoding': 'zstd' },
    body: 'x',
    reason: /was not asked for/,
  },
  { name: 'a broken coding', headers: { 'content-encoding': 'gzip' }, body: 'x', reason: /broken or cut/ },
  {
    name: 'half a coding',
    headers: { 'content-encoding': 'gzip' },
    body: gzipSync(good).subarray(0, -9),
    reason: /broken or cut/,
  },
  {
    name: 'a bomb',
    headers: { 'content-encoding': 'br' },
    body: brotliCompressSync('evil.example\n'.repeat(200_000)),
    reason: /larger than 1000000 bytes/,
  },
  {
    name: 'a bomb in gzip',
    body: gzipSync('evil.example\n'.repeat(200_000)),
    reason: /larger than 1000000 bytes/,
  },
  { name: 'too much', body: 'evil.example\n'.repeat(200_000), reason: /larger than 1000000 bytes/ },
  {
    name: 'an elsewhere without TLS',
    status: 302,
    headers: { location: 'http://localhost/' },
    reason: /what is not https/,
  },
  {
    name: 'a file elsewhere',
    status: 302,
    headers: { location: 'file:///etc/passwd' },
    reason: /what is not https/,
  },
  { name: 'nowhere', status: 302, reason: /what is not https|more than 3 times/ },
  { name: 'itself', status: 307, headers: { location: '/again' }, reason: /more than 3 times/ },
];

t.test('whatever a server answers instead of a feed, the last good one stays', async (t) => {
  const server = await startFeedServer(t, { body: good });
  const dir = t.testdir();
  const { feeds, troubles, log } = await startFeeds(t, [sourceOf(server.origin)], {
    dir,
    maxBytes: 1_000_000,
  });
  await feeds.refresh('own');
  for (const { name, reason, ...answer } of badAnswers) {
    server.answer = answer;
    t.match(await feeds.refresh('own'), { status: 'failed', indicators: 3, lastError: reason }, name);
    t.match(feeds.index.findUrl('https://evil.example/'), { feed: 'own' }, `${name}: still found`);
    t.equal(feeds.index.findUrl('https://good.example.com/'), undefined, `${name}: nothing else is`);
  }
  t.equal(troubles.length, 1, 'it is told once');
  t.match(log(), /a threat feed was not refreshed/);
  t.equal(readdirSync(dir).length, 1, 'no draft is left');

  server.answer = { body: 'worse.example\n' };
  t.match(await feeds.refresh('own'), { status: 'ok', indicators: 1, lastError: '' });
  server.answer = { status: 500 };
  await feeds.refresh('own');
  t.equal(troubles.length, 2, 'and again when it fails anew');
});

t.test('redirects are followed three times, to https', async (t) => {
  const server = await startUpstream(t, ({ url = '' }, response) => {
    const left = Number(url.slice(1));
    if (left > 0) response.writeHead(302, { location: `/${left - 1}` });
    response.end(good);
  });
  const sources = [3, 4].map((times) => sourceOf(`${server.origin}/${times}`, { name: `${times} times` }));
  const { feeds } = await startFeeds(t, sources, { dir: t.testdir() });
  t.match(await feeds.refresh('3 times'), { status: 'ok' });
  t.match(await feeds.refresh('4 times'), { status: 'failed', lastError: /more than 3 times/ });
});

t.test('a server that sends without end is cut off, and so is one that sends nothing', async (t) => {
  const server = await startUpstream(t, async ({ url }, response) => {
    if (url === '/silent') return;
    response.on('error', () => {});
    while (!response.destroyed) {
      if (!response.write('evil.example\n'.repeat(5000)))
        await Promise.race([once(response, 'drain'), once(response, 'close')]);
    }
  });
  const endless = await startFeeds(t, [sourceOf(`${server.origin}/endless`)], {
    dir: t.testdir(),
    maxBytes: 3_000_000,
  });
  t.match(await endless.feeds.refresh('own'), { status: 'failed', lastError: /larger than 3000000 bytes/ });
  const silent = await startFeeds(t, [sourceOf(`${server.origin}/silent`)], {
    dir: t.testdir(),
    fetchTimeoutMs: 300,
  });
  t.match(await silent.feeds.refresh('own'), {
    status: 'failed',
    lastError: 'The feed did not arrive in time.',
  });
});

t.test('an answer that breaks off is refused', async (t) => {
  const server = await startUpstream(t, (_request, response) => {
    response.writeHead(200, { 'content-length': '1000' });
    response.write(good, () => response.destroy());
  });
  const { feeds } = await startFeeds(t, [sourceOf(server.origin)], { dir: t.testdir() });
  t.match(await feeds.refresh('own'), {
    status: 'failed',
    indicators: 0,
    lastError: 'The upstream closed the connection in the middle of its answer.',
  });
});

t.test('a server that cannot prove who it is is refused', async (t) => {
  const server = await startFeedServer(t, { body: good });
  const { feeds } = await startFeeds(t, [sourceOf(server.origin)], {
    dir: t.testdir(),
    download: downloadTrusting([]),
  });
  t.match(await feeds.refresh('own'), { status: 'failed', lastError: /^TLS with the upstream failed: / });
  t.equal(server.requests.length, 0);
});

t.test('what the URL holds beyond its origin is told nowhere', async (t) => {
  const secret = `key-${Math.random().toString(36).slice(2)}`;
  const server = await startFeedServer(t, { body: good });
  const files = t.testdir();
  const urls = [
    `${server.origin}/${secret}/feed?apikey=${secret}`,
    `https://localhost:1/${secret}`,
    `https://${secret}:${secret}@localhost:1/`,
    pathToFileURL(join(files, secret)).href,
  ];
  const sources = urls.map((url, at) => sourceOf(url, { name: `feed-${at}` }));
  const dir = join(files, 'kept');
  const { feeds, troubles, log } = await startFeeds(t, sources, { dir });
  for (const { name } of sources) await feeds.refresh(name);
  server.answer = { status: 302, headers: { location: `http://localhost/${secret}` } };
  await feeds.refresh('feed-0');
  t.match(
    feeds.health().map((it) => it.status),
    ['failed', 'failed', 'failed', 'failed'],
  );
  t.notMatch(JSON.stringify([feeds.health(), troubles, log()]), new RegExp(secret));
  for (const name of readdirSync(dir)) t.notMatch(name + textOf(join(dir, name)), new RegExp(secret));
});

t.test('a daemon that starts again knows what it knew', async (t) => {
  const server = await startFeedServer(t, { headers: { etag: '"one"' }, body: good });
  const dir = t.testdir();
  const clock = new TestClock();
  const source = sourceOf(`${server.origin}/a`);
  const before = await startFeeds(t, [source], { dir, clock });
  await before.feeds.refresh('own');
  await before.feeds.close();
  clock.nowMs += 1000;

  const after = await startFeeds(t, [source], { dir, clock });
  t.match(after.feeds.health(), [{ status: 'ok', indicators: 3, ageMs: 1000, etag: '"one"' }]);
  t.match(after.feeds.index.findAddress('203.0.113.9'), { feed: 'own' });
  t.equal(server.requests.length, 1, 'nothing is fetched before it is due');
  await after.feeds.refresh('own');
  t.equal(server.requests[1]?.headers['if-none-match'], '"one"');

  const other = await startFeeds(t, [sourceOf(`${server.origin}/b`)], { dir, clock });
  t.match(
    other.feeds.health(),
    [{ status: 'never', indicators: 0 }],
    'what was kept of another URL does not count',
  );
  const format = await startFeeds(t, [{ ...source, format: 'cidr' }], { dir, clock });
  t.match(format.feeds.health(), [{ status: 'never', indicators: 0 }], 'nor what was read in another format');
});

t.test('a crash in the middle of writing leaves the last good one', async (t) => {
  let half: (() => void) | undefined;
  const server = await startUpstream(t, (_request, response) => {
    if (half === undefined) return void response.end(good);
    response.write('half.example\n'.repeat(10_000), half);
  });
  const root = t.testdir({ kept: {} });
  const dir = join(root, 'kept');
  const source = sourceOf(server.origin);
  const running = await startFeeds(t, [source], { dir });
  await running.feeds.refresh('own');

  const sent = new Promise<void>((resolve) => {
    half = resolve;
  });
  const underWay = running.feeds.refresh('own');
  await sent;
  while (readdirSync(dir).length < 2 || draftBytes(dir) < 1000) await new Promise(setImmediate);
  const crashed = join(root, 'crashed');
  cpSync(dir, crashed, { recursive: true, preserveTimestamps: true });

  const { feeds } = await startFeeds(t, [source], { dir: crashed });
  t.match(feeds.health(), [{ status: 'ok', indicators: 3 }]);
  t.equal(feeds.index.findUrl('https://half.example/'), undefined);
  t.equal(readdirSync(crashed).length, 1, 'the half is removed');
  await running.feeds.close();
  t.match(await underWay, { indicators: 3 });
});

t.test('a last good text that was spoilt on disk is not taken, and fetched anew', async (t) => {
  const server = await startFeedServer(t, { headers: { etag: '"one"' }, body: good });
  const dir = t.testdir();
  const source = sourceOf(server.origin);
  const first = await startFeeds(t, [source], { dir });
  await first.feeds.refresh('own');
  await first.feeds.close();
  const [name = ''] = readdirSync(dir);
  const head = textOf(join(dir, name)).split('\n')[0] ?? '';

  for (const spoilt of [
    '',
    '\n',
    'no JSON\nevil.example\n',
    '{}\nevil.example\n',
    `${head}\n<html>`,
    head,
    `${head}\n`,
  ]) {
    writeFileSync(join(dir, name), spoilt);
    const { feeds } = await startFeeds(t, [source], { dir });
    t.match(feeds.health(), [{ indicators: 0 }], JSON.stringify(spoilt));
    t.match(await feeds.refresh('own'), { status: 'ok', indicators: 3 });
    t.equal(server.requests.at(-1)?.headers['if-none-match'], undefined);
    await feeds.close();
  }

  const { feeds } = await startFeeds(t, [source], { dir });
  rmSync(join(dir, name));
  t.match(
    await feeds.refresh('own'),
    { status: 'failed', indicators: 3, lastError: /ENOENT/ },
    'unchanged, but gone',
  );
  t.match(await feeds.refresh('own'), { status: 'ok', indicators: 3 });
  t.ok(statSync(join(dir, name)).isFile());
});

t.test('a file is read when it has changed', async (t) => {
  const root = t.testdir({ 'own.txt': good, folder: {} });
  const file = join(root, 'own.txt');
  const sources = [
    sourceOf(pathToFileURL(file).href),
    sourceOf(pathToFileURL(join(root, 'folder')).href, { name: 'folder' }),
    sourceOf('file:///dev/zero', { name: 'device' }),
    sourceOf(pathToFileURL(join(root, 'none')).href, { name: 'none' }),
  ];
  const { feeds } = await startFeeds(t, sources, { dir: join(root, 'kept') });
  t.match(await feeds.refresh('own'), { status: 'ok', indicators: 3, origin: 'file:' });
  const { index } = feeds;
  await feeds.refresh('own');
  t.equal(feeds.index, index, 'unchanged');
  writeFileSync(file, gzipSync(`${good}more.example\n`));
  t.match(await feeds.refresh('own'), { status: 'ok', indicators: 4 });
  t.match(await feeds.refresh('folder'), { lastError: /not a regular file/ });
  t.match(await feeds.refresh('device'), { lastError: /not a regular file/ });
  t.match(await feeds.refresh('none'), { lastError: 'The file of the feed does not exist.' });
  t.equal(await feeds.refresh('unknown'), undefined);
});

t.test('feeds are fetched by schedule, with one timer for all', async (t) => {
  const server = await startFeedServer(t, { body: good });
  const sources = ['a', 'b'].map((name) => sourceOf(`${server.origin}/${name}`, { name }));
  const { feeds, clock } = await startFeeds(t, sources, { dir: t.testdir() });
  const settled = () => Promise.all(sources.map(({ name }) => feeds.refresh(name)));
  t.equal(clock.timers, 1);
  clock.advance(0);
  await settled();
  t.equal(server.requests.length, 2, 'at once, where nothing is kept; and one flight for all who ask');

  clock.advance(hourMs - 1);
  t.equal(clock.timers, 1);
  t.equal(server.requests.length, 2, 'not before it is due');
  clock.advance(1);
  await settled();
  t.equal(server.requests.length, 4);

  server.answer = { status: 500 };
  clock.advance(hourMs);
  await settled();
  const waits: number[] = [];
  for (let times = 0; times < 8; times++) {
    const dueInMs = (feeds.health()[0]?.nextFetchMs ?? 0) - clock.nowMs;
    waits.push(dueInMs / 60_000);
    clock.advance(dueInMs);
    await settled();
  }
  t.strictSame(waits, [1, 2, 4, 8, 16, 32, 60, 60], 'minutes between tries, up to the interval');
});

t.test('a clock that is set back does not put fetches off', async (t) => {
  const server = await startFeedServer(t, { body: good });
  const dir = t.testdir();
  const { feeds, clock } = await startFeeds(t, [sourceOf(server.origin)], { dir });
  await feeds.refresh('own');
  clock.nowMs -= 1000 * hourMs;
  await feeds.use([sourceOf(server.origin)]);
  clock.advance(2 * hourMs);
  await feeds.refresh('own');
  t.ok(server.requests.length > 1, 'while it runs');
  await feeds.close();

  const early = new TestClock();
  early.nowMs -= 2000 * hourMs;
  const again = await startFeeds(t, [sourceOf(server.origin)], { dir, clock: early });
  t.match(
    again.feeds.health(),
    [{ status: 'ok', ageMs: 0, nextFetchMs: early.nowMs + hourMs }],
    'when it starts',
  );
});

t.test('jitter stays within a tenth of the interval', async (t) => {
  const server = await startFeedServer(t, { body: good });
  for (const [random, minutes] of [
    [0, 54],
    [1, 66],
  ] as const) {
    const { feeds, clock } = await startFeeds(t, [sourceOf(server.origin)], {
      dir: t.testdir(),
      random: () => random,
    });
    const health = await feeds.refresh('own');
    t.equal((health?.nextFetchMs ?? 0) - clock.nowMs, minutes * 60_000);
  }
});

t.test('a feed that is not refreshed for three intervals is stale, which is told once', async (t) => {
  const server = await startFeedServer(t, { body: good });
  const { feeds, clock, troubles } = await startFeeds(t, [sourceOf(server.origin)], { dir: t.testdir() });
  await feeds.refresh('own');
  server.answer = { status: 500 };
  for (let times = 0; times < 6; times++) {
    clock.advance(hourMs);
    await feeds.refresh('own');
  }
  t.match(troubles, [{ status: 'failed' }, { status: 'stale', indicators: 3, lastError: /500/ }]);
  t.equal(troubles.length, 2);
  t.match(feeds.index.findUrl('https://evil.example/'), { feed: 'own' }, 'and still of use');

  server.answer = { body: good };
  t.match(await feeds.refresh('own'), { status: 'ok', ageMs: 0 });
});

t.test('goes on with other feeds without reading anew what stayed', async (t) => {
  const server = await startFeedServer(t, { body: good });
  const dir = t.testdir();
  const [kept, left] = ['kept', 'left'].map((name) => sourceOf(`${server.origin}/${name}`, { name }));
  if (!kept || !left) return t.fail('two sources');
  const { feeds } = await startFeeds(t, [kept, left], { dir });
  await Promise.all([feeds.refresh('kept'), feeds.refresh('left')]);
  const added = sourceOf(`${server.origin}/added`, { name: 'added' });
  await feeds.use([{ ...kept }, added]);
  t.match(feeds.health(), [
    { name: 'kept', status: 'ok', indicators: 3 },
    { name: 'added', status: 'never' },
  ]);
  t.equal(feeds.index.indicators, 3);
  t.equal(await feeds.refresh('left'), undefined);
  await feeds.use([]);
  t.equal(feeds.index.indicators, 0);
  await feeds.use([left]);
  t.match(feeds.health(), [{ name: 'left', status: 'ok' }], 'from its last good text');
});

t.test('closing ends what is under way', async (t) => {
  let asked: ((request: http.IncomingMessage) => void) | undefined;
  const arrived = new Promise<http.IncomingMessage>((resolve) => {
    asked = resolve;
  });
  const server = await startUpstream(t, (request, response) => {
    response.write('half.example\n');
    asked?.(request);
  });
  const dir = t.testdir();
  const { feeds, clock, troubles } = await startFeeds(t, [sourceOf(server.origin)], { dir });
  const underWay = feeds.refresh('own');
  const request = await arrived;
  const cut = once(request.socket, 'close');
  await feeds.close();
  await cut;
  t.match(await underWay, { indicators: 0 });
  t.equal(clock.timers, 0);
  t.strictSame(troubles, []);
  t.strictSame(readdirSync(dir), []);
  t.equal(await feeds.refresh('own'), undefined);
});

t.test('reads a real feed of each host in its thread', async (t) => {
  const dir = t.testdir();
  const formats = ['urlhaus', 'openphish', 'phishtank', 'feodo', 'spamhaus_drop', 'otx'] as const;
  const files = [
    'urlhaus.csv',
    'openphish.txt',
    'phishtank.json',
    'feodo.json',
    'spamhaus_drop_v4.jsonl',
    'otx.json',
  ];
  const bodies: Readonly<Record<string, Buffer>> = Object.fromEntries(
    formats.map((name, at) => [`/${name}`, fixture(files[at] ?? '')]),
  );
  const server = await startUpstream(t, ({ url = '' }, response) => void response.end(bodies[url]));
  const sources = formats.map((name) => sourceOf(`${server.origin}/${name}`, { name, format: name }));
  const { feeds } = await startFeeds(t, sources, { dir });
  const healths = await Promise.all(formats.map((name) => feeds.refresh(name)));
  t.strictSame(
    healths.map((it) => it?.indicators),
    [3, 3, 2, 2, 2, 4],
  );
  t.match(feeds.index.findAddress('203.0.113.21'), { feed: 'feodo', threat: 'botnet QakBot' });
  t.match(feeds.index.findAddress('203.0.113.22'), {
    feed: 'spamhaus_drop',
    reference: /sbl\/query\/SBL900001$/,
  });
});

const textOf = (file: string): string => readFileSync(file, 'utf8');

function draftBytes(dir: string): number {
  const draft = readdirSync(dir).find((name) => name.endsWith('.draft'));
  return draft === undefined ? 0 : statSync(join(dir, draft)).size;
}

t.test('of several processes one fetches, and all know what any has fetched', async (t) => {
  const server = await startFeedServer(t, { headers: { etag: '"one"' }, body: good });
  const dir = t.testdir();
  const sources = [sourceOf(server.origin)];
  const leader = await startFeeds(t, sources, { dir, part: 'leader' });
  const follower = await startFeeds(t, sources, { dir, part: 'follower' });
  /** Looks as often as it takes: far fewer times than fill an hour. */
  const looking = async ({ clock, feeds }: typeof leader, url: string) => {
    while (feeds.index.findUrl(url) === undefined) {
      clock.advance(2_000);
      await sleep(10);
    }
  };
  await looking(leader, 'https://evil.example/');
  await looking(follower, 'https://evil.example/');
  t.equal(server.requests.length, 1, 'fetched once');
  t.match(follower.feeds.health(), [{ status: 'ok', indicators: 3, etag: '"one"' }]);

  server.answer = { headers: { etag: '"two"' }, body: 'worse.example\n' };
  leader.clock.advance(hourMs);
  await looking(leader, 'https://worse.example/');
  await looking(follower, 'https://worse.example/');
  t.equal(server.requests.length, 2, 'and once when it is due again');

  server.answer = { headers: { etag: '"three"' }, body: 'worst.example\n' };
  t.match(await follower.feeds.refresh('own'), { status: 'ok', etag: '"three"' }, 'whoever is asked to');
  await looking(leader, 'https://worst.example/');
  t.equal(server.requests.length, 3);
});
