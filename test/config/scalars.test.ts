import t from 'tap';
import { parseConfig } from '../../src/config/load.ts';
import {
  parseCidr,
  parseDuration,
  parseHostGlob,
  parseSize,
  parseUrlPrefix,
} from '../../src/config/scalars.ts';
import { parseListenAddress, parseStateUrl } from '../../src/config/sections/addresses.ts';

const tcp = (host: string, port: number) => ({ kind: 'tcp', host, port });
const redis = (more: Record<string, unknown>) => ({
  driver: 'redis',
  cluster: false,
  tls: false,
  username: null,
  password: null,
  database: 0,
  prefix: 'postern:',
  ...more,
});
const node = (host: string, port = 6379) => ({ host, port });

const tables: { parse: (text: string) => unknown; cases: Record<string, unknown> }[] = [
  {
    parse: parseDuration,
    cases: {
      '250ms': 250,
      '30s': 30_000,
      '10m': 600_000,
      '1h': 3_600_000,
      '7d': 604_800_000,
      '0s': 0,
      '5': undefined,
      '1.5s': undefined,
      '-1s': undefined,
      '1 s': undefined,
      '1w': undefined,
      '': undefined,
      s: undefined,
    },
  },
  {
    parse: parseSize,
    cases: {
      '256KB': 262_144,
      '1MB': 1_048_576,
      '2GiB': 2_147_483_648,
      '4096': 4096,
      '4 kb': 4096,
      '7B': 7,
      '1K': 1024,
      '1.5MB': undefined,
      '-1': undefined,
      '1TB': undefined,
      KB: undefined,
      '': undefined,
    },
  },
  {
    parse: parseCidr,
    cases: {
      '10.0.0.0/8': '10.0.0.0/8',
      '0.0.0.0/0': '0.0.0.0/0',
      '192.0.2.7': '192.0.2.7/32',
      '::1': '::1/128',
      '2001:DB8::/32': '2001:db8::/32',
      '10.0.0.0/33': undefined,
      '::/129': undefined,
      '10.0.0/8': undefined,
      '010.0.0.1': undefined,
      'fe80::1%eth0': undefined,
      'a.example/8': undefined,
      '10.0.0.0/': undefined,
      '': undefined,
    },
  },
  {
    parse: parseHostGlob,
    cases: {
      'API.Example.com.': 'api.example.com',
      '*.Example.com': '*.example.com',
      '*': '*',
      'api-?.example.com': 'api-?.example.com',
      'münchen.example': 'xn--mnchen-3ya.example',
      '*.münchen.example': '*.xn--mnchen-3ya.example',
      '127.1': '127.0.0.1',
      '[::1]': '::1',
      'a b': undefined,
      'a..b': undefined,
      '*..b': undefined,
      'a/b': undefined,
      'a:1': undefined,
      '*:1': undefined,
      'user@a': undefined,
      '*@a': undefined,
      '': undefined,
      [`*.${'a'.repeat(260)}`]: undefined,
    },
  },
  {
    parse: parseUrlPrefix,
    cases: {
      'https://A.example': 'https://a.example/',
      'https://a.example/b': 'https://a.example/b',
      'https://u@a.example': undefined,
      'https://a.example/#x': undefined,
      '//a.example': undefined,
      'a.example': undefined,
    },
  },
  {
    parse: parseListenAddress,
    cases: {
      '127.0.0.1:0': tcp('127.0.0.1', 0),
      'localhost:65535': tcp('localhost', 65_535),
      '[::]:80': tcp('::', 80),
      'unix:/run/a.sock': { kind: 'unix', path: '/run/a.sock' },
      '127.0.0.1': undefined,
      ':80': undefined,
      '::1:80': undefined,
      'a:65536': undefined,
      'a:-1': undefined,
      'unix:': undefined,
      [`unix:/${'a'.repeat(107)}`]: undefined,
      'http://a:80': undefined,
      '': undefined,
    },
  },
  {
    parse: parseStateUrl,
    cases: {
      'embedded:./data': { driver: 'embedded', dir: './data' },
      'redis://h': redis({ nodes: [node('h')] }),
      'redis://h/2?prefix=a:': redis({ nodes: [node('h')], database: 2, prefix: 'a:' }),
      'rediss://:p%3Aw@h:1': redis({ nodes: [node('h', 1)], tls: true, password: 'p:w' }),
      'redis://u:p@[::1]:1': redis({ nodes: [node('::1', 1)], username: 'u', password: 'p' }),
      'redis+cluster://a:1,b:2': redis({ nodes: [node('a', 1), node('b', 2)], cluster: true }),
      'rediss+cluster://a': redis({ nodes: [node('a')], cluster: true, tls: true }),
      'redis://a,b': undefined,
      'redis+cluster://a,b/1': undefined,
      'redis+cluster://a,': undefined,
      'redis://': undefined,
      'redis://h:0': undefined,
      'redis://h?prefix=a&x=1': undefined,
      'redis://%zz@h': undefined,
      'embedded:': undefined,
      'postgres://h': undefined,
      '': undefined,
    },
  },
];

