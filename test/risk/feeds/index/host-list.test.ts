import t from 'tap';
import { parseTarget } from '../../../../src/core/target.ts';
import { createHostList } from '../../../../src/risk/feeds/index/host-list.ts';

const list = createHostList([
  ...['evil.example', '*.wild.example', 'BÜCHER.example.', '203.0.113.0/24', '198.51.100.7', '2001:db8::/32'],
  ...[
    'https://api.example/v1/',
    'a*.example',
    '*',
    '[ab].example',
    '*.*.example',
    '0xc6336402',
    '*.192.0.2.1',
  ],
]);

const cases: readonly (readonly [url: string, isListed: boolean])[] = [
  ['https://evil.example/', true],
  ['https://sub.evil.example/', false],
  ['https://a.wild.example/', true],
  ['https://a.b.wild.example/', true],
  ['https://wild.example/', false],
  ['https://notwild.example/', false],
  ['https://bücher.example/', true],
  ['https://203.0.113.255/', true],
  ['https://203.0.114.0/', false],
  ['https://198.51.100.7/', true],
  ['https://198.51.100.8/', false],
  ['https://198.51.100.2/', true],
  ['https://[2001:db8:1::]/', true],
  ['https://[2001:db9::]/', false],
  ['https://[::ffff:203.0.113.1]/', true],
  ['https://[64:ff9b::203.0.113.1]/', true],
];

for (const [url, isListed] of cases) {
  t.test(`${url} is ${isListed ? '' : 'not '}on the list`, async (t) => {
    t.equal(list.has(parseTarget(url)), isListed);
  });
}

t.test('what only patterns can tell is left to them', async (t) => {
  t.strictSame(list.rest, ['https://api.example/v1/', 'a*.example', '*', '[ab].example', '*.*.example']);
});

t.test('takes as many entries as a tenant may have', async (t) => {
  const many = createHostList(Array.from({ length: 100_000 }, (_, at) => `*.host-${at}.example`));
  t.ok(many.has({ host: 'a.host-99999.example', isAddress: false }));
  t.notOk(many.has({ host: 'a.host-100000.example', isAddress: false }));
});
