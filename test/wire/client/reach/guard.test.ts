import { networkInterfaces } from 'node:os';
import t from 'tap';
import { GatewayError } from '../../../../src/core/errors.ts';
import { parseTarget } from '../../../../src/core/target.ts';
import {
  type AddressGuardOptions,
  createGuard,
  type Guard,
} from '../../../../src/wire/client/reach/guard.ts';

const guardWith = (options: Partial<AddressGuardOptions> = {}): Guard =>
  createGuard({ allowPrivate: [], deny: [], allowedPorts: [], ownListeners: () => [], ...options });

/** What becomes of a URL at the door: `allowed`, or why it was refused. */
function outcomeOf(guard: Guard, url: string): string {
  try {
    const { host, port } = parseTarget(url);
    guard.checkHost(host, port);
    return 'allowed';
  } catch (error) {
    if (error instanceof GatewayError) return `${error.code} ${error.message}`;
    throw error;
  }
}

const addressOutcome = (guard: Guard, address: string, port = 443): string => {
  try {
    guard.checkAddress(address, port);
    return 'allowed';
  } catch (error) {
    return error instanceof GatewayError ? `${error.code} ${error.message}` : String(error);
  }
};

t.test('refuses every spelling of an address that is not public', async (t) => {
  const cases: Record<string, readonly string[]> = {
    loopback: [
      '127.0.0.1',
      '127.0.0.1.',
      '127.1',
      '127.0.1',
      '127.255.255.254',
      '0x7f.0.0.1',
      '0x7f000001',
      '0X7F.1',
      '2130706433',
      '017700000001',
      '0177.0.0.1',
      '0177.0.0.01',
      '127.0.0.0x1',
      '127.00.00.01',
      '１２７.０.０.１',
      '127。0。0。1',
      '①②⑦.0.0.1',
      '%31%32%37.0.0.1',
      '[::1]',
      '[0:0:0:0:0:0:0:1]',
      '[0000:0000:0000:0000:0000:0000:0000:0001]',
      '[::0001]',
      '[0::1]',
    ],
    'IPv4-mapped IPv6': [
      '[::ffff:127.0.0.1]',
      '[::ffff:7f00:1]',
      '[::FFFF:10.0.0.1]',
      '[0:0:0:0:0:ffff:a00:1]',
      '[::ffff:8.8.8.8]',
    ],
    'IPv4-compatible IPv6': ['[::127.0.0.1]', '[::7f00:1]', '[::8.8.8.8]'],
    'IPv4-translated IPv6': ['[::ffff:0:127.0.0.1]', '[::ffff:0:8.8.8.8]'],
    unspecified: ['0.0.0.0', '0', '0x0', '00', '0.0', '0.1.2.3', '[::]', '[0:0:0:0:0:0:0:0]'],
    private: [
      '10.0.0.1',
      '10.1',
      '0xa.1',
      '0x0a000001',
      '012.0.0.1',
      '167772161',
      '10.255.255.255',
      '172.16.0.1',
      '172.31.255.255',
      '0xac100001',
      '192.168.0.1',
      '192.168.1',
      '0300.0250.0.1',
      '3232235521',
      '[fc00::1]',
      '[fd12:3456:789a::1]',
    ],
    'link-local': ['169.254.1.1', '0xa9fe0101', '169.254.257', '[fe80::1]', '[febf::1]'],
    'carrier-grade NAT': ['100.64.0.1', '100.127.255.255', '0x64400001'],
    multicast: ['224.0.0.1', '239.255.255.255', '[ff02::1]', '[ff0e::1]'],
    broadcast: ['255.255.255.255', '0xffffffff', '4294967295'],
    benchmarking: ['198.18.0.1', '198.19.255.255', '[2001:2::1]'],
    documentation: [
      '192.0.2.1',
      '198.51.100.7',
      '203.0.113.9',
      '[2001:db8::1]',
      '[3fff::1]',
      '[3fff:fff::1]',
    ],
    NAT64: ['[64:ff9b::10.0.0.1]', '[64:ff9b::808:808]', '[64:ff9b:1::1]', '[64:ff9b:1:ffff::8.8.8.8]'],
    '6to4': ['[2002:7f00:1::]', '[2002:808:808::1]', '192.88.99.1'],
    Teredo: ['[2001::1]', '[2001:0:4136:e378:8000:63bf:3fff:fdd2]'],
    'site-local': ['[fec0::1]', '[feff::1]'],
    'discard-only': ['[100::1]'],
    'segment routing': ['[5f00::1]'],
    'IETF protocol assignments': ['192.0.0.1', '192.0.0.170', '[2001:10::1]', '[2001:1ff::1]'],
    reserved: ['240.0.0.1', '254.255.255.255', '[200::1]', '[4000::1]', '[8000::1]', '[::1:0:0:0:1]'],
  };
  const guard = guardWith();
  for (const [range, hosts] of Object.entries(cases)) {
    for (const host of hosts) {
      const outcome = outcomeOf(guard, `https://${host}/`);
      t.match(outcome, `EGRESS_BLOCKED The address is not public: ${range}.`, `${host} is ${range}`);
    }
  }
  t.ok(Object.values(cases).flat().length >= 80);
});

