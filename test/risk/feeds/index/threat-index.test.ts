import fc from 'fast-check';
import t from 'tap';
import { parseTarget } from '../../../../src/core/target.ts';
import type { IndicatorSet } from '../../../../src/risk/feeds/index/indicator-set.ts';
import { newHashKey } from '../../../../src/risk/feeds/index/keyed-hash.ts';
import { findEntry, type TextTable } from '../../../../src/risk/feeds/index/text-table.ts';
import { ThreatIndex } from '../../../../src/risk/feeds/index/threat-index.ts';
import { readFeed } from '../../../../src/risk/feeds/read-feed.ts';
import { read } from '../reading.ts';

const indexOf = async (...entries: string[]): Promise<ThreatIndex> =>
  new ThreatIndex([{ name: 'own', set: await read('lines', entries.join('\n')) }]);

interface Case {
  readonly listed: string;
  readonly hits: readonly string[];
  readonly misses: readonly string[];
}

const urls: readonly Case[] = [
  {
    listed: 'evil.example',
    hits: [
      'https://evil.example/',
      'http://EVIL.example.:8080/x?y',
      'https://a.b.c.d.e.f.g.evil.example/x',
      'wss://evil.example/socket',
    ],
    misses: [
      'https://notevil.example/',
      'https://evil.example.com/',
      'https://example/',
      'https://x/evil.example',
    ],
  },
  {
    listed: 'http://host.example/a/b.exe',
    hits: [
      'https://host.example/a/b.exe',
      'https://host.example/a/b.exe?x=1',
      'https://www.host.example/a/b.exe',
      'https://host.example//a/./b%2eexe',
      'https://host.example/x/..%2fa/b.exe',
      'http://host.example:8080/a/b.exe#there',
    ],
    misses: [
      'https://host.example/',
      'https://host.example/a/',
      'https://host.example/a/b.exe/c',
      'https://host.example/a/b.exec',
      'https://host.example/A/b.exe',
      'https://example/a/b.exe',
    ],
  },
  {
    listed: 'http://host.example/a/b/',
    hits: ['https://host.example/a/b/', 'https://host.example/a/b/c/d?e', 'https://host.example/a/b/?q=/'],
    misses: ['https://host.example/a/b', 'https://host.example/a/bc/', 'https://host.example/a/?x=/a/b/'],
  },
  {
    listed: 'http://host.example/p?id=1',
    hits: ['https://host.example/p?id=1', 'https://host.example/p?id=%31'],
    misses: ['https://host.example/p', 'https://host.example/p?id=2', 'https://host.example/p?id=1&x'],
  },
  {
    listed: 'http://host.example/',
    hits: ['https://host.example', 'https://host.example/x/y', 'https://sub.host.example/?z'],
    misses: ['https://other.example/'],
  },
  {
    listed: 'http://203.0.113.7/x',
    hits: [
      'http://203.0.113.7/x',
      'http://0xcb007107/x?y',
      'http://203.0.28935/x',
      'http://[::ffff:203.0.113.7]/x',
      'http://[64:ff9b::cb00:7107]/x',
    ],
    misses: ['http://203.0.113.7/', 'http://1.203.0.113.7.example/x', 'http://203.0.113.8/x'],
  },
  {
    listed: '203.0.113.0/24',
    hits: [
      'http://203.0.113.0/',
      'https://203.0.113.255/',
      'https://[::ffff:203.0.113.9]/',
      'https://[64:ff9b::cb00:7101]/',
    ],
    misses: ['http://203.0.112.255/', 'http://203.0.114.0/', 'https://[2001:db8::cb00:7101]/'],
  },
  {
    listed: '2001:db8:8000::/33',
    hits: ['https://[2001:db8:8000::]/', 'https://[2001:db8:ffff:ffff:ffff:ffff:ffff:ffff]/x'],
    misses: ['https://[2001:db8:7fff:ffff:ffff:ffff:ffff:ffff]/', 'https://[2001:db9::]/'],
  },
];

for (const { listed, hits, misses } of urls) {
  t.test(`${listed} is found where it should`, async (t) => {
    const index = await indexOf(listed);
    for (const url of hits) {
      t.match(index.findUrl(url), { feed: 'own' }, url);
      t.strictSame(index.findTarget(parseTarget(url)), index.findUrl(url), `${url} as a call`);
    }
    for (const url of misses) {
      t.equal(index.findUrl(url), undefined, url);
      t.equal(index.findTarget(parseTarget(url)), undefined, `${url} as a call`);
    }
  });
}

t.test('addresses are found in ranges, whichever is the wider', async (t) => {
  const index = await indexOf(
    '198.51.100.0/28',
    '198.51.100.4',
    '198.51.100.0/24',
    '203.0.113.1',
    '2001:db8::1',
    '2002:cb00:7105::/48',
    '203.0.113.5',
  );
  const want: Readonly<Record<string, string | undefined>> = {
    '198.51.100.4': '198.51.100.0/24',
    '198.51.100.255': '198.51.100.0/24',
    '198.51.101.0': undefined,
    '203.0.113.1': '203.0.113.1',
    '203.0.113.2': undefined,
    '255.255.255.255': undefined,
    '0.0.0.0': undefined,
    '2001:db8::1': '2001:db8::1',
    '2001:0DB8:0::0001': '2001:db8::1',
    '2001:db8::2': undefined,
    '::ffff:203.0.113.1': '203.0.113.1',
    '64:ff9b::203.0.113.1': '203.0.113.1',
    '2002:cb00:7105::9': '2002:cb00:7105::/48',
    '2002:cb00:7101::9': '203.0.113.1',
    '2001:db8::1%eth0': undefined,
    'evil.example': undefined,
    '': undefined,
  };
  for (const [address, listed] of Object.entries(want))
    t.equal(index.findAddress(address)?.indicator, listed, address);
});

