import t from 'tap';
import { parseTarget } from '../../src/core/target.ts';
import { compileAllowlist, compileDenylist } from '../../src/tenants/destination-list.ts';

const entries = [
  '*.evil.example',
  'paste.example',
  '203.0.113.0/24',
  '2001:db8::/32',
  'https://api.example/admin',
];

const cases = [
  { url: 'https://a.b.evil.example/', denied: true },
  { url: 'https://evil.example/', denied: false },
  { url: 'https://PASTE.example./x', denied: true },
  { url: 'https://notpaste.example/', denied: false },
  { url: 'http://203.0.113.9/', denied: true },
  { url: 'http://0xcb007109/', denied: true },
  { url: 'http://[2001:db8::1]/', denied: true },
  { url: 'http://203.0.114.9/', denied: false },
  { url: 'https://api.example/admin/users', denied: true },
  { url: 'https://api.example/%61dmin', denied: true },
  { url: 'https://api.example//admin', denied: true },
  { url: 'https://api.example/other', denied: false },
  { url: 'https://api.example.other/admin', denied: false },
];

t.test('a target is on the list by host, range or URL, however it is spelled', async (t) => {
  const isDenied = compileDenylist(entries);
  for (const { url, denied } of cases) t.equal(isDenied(parseTarget(url)), denied, url);
});

t.test('an empty list denies nothing', async (t) => {
  t.notOk(compileDenylist([])(parseTarget('https://a.example/')));
});

t.test('what is allowed is allowed in every reading, and its stars stay in the host', async (t) => {
  const isAllowed = compileAllowlist([
    'https://shared.example/good/',
    'https://*.partner.example/*',
    '10.0.0.0/8',
  ]);
  for (const [url, allowed] of [
    ['https://shared.example/good/x', true],
    ['https://shared.example/good/..%2fevil/x', false],
    ['https://shared.example/good/..%252fevil/x', false],
    ['https://shared.example/good/..;/evil/x', false],
    ['https://a.partner.example/x', true],
    ['https://evil.example/?.partner.example/', false],
    ['https://evil.example/x.partner.example/', false],
    ['http://10.1.2.3/', true],
  ] as const)
    t.equal(isAllowed(parseTarget(url)), allowed, url);
});