t.test('refuses hosts that are no host at all', async (t) => {
  const guard = guardWith();
  const hosts = [
    '[fe80::1%25eth0]',
    '[::1%lo]',
    '127.0.0.1%00.example.com',
    '256.256.256.256',
    '127.0.0.1.5',
    '0x100000000',
    '[::ffff:127.0.0.1',
    'good.example@127.0.0.1',
    '127.0.0.1\\@good.example',
    'a..b',
    '-',
    'exa mple.com',
    '127.0.0.1:0x50',
    '127.0.0.1:70000',
  ];
  for (const host of hosts) t.not(outcomeOf(guard, `https://${host}/`), 'allowed', host);
});

t.test('lets public hosts pass', async (t) => {
  const guard = guardWith();
  const hosts = [
    'api.github.com',
    'localhost.example.com',
    '8.8.8.8',
    '1.1.1.1',
    '100.63.255.255',
    '100.128.0.0',
    '172.15.255.255',
    '172.32.0.0',
    '169.253.255.255',
    '198.17.255.255',
    '223.255.255.255',
    '[2606:4700::1111]',
    '[2a00:1450:4001::200e]',
    '[2001:200::1]',
    'metadata.example.com',
    'my-metadata.example',
  ];
  for (const host of hosts) t.equal(outcomeOf(guard, `https://${host}/`), 'allowed', host);
});

t.test('never allows metadata services, whatever is exempt', async (t) => {
  const guard = guardWith({ allowPrivate: ['0.0.0.0/0', '::/0'] });
  const hosts = [
    '169.254.169.254',
    '0xa9fea9fe',
    '2852039166',
    '169.254.43518',
    '0251.0376.0251.0376',
    '[::ffff:169.254.169.254]',
    '[::ffff:a9fe:a9fe]',
    '[::169.254.169.254]',
    '[64:ff9b::a9fe:a9fe]',
    '[2002:a9fe:a9fe::1]',
    '[2001:0:a9fe:a9fe::1]',
    '[2001:0:808:808:0:0:5601:5601]', // Teredo's client, inverted
    '[fe80::5efe:a9fe:a9fe]', // ISATAP
    '[fd00:ec2::254]',
    '[fd00:0ec2:0::0254]',
    '[fd20:ce::254]',
    '100.100.100.200',
    '168.63.129.16',
    '192.0.0.192',
    '169.254.170.2',
    'metadata',
    'METADATA.google.internal',
    'metadata.google.internal.',
    'ｍetadata.google.internal',
    'metadata.goog',
    'instance-data',
    'instance-data.us-west-2.compute.internal',
    'metadata.tencentyun.com',
  ];
  for (const host of hosts) {
    t.match(outcomeOf(guard, `http://${host}/latest/`), /^EGRESS_BLOCKED .*cloud metadata service/, host);
  }
});

t.test('exempts what allow_private names, and no more', async (t) => {
  const guard = guardWith({
    allowPrivate: ['10.1.0.0/16', '127.0.0.1', '::1', 'fd00:1::/32', '64:ff9b::/96'],
  });
  const exempt = ['10.1.2.3', '127.0.0.1', '::1', 'fd00:1::5', '64:ff9b::8.8.8.8', '64:ff9b::10.1.2.3'];
  for (const address of exempt) t.equal(addressOutcome(guard, address), 'allowed', address);
  const within64 = ['64:ff9b::10.2.0.1', '64:ff9b::127.0.0.2'];
  const refused = ['10.2.0.1', '127.0.0.2', 'fd00:2::1', '::ffff:10.1.2.3', ...within64];
  for (const address of refused) t.match(addressOutcome(guard, address), 'EGRESS_BLOCKED', address);
});

t.test('refuses text that is no address, which a BlockList would call harmless', async (t) => {
  const guard = guardWith({ allowPrivate: ['0.0.0.0/0', '::/0'] });
  for (const text of [
    '',
    'localhost',
    '010.0.0.1',
    '10.0.0',
    '1.2.3.4 ',
    'fe80::1%eth0',
    '[::1]',
    '1.2.3.4:80',
  ]) {
    t.match(addressOutcome(guard, text), 'EGRESS_BLOCKED', JSON.stringify(text));
  }
});