t.test('the first of several feeds answers, with what it says', async (t) => {
  const phish = await read('phishtank', 'phish_id,url,target\n12,http://evil.example/a,Acme\n');
  const hosts = await read('csv', 'host,category\nevil.example,scam\n');
  const index = new ThreatIndex([
    { name: 'phishtank', set: phish },
    { name: 'hosts', set: hosts },
  ]);
  t.equal(index.indicators, 2);
  t.strictSame(index.findUrl('https://evil.example/a?b'), {
    feed: 'phishtank',
    kind: 'url',
    indicator: 'evil.example/a',
    reference: 'https://phishtank.org/phish_detail.php?phish_id=12',
    threat: 'phishing for Acme',
  });
  t.match(index.findTarget({ host: 'www.evil.example', path: '/', isAddress: false }), {
    feed: 'hosts',
    kind: 'host',
    indicator: 'evil.example',
    reference: '',
  });
});

t.test('an empty index finds nothing', async (t) => {
  const index = new ThreatIndex([]);
  t.equal(index.findUrl('https://evil.example/'), undefined);
  t.equal(index.findAddress('203.0.113.1'), undefined);
  t.equal(index.indicators, 0);
});

t.test('refuses sets of several keys, which could not be asked together', async (t) => {
  async function* feed(): AsyncGenerator<Buffer> {
    yield Buffer.from('other.example\n');
  }
  const other = await readFeed(feed(), { format: 'lines', key: newHashKey(), maxBytes: 1000 });
  const sets = [
    { name: 'a', set: await read('lines', 'a.example') },
    { name: 'b', set: other },
  ];
  t.throws(() => new ThreatIndex(sets), /share their key/);
});

/** As if an attacker knew the key: every hash the same. */
const colliding = (set: IndicatorSet): IndicatorSet => {
  for (const { slots, hashes } of [set.hosts, set.urls]) {
    const entries = [...slots].filter((slot) => slot !== 0);
    slots.fill(0).set(entries);
    hashes.fill(0);
  }
  return set;
};

t.test('a hash alone never hits: what it finds is compared with the text', async (t) => {
  const set = colliding(await read('lines', 'a.example\nb.example\nhttp://c.example/d\n'));
  const found = (table: TextTable, host: string, path: string): boolean =>
    findEntry(table, 0, set.entries, host, 0, path, path.length) >= 0;
  t.ok(found(set.hosts, 'a.example', ''));
  t.ok(found(set.hosts, 'b.example', ''));
  t.notOk(found(set.hosts, 'z.example', ''));
  t.ok(found(set.urls, 'c.example', '/d'));
  t.notOk(found(set.urls, 'c.example', '/e'));
});

t.test('finds the same as a plain comparison would', async (t) => {
  const label = fc.constantFrom('a', 'b', 'cc', 'x-1');
  const host = fc.array(label, { minLength: 1, maxLength: 4 }).map((labels) => `${labels.join('.')}.example`);
  const path = fc
    .array(fc.constantFrom('p', 'q', ''), { maxLength: 3 })
    .map((parts) => `/${parts.join('/')}`.replace(/\/+/g, '/'));
  const entry = fc.oneof(
    host,
    fc.tuple(host, path).map(([h, p]) => `http://${h}${p}`),
  );
  const isListed = (listed: string, h: string, p: string): boolean => {
    const [, listedHost = '', listedPath = ''] = /^(?:http:\/\/)?([^/]*)(.*)$/.exec(listed) ?? [];
    const isHost = h === listedHost || h.endsWith(`.${listedHost}`);
    return (
      isHost &&
      (p === listedPath || listedPath === '' || (listedPath.endsWith('/') && p.startsWith(listedPath)))
    );
  };
  const property = fc.asyncProperty(
    fc.array(entry, { minLength: 1, maxLength: 8 }),
    host,
    path,
    async (listed, h, p) => {
      const index = await indexOf(...listed);
      const want = listed.some((it) => isListed(it, h, p));
      return (index.findUrl(`https://${h}${p}`) !== undefined) === want;
    },
  );
  await t.resolves(fc.assert(property, { numRuns: 300 }));
});

t.test('look-ups are bounded', async (t) => {
  const index = await indexOf(
    'http://deep.example/a/',
    `http://deep.example/${'d/'.repeat(40)}`,
    'http://long.example/x',
  );
  t.match(index.findUrl(`https://deep.example/a/${'x'.repeat(100_000)}`), { indicator: 'deep.example/a/' });
  t.match(index.findUrl(`https://deep.example/${'d/'.repeat(40)}`), { kind: 'url' }, 'the whole path');
  t.equal(
    index.findUrl(`https://deep.example/${'d/'.repeat(40)}e`),
    undefined,
    'more than 32 directories down',
  );
  t.equal(index.findUrl(`https://long.example/x${'/'.repeat(100_000)}y`), undefined);
  const host = `${'a.'.repeat(200)}deep.example`;
  t.equal(index.findTarget({ host, path: '/', isAddress: false }), undefined, 'no host is as long');
});

t.test('refuses to list a path that is never looked up', async (t) => {
  await t.rejects(read('openphish', `http://a.example/${'x'.repeat(4096)}\n`), /not readable/);
});
