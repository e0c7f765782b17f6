import assert from 'node:assert/strict';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import t from 'tap';
import type { FeedFormat } from '../../../src/risk/feeds/formats/index.ts';
import { FeedRefused } from '../../../src/risk/feeds/refused.ts';
import { fixture, listOf, type Reading, read } from './reading.ts';

const html =
  '<!DOCTYPE html>\n<html><head><title>Rate limited</title></head><body>Come back later.</body></html>\n';
const cut = (file: string): Buffer => fixture(file).subarray(0, -40);

interface Case extends Reading {
  readonly name: string;
  readonly format: FeedFormat;
  readonly feed: string | Buffer;
  readonly reason: RegExp;
}

const refused: readonly Case[] = [
  { name: 'nothing', format: 'urlhaus', feed: '', reason: /is empty/ },
  { name: 'nothing behind gzip', format: 'urlhaus', feed: gzipSync(''), reason: /is empty/ },
  { name: 'blank lines', format: 'openphish', feed: '\n\n\n', reason: /lists no indicators/ },
  {
    name: 'comments alone',
    format: 'feodo',
    feed: '# nothing today\n# END 0 entries\n',
    reason: /lists no indicators/,
  },
  { name: 'an empty array', format: 'phishtank', feed: '[]', reason: /lists no indicators/ },
  { name: 'a header alone', format: 'phishtank', feed: 'phish_id,url\n', reason: /lists no indicators/ },
  { name: 'HTML instead of CSV', format: 'urlhaus', feed: html, reason: /is HTML or XML/ },
  { name: 'HTML instead of text', format: 'openphish', feed: `\ufeff\r\n ${html}`, reason: /is HTML or XML/ },
  { name: 'HTML instead of JSON', format: 'phishtank', feed: html, reason: /is HTML or XML/ },
  {
    name: 'HTML behind a comment',
    format: 'urlhaus',
    feed: `# hello\n${html}`,
    reason: /2 of 2 entries are not readable/,
  },
  {
    name: 'prose',
    format: 'openphish',
    feed: 'Too many requests, sorry\n',
    reason: /not in the format.*first at line 1/,
  },
  { name: 'a ZIP archive', format: 'urlhaus', feed: 'PK\x03\x04\x14\x00\x00', reason: /is a ZIP archive/ },
  { name: 'binary', format: 'lines', feed: Buffer.from([1, 0, 2, 10]), reason: /is no text/ },
  { name: 'truncated JSON', format: 'phishtank', feed: cut('phishtank.json'), reason: /ends in the middle/ },
  {
    name: 'JSON cut between values',
    format: 'feodo',
    feed: '[{"ip_address":"203.0.113.1"},',
    reason: /ends in the middle/,
  },
  {
    name: 'JSON that goes on',
    format: 'feodo',
    feed: '[{"ip_address":"203.0.113.1"}] []',
    reason: /mistake at line 1/,
  },
  { name: 'JSON with a comma too many', format: 'feodo', feed: '[\n1,\n]', reason: /mistake at line 3/ },
  { name: 'JSON with a word', format: 'feodo', feed: '[nothing]', reason: /mistake at line 1/ },
  {
    name: 'JSON with a bad escape',
    format: 'feodo',
    feed: '[{"ip_address":"\\x"}]',
    reason: /mistake at line 1/,
  },
  { name: 'JSON with brackets that differ', format: 'feodo', feed: '[{"a":1]}', reason: /mistake/ },
  { name: 'deep JSON', format: 'json', feed: '['.repeat(65), reason: /nests deeper than 64/ },
  { name: 'an endless number', format: 'json', feed: `[${'1'.repeat(1001)}]`, reason: /mistake/ },
  {
    name: 'a quote that does not end',
    format: 'otx',
    feed: cut('otx.csv').subarray(0, -30),
    reason: /quoted field/,
  },
  { name: 'a long quote', format: 'phishtank', feed: `"${'x\n'.repeat(40_000)}`, reason: /does not end/ },
  { name: 'a row that is cut', format: 'phishtank', feed: cut('phishtank.csv'), reason: /middle of a row/ },
  {
    name: 'a row of many fields',
    format: 'csv',
    feed: `url${','.repeat(70)}\n`,
    reason: /more than 64 fields/,
  },
  { name: 'columns without names', format: 'csv', feed: 'a,b\n1,2\n', reason: /names no column/ },
  {
    name: 'JSON lines without their last',
    format: 'spamhaus_drop',
    feed: '{"cidr":"203.0.113.0/25","sblid":"SBL1"}\n',
    reason: /without the line that says/,
  },
  {
    name: 'JSON lines with fewer than they say',
    format: 'spamhaus_drop',
    feed: '{"cidr":"203.0.113.0/25"}\n{"type":"metadata","records":1692}\n',
    reason: /says that it has 1692 records and has 1/,
  },
  {
    name: 'broken gzip',
    format: 'lines',
    feed: gzipSync('a.example\n').subarray(0, -5),
    reason: /gzip .* broken or cut/,
  },
  {
    name: 'a gzip bomb',
    format: 'lines',
    feed: gzipSync('a.example\n'.repeat(1_000_000)),
    maxBytes: 1_000_000,
    reason: /larger than 1000000 bytes/,
  },
  {
    name: 'more than it may have',
    format: 'lines',
    feed: 'a.example\n',
    maxBytes: 9,
    reason: /larger than 9 bytes/,
  },
  {
    name: 'one line without end',
    format: 'lines',
    feed: 'a'.repeat(100_000),
    chunkBytes: 1000,
    reason: /1 of 1 entries are not readable, first at line 1/,
  },
  {
    name: 'all of the internet',
    format: 'cidr',
    feed: '203.0.113.1\n0.0.0.0/0\n',
    reason: /At line 2 .* 0\.0\.0\.0\/0/,
  },
  { name: 'all of IPv6', format: 'lines', feed: '::/0', reason: /wider than \/16/ },
  {
    name: 'a block of IPv6 that nobody has',
    format: 'spamhaus_drop',
    feed: '2600::/12 ; SBL1',
    reason: /wider than \/16/,
  },
  { name: 'two blocks of IPv4', format: 'spamhaus_drop', feed: '8.0.0.0/7 ; SBL1', reason: /wider than \/8/ },
  {
    name: 'all of the internet in parts',
    format: 'cidr',
    feed: Array.from({ length: 40 }, (_, at) => `${at + 20}.0.0.0/8`).join('\n'),
    reason: /more than an eighth of all addresses/,
  },
  {
    name: 'a top-level domain',
    format: 'lines',
    feed: 'bad.example\ncom\n',
    reason: /At line 2 the feed lists com/,
  },
  { name: 'one with a star', format: 'lines', feed: '*.com', reason: /lists com/ },
  {
    name: 'one with a dot',
    format: 'otx',
    feed: 'Indicator type,Indicator\ndomain,COM.\n',
    reason: /lists com/,
  },
  { name: 'a public suffix of two labels', format: 'lines', feed: 'co.uk', reason: /lists co\.uk/ },
  { name: 'one of another alphabet', format: 'lines', feed: 'рф', reason: /lists xn--p1ai/ },
];