t.test('denies by host glob, address and CIDR, over every exemption', async (t) => {
  const deny = [
    '*.evil.example',
    'exact.example.',
    'B\u00fccher.example',
    'API.*.corp',
    '9.9.9.9',
    '8.8.0.0/16',
    '10.0.0.0/8',
    '2606:4700::/32',
  ];
  const guard = guardWith({ deny, allowPrivate: ['10.0.0.0/8'] });
  const cases: readonly [string, boolean][] = [
    ['a.evil.example', false],
    ['a.b.c.evil.example', false],
    ['A.EVIL.example.', false],
    ['evil.example', true],
    ['evil.example.com', true],
    ['notevil.example', true],
    ['exact.example', false],
    ['b\u00fccher.example', false],
    ['XN--bcher-kva.example', false],
    ['sub.exact.example', true],
    ['api.eu.corp', false],
    ['api.eu.west.corp', false],
    ['9.9.9.9', false],
    ['0x09090909', false],
    ['8.8.4.4', false],
    ['8.9.4.4', true],
    ['10.1.2.3', false],
    ['[2606:4700::1111]', false],
  ];
  for (const [host, isAllowed] of cases) {
    const outcome = outcomeOf(guard, `https://${host}/`);
    t.match(outcome, isAllowed ? 'allowed' : 'EGRESS_BLOCKED', host);
  }
  t.match(addressOutcome(guard, '8.8.4.4'), 'denied by configuration', 'also when a name leads there');
});

t.test('limits the ports where a list is given', async (t) => {
  const guard = guardWith({ allowedPorts: [443, 8443] });
  t.equal(outcomeOf(guard, 'https://example.com/'), 'allowed');
  t.equal(outcomeOf(guard, 'https://example.com:8443/'), 'allowed');
  t.match(outcomeOf(guard, 'http://example.com/'), 'EGRESS_BLOCKED Port 80');
  t.match(outcomeOf(guard, 'https://example.com:22/'), 'EGRESS_BLOCKED Port 22');
  t.equal(outcomeOf(guardWith(), 'https://example.com:22/'), 'allowed', 'none given: all');
});

t.test('never dials its own listeners, whatever is exempt', async (t) => {
  const own = Object.values(networkInterfaces()).flatMap((entries) => entries ?? []);
  const outward = own.filter(({ address }) => !address.startsWith('fe80')).map(({ address }) => address);
  const ownListeners = () => [
    { address: '0.0.0.0', port: 8080 },
    { address: '127.0.0.1', port: 8081 },
    { address: '::', port: 8082 },
  ];
  const guard = guardWith({ allowPrivate: ['0.0.0.0/0', '::/0'], ownListeners });
  const refused: readonly [string, number][] = [
    ...outward.flatMap((address): [string, number][] => [
      [address, 8080],
      [address, 8082],
    ]),
    ['127.0.0.1', 8080],
    ['127.9.9.9', 8080],
    ['0.0.0.0', 8080],
    ['::1', 8080],
    ['::', 8080],
    ['::ffff:127.0.0.1', 8080],
    ['::ffff:127.0.0.1', 8081],
    ['127.0.0.1', 8081],
    ['0.0.0.0', 8081],
    ['::', 8081],
    ['::1', 8082],
    ['127.0.0.1', 8082],
  ];
  for (const [address, port] of refused) {
    t.match(addressOutcome(guard, address, port), 'that of this gateway', `${address} port ${port}`);
  }
  t.equal(addressOutcome(guard, '127.0.0.1', 8083), 'allowed', 'another port');
  t.equal(addressOutcome(guard, '127.0.0.2', 8081), 'allowed', 'another address than the one listened on');
  t.equal(addressOutcome(guard, '8.8.8.8', 8080), 'allowed', 'another machine');
});

t.test('sees listeners that are opened later', async (t) => {
  const listeners: { address: string; port: number }[] = [];
  const guard = guardWith({ allowPrivate: ['127.0.0.0/8'], ownListeners: () => listeners });
  t.equal(addressOutcome(guard, '127.0.0.1', 9000), 'allowed');
  listeners.push({ address: '127.0.0.1', port: 9000 });
  t.match(addressOutcome(guard, '127.0.0.1', 9000), 'EGRESS_BLOCKED');
});

t.test('says the range in a refusal, but no address', async (t) => {
  const outcome = addressOutcome(guardWith(), '10.20.30.40');
  t.match(outcome, 'private');
  t.notMatch(outcome, '10.20.30.40');
});

t.test('does not start with a range that is none', async (t) => {
  for (const text of [
    '10.0.0.0/33',
    '10.0.0.0/',
    '10.0.0.0/-1',
    '10.0.0.0/8/8',
    '::/129',
    'fe80::1%eth0/64',
    'ten',
  ]) {
    t.throws(() => guardWith({ allowPrivate: [text] }), /is not an IP address or CIDR/, text);
  }
  t.throws(() => guardWith({ deny: ['10.0.0.0/33'] }), RangeError);
});
