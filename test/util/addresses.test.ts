import t from 'tap';
import { isWithin, networkOf, RangeList, unmapped } from '../../src/util/addresses.ts';

t.test('a range of one family has no address of the other', async (t) => {
  const cases: [ranges: string[], address: string, isIn: boolean][] = [
    [['10.0.0.0/8'], '10.255.0.1', true],
    [['10.0.0.0/8', '192.0.2.7'], '192.0.2.7', true],
    [['10.0.0.0/8'], '11.0.0.1', false],
    [['2001:db8::/32'], '2001:DB8:0::1', true],
    [['::/0'], '8.8.8.8', false],
    [['0.0.0.0/0'], '2001:db8::1', false],
    [['::/0', '0.0.0.0/0'], 'localhost', false],
    [['0.0.0.0/0'], '', false],
    [[], '8.8.8.8', false],
  ];
  for (const [ranges, address, isIn] of cases)
    t.equal(isWithin(ranges, address), isIn, `${address} in ${ranges}`);
  for (const rubbish of [
    '10.0.0.0/33',
    '::/129',
    '10.0.0.0/',
    '10.0.0.0/8/8',
    'fe80::1%eth0',
    'x',
    '10.0.0.0/-1',
  ])
    t.throws(() => new RangeList([rubbish]), RangeError, rubbish);
});

t.test('an IPv4-mapped address is the IPv4 address, in whatever spelling', async (t) => {
  for (const address of ['::ffff:10.1.2.3', '::FFFF:a01:203', '0:0:0:0:0:ffff:10.1.2.3', '::ffff:0a01:0203'])
    t.equal(unmapped(address), '10.1.2.3', address);
  for (const address of [
    '10.1.2.3',
    '2001:db8::1',
    '::10.1.2.3',
    '64:ff9b::10.1.2.3',
    'fe80::1%eth0',
    'x',
    '',
  ])
    t.equal(unmapped(address), address);
});

t.test('one client has an IPv4 address, or the /64 of an IPv6 one, in whatever spelling', async (t) => {
  const same: [string, string][] = [
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::1'],
    ['2001:db8::3:4:5:6', '2001:db8::ffff:0:0:1'],
    ['2001::5:a:b:c:d', '2001:0:0:5:1:2:3:4'],
    ['::1:a:b:c:d', '0:0:0:1::7'],
    ['fe80::1%eth0', 'fe80::2%eth0'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['::ffff:c000:207', '192.0.2.7'],
  ];
  for (const [one, other] of same) t.equal(networkOf(one), networkOf(other), `${one} and ${other}`);
  for (const [one, other] of [
    ['192.0.2.7', '192.0.2.8'],
    ['2001:db8:1:2::1', '2001:db8:1:3::1'],
    ['::ffff:192.0.2.7', '::ffff:192.0.2.8'],
  ] as const)
    t.not(networkOf(one), networkOf(other), `${one} and ${other}`);
  t.equal(networkOf('unknown'), 'unknown');
});
