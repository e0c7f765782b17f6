import { type HostileInput, plainHost, secureHost } from './input.ts';

/* Where nobody may go: spellings of the inside, names that are none, and CONNECT in forms that it does not have. */

/** The loopback address, private ones and metadata services, as they have been written to get past a guard. */
const inside: readonly string[] = [
  ...['127.0.0.1', '127.1', '127.0.1', '127.0.0.1.', '127.255.255.254', '2130706433', '017700000001'],
  ...[
    '0x7f000001',
    '0x7F.0x0.0x0.0x1',
    '0x7f.1',
    '0177.0.0.1',
    '0177.0x0.0.1',
    '127.0.0.0x1',
    '0',
    '0.0.0.0',
    '00000',
  ],
  ...['[::1]', '[::]', '[0:0:0:0:0:0:0:1]', '[0000:0000:0000:0000:0000:0000:0000:0001]'],
  ...['[::ffff:127.0.0.1]', '[::ffff:7f00:1]', '[::FFFF:127.0.0.1]', '[::127.0.0.1]', '[::ffff:0:127.0.0.1]'],
  ...[
    '[64:ff9b::127.0.0.1]',
    '[64:ff9b::7f00:1]',
    '[64:ff9b:1::7f00:1]',
    '[2002:7f00:1::1]',
    '[2002:a00:1::]',
  ],
  ...[
    '[2001:0:7f00:1::]',
    '[2001:0:808:808::80ff:fffe]',
    '[fe80::5efe:127.0.0.1]',
    '[2001:db8::5efe:10.0.0.1]',
  ],
  ...['[fe80::1]', '[fc00::1]', '[fd12:3456::1]', '[ff02::1]', '[2001:db8::1]', '[100::1]'],
  ...['[::1%25lo]', '[fe80::1%25eth0]', '[fe80::1%lo]'],
  ...[
    '10.0.0.1',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.0.1',
    '100.64.0.1',
    '192.0.0.1',
    '198.18.0.1',
    '167772161',
  ],
  ...['0.1.2.3', '224.0.0.1', '240.0.0.1', '255.255.255.255', '192.0.2.1'],
  ...[
    '169.254.169.254',
    '2852039166',
    '0xA9FEA9FE',
    '0xa9.0xfe.0xa9.0xfe',
    '0251.0376.0251.0376',
    '169.254.43518',
  ],
  ...['[::ffff:169.254.169.254]', '[::ffff:a9fe:a9fe]', '[64:ff9b::169.254.169.254]', '[2002:a9fe:a9fe::]'],
  ...['169.254.170.2', '[fd00:ec2::254]', '100.100.100.200', '168.63.129.16', '192.0.0.192'],
  ...['metadata.google.internal', 'METADATA.Google.Internal.', 'metadata', 'instance-data.ec2.internal'],
];

/** Names that lead inside once they are resolved, the last ones by the configuration. A tunnel to them is opened, since it resolves nothing. */
const namesInside: readonly string[] = [
  ...['localhost', 'LocalHost', 'localhost.', 'inside.test.internal', 'a.b.INSIDE.test.internal.'],
];

/** The hosts of a URL as they are no hosts. */
const noHosts: readonly [name: string, host: string][] = [
  ['two dots', 'a..test.example'],
  ['a dot in front', '.test.example'],
  ['two dots behind', `${plainHost}..`],
  ['a label of 64 letters', `${'a'.repeat(64)}.test.example`],
  ['a name of 300 letters', `${'a.'.repeat(150)}test.example`],
  ['a hyphen in front', '-a.test.example'],
  ['an exclamation mark', 'a!b.test.example'],
  ['a percent that is none', 'a%zz.test.example'],
  ['a percent-encoded NUL', `${plainHost}%00.evil.test.example`],
  ['a percent-encoded slash', `evil%2ftest.example`],
  ['a percent-encoded at', `evil%40test.example`],
  ['an open bracket', '[::1'],
  ['a name in brackets', `[${plainHost}]`],
  ['an address of IPv6 without brackets', '::1'],
  ['an address with five parts', '127.0.0.0.1'],
  ['an address with a part too large', '127.0.0.256'],
  ['an address with too many bits', '4294967296'],
  ['an address with a bad octal', '0189.0.0.1'],
  ['a bidirectional override', '\xe2\x80\xae.test.example'],
  ['bytes that are no UTF-8', '\xff\xfe.test.example'],
];