for (const { parse, cases } of tables) {
  t.test(`${parse.name} understands what it documents and nothing else`, async (t) => {
    for (const [text, want] of Object.entries(cases)) t.strictSame(parse(text), want, text);
  });
}

const inFile: { name: string; good: string[]; bad: string[] }[] = [
  {
    name: 'durations are bounded by what they steer',
    good: [
      'limits: { scan_timeout: 60s }',
      'limits: { idle_timeout: 24h }',
      'approvals: { ttl: 24h, hold: 0s }',
      'approvals: { ttl: 1s, grant_window: 0s, deny_window: 0s }',
      'approvals: { grant_window: 1h, deny_window: 1h, hold: 1h }',
      'activity: { retention: 3650d }',
    ],
    bad: [
      'limits: { scan_timeout: 61s }',
      'limits: { idle_timeout: 25d }',
      'limits: { idle_timeout: 0s }',
      'approvals: { ttl: 25h }',
      'approvals: { ttl: 500ms }',
      'approvals: { grant_window: 61m }',
      'approvals: { deny_window: 61m }',
      'approvals: { hold: 61m }',
      'tenants: [{ id: acme, approvals: { ttl: 25h } }]',
      'tenants: [{ id: acme, approvals: { deny_window: 61m } }]',
      'activity: { retention: 3651d }',
    ],
  },
  {
    name: 'sizes and numbers are bounded',
    good: [
      'limits: { max_body_bytes: 1GB, max_body_bytes_total: 1GB }',
      'limits: { max_body_bytes_total: 64GB }',
      'limits: { max_body_bytes_total: 256KB }',
      'limits: { max_body_bytes: 262144 }',
      'workers: 1',
      'limits: { max_headers: "7" }',
    ],
    bad: [
      'limits: { max_body_bytes: 2GB, max_body_bytes_total: 2GB }',
      'limits: { max_body_bytes_total: 65GB }',
      'limits: { max_body_bytes_total: 63KB, max_body_bytes: 1KB }',
      'limits: { max_body_bytes: 0 }',
      'limits: { max_body_bytes: 1.5 }',
      'workers: 65',
      'workers: 0',
      'limits: { max_headers: 0x }',
    ],
  },
  {
    name: 'lists and texts are bounded',
    good: [`upstream: { ca_files: [${Array(64).fill('a').join(',')}] }`],
    bad: [
      `upstream: { ca_files: [${Array(65).fill('a').join(',')}] }`,
      `tenants: [{ id: ${'a'.repeat(65)} }]`,
      `pid_file: ${'a'.repeat(5000)}`,
      `proxy: { listen: [${Array(17).fill('"a:0"').join(',')}] }`,
      'proxy: { listen: [] }',
    ],
  },
  {
    name: 'several workers need a Redis',
    good: ['workers: 2\nstate: { url: redis://h }', 'workers: 2\nstate: { url: "redis+cluster://a,b" }'],
    bad: ['workers: 2', 'workers: 2\nstate: { url: embedded:x }', 'workers: "2"'],
  },
  {
    name: 'bands ascend, those of the default included',
    good: ['risk: { bands: { MEDIUM: 0.1 } }', 'risk: { bands: { HIGH: 0.7 } }'],
    bad: [
      'risk: { bands: { MEDIUM: 0.5 } }',
      'risk: { bands: { HIGH: 0.8 } }',
      'risk: { bands: { CRITICAL: 0.5 } }',
      'risk: { bands: { LOW: 0 } }',
    ],
  },
  {
    name: 'the proxy has no unix socket, and a file socket is for control alone',
    good: ['control: { listen: unix:/run/a.sock }'],
    bad: ['proxy: { listen: unix:/run/a.sock }'],
  },
  {
    name: 'a URL has its schemes and no user information where it would be shown',
    good: ['doctor: { canary_url: http://a.example/x?y }', 'upstream: { proxy: "http://u:p@a.example:1" }'],
    bad: [
      'doctor: { canary_url: ftp://a.example }',
      'doctor: { canary_url: "https://u:p@a.example" }',
      'doctor: { canary_url: /x }',
      'upstream: { proxy: socks5://a }',
    ],
  },
];

for (const { name, good, bad } of inFile) {
  t.test(name, async (t) => {
    const parse = (text: string): unknown => parseConfig(text, { file: undefined, env: {} });
    for (const text of good) t.doesNotThrow(() => parse(text), text);
    for (const text of bad) t.throws(() => parse(text), { name: 'ConfigError' }, text);
  });
}