for (const { name, format, feed, reason, ...options } of refused) {
  t.test(`refuses ${name}`, async (t) => {
    await t.rejects(read(format, feed, options), { name: 'FeedRefused', message: reason });
  });
}

t.test('reasons do not quote the feed', async (t) => {
  const error = await read('lines', 'https user:hunter2 at nowhere\n').catch(String);
  t.match(error, /FeedRefused/);
  t.notMatch(error, /hunter2/);
});

const dropped: readonly (readonly [name: string, entry: string])[] = [
  ['this machine', 'localhost'],
  ['below it', 'app.localhost'],
  ['a bare name', 'intranet'],
  ['loopback', '127.0.0.1'],
  ['loopback of IPv6', '::1'],
  ['no address', '0.0.0.0'],
  ['a private network', '10.0.0.0/8'],
  ['a part of one', '192.168.7.0/24'],
  ['what has one in it', '172.0.0.0/8'],
  ['link-local', 'fe80::/64'],
  ['a metadata service', '169.254.169.254'],
  ['a group', '224.0.0.1'],
  ['unique local addresses', 'fd00::/32'],
  ['loopback, mapped', '::ffff:127.0.0.1'],
  ['a suffix that strangers share', 'github.io'],
  ['a shared host', 'github.com'],
  ['with www', 'www.google.com'],
  ['its root as a page', 'https://api.openai.com/'],
  ['the root with a port', 'http://drive.google.com:8080'],
  ['a resolver of all', '8.8.8.8'],
  ['its root', 'http://8.8.8.8/'],
  ['a page on this machine', 'http://localhost:3000/x'],
  ['a page on a private address', 'http://192.168.1.1/login'],
  ['the same, spelt oddly', 'http://0xc0a80101/login'],
  ['the root of a top-level domain', 'http://com/'],
];