/** Authorities of a CONNECT. */
const noAuthorities: readonly [name: string, authority: string][] = [
  ['no port', secureHost],
  ['an empty port', `${secureHost}:`],
  ['port 0', `${secureHost}:0`],
  ['port 65536', `${secureHost}:65536`],
  ['a negative port', `${secureHost}:-1`],
  ['a port with a sign', `${secureHost}:+443`],
  ['a port in letters', `${secureHost}:https`],
  ['a port with a letter', `${secureHost}:443a`],
  ['a port of six digits', `${secureHost}:000443`],
  ['two ports', `${secureHost}:443:443`],
  ['no host', ':443'],
  ['nothing but a colon', ':'],
  ['an asterisk', '*'],
  ['a path', '/'],
  ['a path behind it', `${secureHost}:443/evil`],
  ['a query behind it', `${secureHost}:443?evil`],
  ['a fragment behind it', `${secureHost}:443#evil`],
  ['a URL', `https://${secureHost}:443`],
  ['a URL without a port', `https://${secureHost}/`],
  ['user information', `user@${secureHost}:443`],
  ['user information with a password', `a:b@${secureHost}:443`],
  ['a backslash', `${secureHost}\\@evil.test.example:443`],
  ['a comma', `${secureHost},evil.test.example:443`],
  ['a NUL', `${secureHost}\0:443`],
  ['a space', `${secureHost} :443`],
  ['a tab', `${secureHost}\t:443`],
  ['a bare LF', `${secureHost}:443\nX: y`],
  ['an address of IPv6 without brackets', '::1:443'],
  ['brackets around nothing', '[]:443'],
  ['brackets around a name', `[${secureHost}]:443`],
];

/** Targets in absolute-form. */
const noTargets: readonly [name: string, target: string][] = [
  ['a path alone', '/hostile'],
  ['an asterisk', '*'],
  ['two slashes', `//${plainHost}/hostile`],
  ['one slash', `http:/${plainHost}/hostile`],
  ['no slash', `http:${plainHost}/hostile`],
  ['three slashes', `http:///${plainHost}/hostile`],
  ['backslashes', `http:\\\\${plainHost}\\hostile`],
  ['no host', 'http:///'],
  ['nothing behind the scheme', 'http://'],
  ['a port alone', 'http://:80/'],
  ['port 0', `http://${plainHost}:0/`],
  ['port 65536', `http://${plainHost}:65536/`],
  ['a negative port', `http://${plainHost}:-1/`],
  ['a port in letters', `http://${plainHost}:http/`],
  ['two ports', `http://${plainHost}:80:80/`],
  ['ftp', `ftp://${plainHost}/hostile`],
  ['gopher', `gopher://${plainHost}/hostile`],
  ['file', 'file:///etc/passwd'],
  ['javascript', 'javascript:alert(1)'],
  ['data', 'data:text/plain,hostile'],
  ['a scheme of ours for descriptions', 'mcp://tools/call'],
  ['user information', `http://user@${plainHost}/hostile`],
  ['user information with a password', `http://a:b@${plainHost}/hostile`],
  ['empty user information', `http://@${plainHost}/hostile`],
  ['our name as user information', `http://${plainHost}@evil.test.example/hostile`],
  ['our name and port as user information', `http://${plainHost}:80@evil.test.example/hostile`],
  ['our name as user information before a backslash', `http://${plainHost}\\@evil.test.example/hostile`],
];

const connect = (authority: string, auth: string): string =>
  `CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n${auth}\r\n`;

/** Whose the call is: nobody's that may call. */
const noKeys: readonly [
  name: string,
  field: (lab: { readonly key: string; readonly revokedKey: string }) => string,
][] = [
  ['no key', () => ''],
  ['the key where an origin looks for it', ({ key }) => `Authorization: Bearer ${key}\r\n`],
  ['a revoked key', ({ revokedKey }) => `Proxy-Authorization: Bearer ${revokedKey}\r\n`],
  ['a key with a letter more', ({ key }) => `Proxy-Authorization: Bearer ${key}a\r\n`],
  ['a key in upper case', ({ key }) => `Proxy-Authorization: Bearer ${key.toUpperCase()}\r\n`],
  ['half a key', ({ key }) => `Proxy-Authorization: Bearer ${key.slice(0, 20)}\r\n`],
  ['two keys', ({ key }) => `Proxy-Authorization: Bearer ${key}\r\nProxy-Authorization: Bearer ${key}\r\n`],
  ['two keys in one field', ({ key }) => `Proxy-Authorization: Bearer ${key}, Bearer ${key}\r\n`],
  ['a scheme that nobody knows', ({ key }) => `Proxy-Authorization: Digest ${key}\r\n`],
  ['no scheme', ({ key }) => `Proxy-Authorization: ${key}\r\n`],
  ['rubbish for base64', () => 'Proxy-Authorization: Basic !!!!\r\n'],
  ['a key of 60 KB', () => `Proxy-Authorization: Bearer iv_live_${'a'.repeat(60_000)}\r\n`],
  ['the word for everybody', () => 'Proxy-Authorization: Bearer *\r\n'],
  ['a quote for a database', () => `Proxy-Authorization: Bearer iv_live_' OR '1'='1\r\n`],
];

