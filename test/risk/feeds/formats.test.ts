import { gzipSync } from 'node:zlib';
import t from 'tap';
import type { FeedFormat } from '../../../src/risk/feeds/formats/index.ts';
import { fixture, listOf, read } from './reading.ts';

interface Case {
  readonly file: string;
  readonly format: FeedFormat;
  readonly want: readonly string[];
  readonly dropped?: number;
}

const urlhaus = [
  'url 203.0.113.77/bin/mozi.m 3900001 malware_download',
  'url cdn.dropper-depot.example/files/update.exe?id=7 3900002 malware_download',
];

const cases: readonly Case[] = [
  {
    file: 'urlhaus.csv',
    format: 'urlhaus',
    want: [...urlhaus, 'url files.quiet-harbour.example/a/b/ 3900003 malware_download'],
    dropped: 1,
  },
  {
    file: 'urlhaus.txt',
    format: 'urlhaus',
    want: [
      'url 203.0.113.77/bin/mozi.m - malware',
      'url cdn.dropper-depot.example/files/update.exe?id=7 - malware',
    ],
  },
  { file: 'urlhaus.json', format: 'urlhaus', want: urlhaus },
  {
    file: 'openphish.txt',
    format: 'openphish',
    want: [
      'url login-mybank.example/signin/ - phishing',
      'url parcel-fee.example/track.php?id=MTIz&step=2 - phishing',
      'url wallet-connect.pages.dev/ - phishing',
    ],
  },
  {
    file: 'phishtank.json',
    format: 'phishtank',
    want: [
      'url secure-mail.example/owa/auth.aspx 8800001 phishing for Microsoft',
      'url parcel-fee.example/?a=1&b=2 8800002 phishing',
    ],
  },
  {
    file: 'phishtank.csv',
    format: 'phishtank',
    want: [
      'url secure-mail.example/owa/auth.aspx 8800001 phishing for Microsoft',
      'url list.example/x?a=1,2&b="3" 8800004 phishing',
    ],
  },
  {
    file: 'feodo.json',
    format: 'feodo',
    want: ['ip 203.0.113.21 - botnet QakBot', 'ip 198.51.100.46 - botnet Emotet'],
  },
  {
    file: 'feodo.csv',
    format: 'feodo',
    want: ['ip 203.0.113.21 - botnet QakBot', 'ip 198.51.100.46 - botnet Emotet'],
  },
  { file: 'feodo.txt', format: 'feodo', want: ['ip 203.0.113.21 - botnet', 'ip 198.51.100.46 - botnet'] },
  {
    file: 'spamhaus_drop_v4.jsonl',
    format: 'spamhaus_drop',
    want: [
      'cidr 203.0.113.0/25 SBL900001 hijacked network',
      'cidr 198.51.100.64/26 SBL900002 hijacked network',
    ],
  },
  {
    file: 'spamhaus_drop_v6.jsonl',
    format: 'spamhaus_drop',
    want: ['cidr 2001:db8:a000::/36 SBL900003 hijacked network'],
  },
  {
    file: 'spamhaus_drop.txt',
    format: 'spamhaus_drop',
    want: [
      'cidr 203.0.113.0/25 SBL900001 hijacked network',
      'cidr 198.51.100.64/26 SBL900002 hijacked network',
    ],
  },
  {
    file: 'otx.json',
    format: 'otx',
    want: [
      'ip 203.0.113.200 6543210fedcba98765432100 Example stealer campaign',
      'host stealer-panel.example 6543210fedcba98765432100 Example stealer campaign',
      'host gate.stealer-drop.example 6543210fedcba98765432100 Example stealer campaign',
      'url stealer-loot.example/up.php 6543210fedcba98765432100 Example stealer campaign',
    ],
  },
  {
    file: 'otx.csv',
    format: 'otx',
    want: [
      'ip 203.0.113.200 - -',
      'host stealer-panel.example - panel,?of the stealer',
      'cidr 198.51.100.0/28 - -',
    ],
  },
  {
    file: 'lines.txt',
    format: 'lines',
    want: [
      'host bad-host.example - -',
      'url page-host.example/evil/ - -',
      'ip 203.0.113.5 - -',
      'ip 203.0.113.6 - -',
      'cidr 198.51.100.0/30 - -',
      'cidr 2001:db8::/48 - -',
      'host hosts-file.example - -',
      'host any-below.example - -',
    ],
  },
  {
    file: 'own.csv',
    format: 'csv',
    want: [
      'host bad-host.example https://wiki.example.com/1 c2',
      'host worse-host.example https://wiki.example.com/2 scam',
    ],
  },
  {
    file: 'own.json',
    format: 'json',
    want: [
      'host bad-host.example case-1 Example',
      'cidr 198.51.100.0/30 - -',
      'host worse-host.example - -',
      'url page-host.example/evil/ - -',
    ],
  },
  {
    file: 'cidr.txt',
    format: 'cidr',
    want: ['cidr 198.51.100.0/30 scanner -', 'cidr 2001:db8::/48 test net -', 'ip 203.0.113.5 - -'],
  },
];

for (const { file, format, want, dropped = 0 } of cases) {
  t.test(`reads ${file}`, async (t) => {
    const feed = fixture(file);
    const set = await read(format, feed);
    t.strictSame(listOf(set), want);
    t.match(set, { indicators: want.length, dropped, malformed: 0 });

    const variants: readonly (readonly [string, Buffer])[] = [
      ['in pieces of one byte', feed],
      ['behind gzip', gzipSync(feed)],
      ['in two gzip members', Buffer.concat([gzipSync(feed.subarray(0, 99)), gzipSync(feed.subarray(99))])],
      ['with a byte order mark', Buffer.concat([Buffer.from('\ufeff'), feed])],
    ];
    for (const [name, bytes] of variants) {
      t.strictSame(listOf(await read(format, bytes, { chunkBytes: 1 })), want, name);
    }
  });
}

t.test('counts what is listed twice once', async (t) => {
  const set = await read(
    'lines',
    'a.example\nA.EXAMPLE.\n198.51.100.1\n198.51.100.0/24\nhttp://b.example/x\nb.example/x\n',
  );
  t.equal(set.indicators, 3);
});

t.test('keeps a feed of which a small share is malformed, and counts that', async (t) => {
  const lines = Array.from({ length: 99 }, (_, at) => `host-${at}.example`);
  const set = await read('lines', [...lines, 'not a host at all'].join('\n'));
  t.match(set, { indicators: 99, malformed: 1 });
});

t.test('words of a feed are printable and bounded', async (t) => {
  const rows = [
    'domain,link,category',
    `x.example,"${'r'.repeat(999)}","a\u0000\u001b[31m\u202e${'t'.repeat(999)}"`,
  ];
  const [entry = ''] = listOf(await read('csv', rows.join('\n').replace('\u0000', '')));
  t.match(entry, /^host x\.example r{256} a\?\[31m\?t{57}$/);
});

t.test('kinds of threats are bounded: further ones are left out', async (t) => {
  const rows = Array.from({ length: 5000 }, (_, at) => `h${at}.example,kind-${at}`);
  const list = listOf(await read('csv', ['domain,category', ...rows].join('\n')));
  t.equal(list[4000], 'host h4000.example - kind-4000');
  t.equal(list[4999], 'host h4999.example - -');
});