for (const [name, entry] of dropped) {
  t.test(`drops ${name}: ${entry}`, async (t) => {
    const set = await read('lines', `${entry}\nkept.example\n`);
    t.match(set, { indicators: 1, dropped: 1, malformed: 0 });
    t.strictSame(listOf(set), ['host kept.example - -']);
  });
}

const kept = [
  'https://github.com/somebody/payload/raw/main/x.exe',
  'https://docs.google.com/forms/d/e/abc/viewform',
  'someone.github.io',
  'bucket.s3.amazonaws.com',
  '203.0.113.0/24',
  '20.0.0.0/8',
];
for (const entry of kept) {
  t.test(`keeps ${entry}`, async (t) => {
    t.match(await read('lines', entry), { indicators: 1, dropped: 0 });
  });
}

t.test('whatever is done to a feed, it is read or refused with a reason', async (t) => {
  const files = [
    'urlhaus.csv',
    'urlhaus.json',
    'phishtank.json',
    'phishtank.csv',
    'feodo.csv',
    'otx.json',
    'otx.csv',
  ];
  const bytes = fc.array(fc.constantFrom(...Buffer.from('{}[]",:\\\n\r#;/. a0\0\xff\x1f\x8b', 'latin1')), {
    maxLength: 4,
  });
  const spoilt = fc.tuple(
    fc.constantFrom(...files),
    fc.nat(3000),
    fc.nat(40),
    bytes,
    fc.integer({ min: 1, max: 999 }),
  );
  const property = fc.asyncProperty(spoilt, async ([file, at, length, put, chunkBytes]) => {
    const whole = fixture(file);
    const from = at % whole.length;
    const feed = Buffer.concat([whole.subarray(0, from), Buffer.from(put), whole.subarray(from + length)]);
    const format = (/^[a-z]+/.exec(file)?.[0] ?? '') as FeedFormat;
    const [inPieces, atOnce] = await Promise.all([
      outcome(format, feed, chunkBytes),
      outcome(format, feed, 1 << 20),
    ]);
    assert.deepEqual(inPieces, atOnce);
  });
  await t.resolves(fc.assert(property, { numRuns: 500 }));
});

async function outcome(format: FeedFormat, feed: Buffer, chunkBytes: number): Promise<unknown> {
  try {
    return listOf(await read(format, feed, { chunkBytes }));
  } catch (error) {
    // For which of its mistakes depends on what came together.
    if (error instanceof FeedRefused) return 'refused';
    throw error;
  }
}

t.test('refuses more indicators than it keeps', async (t) => {
  const address = (at: number): string => `20.${at >>> 16}.${(at >>> 8) & 255}.${at & 255}\n`;
  const addresses = Array.from({ length: 2_000_001 }, (_, at) => address(at)).join('');
  await t.rejects(read('cidr', addresses), { message: /more than 2000000 indicators/ });
});