export const addressInputs: readonly HostileInput[] = [
  ...inside.map(
    (host): HostileInput => ({
      name: `CONNECT to ${host}`,
      place: 'proxy',
      bytes: ({ proxyAuth, insidePort }) => connect(`${host}:${insidePort}`, proxyAuth),
    }),
  ),
  ...[...inside, ...namesInside].map(
    (host): HostileInput => ({
      name: `GET from ${host}`,
      place: 'proxy',
      bytes: ({ proxyAuth, insidePort }) =>
        `GET http://${host}:${insidePort}/hostile HTTP/1.1\r\n${proxyAuth}\r\n`,
    }),
  ),
  ...(['proxyPort', 'controlPort'] as const).map(
    (port): HostileInput => ({
      name: `CONNECT to the gateway's own listener (${port})`,
      place: 'proxy',
      bytes: (lab) => connect(`127.0.0.1:${lab[port]}`, lab.proxyAuth),
    }),
  ),
  ...noHosts.map(
    ([name, host]): HostileInput => ({
      name: `a host with ${name}`,
      place: 'proxy',
      bytes: ({ proxyAuth }) => `GET http://${host}/hostile HTTP/1.1\r\n${proxyAuth}\r\n`,
    }),
  ),
  ...noAuthorities.map(
    ([name, authority]): HostileInput => ({
      name: `CONNECT with ${name}`,
      place: 'proxy',
      bytes: ({ proxyAuth }) => connect(authority, proxyAuth),
    }),
  ),
  ...noTargets.map(
    ([name, target]): HostileInput => ({
      name: `a target with ${name}`,
      place: 'proxy',
      bytes: ({ proxyAuth }) => `GET ${target} HTTP/1.1\r\nHost: ${plainHost}\r\n${proxyAuth}\r\n`,
    }),
  ),
  ...noKeys.flatMap(([name, field]): HostileInput[] => [
    {
      name: `CONNECT with ${name}`,
      place: 'proxy',
      bytes: (lab) => connect(`${secureHost}:443`, field(lab)),
    },
    {
      name: `GET with ${name}`,
      place: 'proxy',
      bytes: (lab) => `GET http://${plainHost}/hostile HTTP/1.1\r\nHost: ${plainHost}\r\n${field(lab)}\r\n`,
    },
  ]),
  ...['/inbound/bot/hostile', '/v1/scan'].map(
    (path): HostileInput => ({
      name: `${path} with the key where a proxy looks for it`,
      place: 'control',
      bytes: ({ proxyAuth }) => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n${proxyAuth}\r\n`,
    }),
  ),
  ...[
    ['of no route', '/inbound/nothing/hostile'],
    ['of no route at all', '/inbound/'],
    ['in upper case', '/inbound/BOT/hostile'],
    ['that is encoded', '/inbound/%62ot/hostile'],
    ['with a parameter', '/inbound/bot;x/hostile'],
    ['with a NUL', '/inbound/bot%00/hostile'],
    ['that climbs', '/inbound/bot/../other/hostile'],
    ['that climbs, encoded', '/inbound/bot/%2e%2e/hostile'],
    ['that climbs, encoded twice', '/inbound/bot/%252e%252e/hostile'],
    ['that climbs, with an encoded slash', '/inbound/bot/..%2fhostile'],
    ['that climbs, with a backslash', '/inbound/bot/..\\hostile'],
    ['that climbs, with a parameter', '/inbound/bot/..;/hostile'],
    ['that stays in its place', '/inbound/bot/./hostile'],
    ['with an empty segment', '/inbound/bot//evil.test.example/hostile'],
    ['with a line end', '/inbound/bot/a%0d%0aHost:%20evil.test.example'],
    ['with a space', '/inbound/bot/a%20b'],
    ['with a fragment', '/inbound/bot/a#b'],
  ].map(
    ([name, path]): HostileInput => ({
      name: `an inbound path ${name}`,
      place: 'control',
      bytes: ({ auth }) => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n${auth}\r\n`,
    }),
  ),
  {
    name: 'a target in absolute-form on the control port',
    place: 'control',
    bytes: ({ proxyAuth, auth }) =>
      `GET http://${plainHost}/hostile HTTP/1.1\r\nHost: ${plainHost}\r\n${auth}${proxyAuth}\r\n`,
  },
  {
    name: 'CONNECT in HTTP/2.0',
    place: 'proxy',
    bytes: ({ proxyAuth }) => `CONNECT ${secureHost}:443 HTTP/2.0\r\n${proxyAuth}\r\n`,
  },
  {
    name: 'CONNECT on the control port',
    place: 'control',
    bytes: ({ proxyAuth }) => connect(`${secureHost}:443`, proxyAuth),
  },
];
