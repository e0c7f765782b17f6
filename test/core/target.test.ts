import t from 'tap';
import { GatewayError } from '../../src/core/errors.ts';
import {
  normaliseHost,
  parseAuthority,
  parseDescribed,
  parseTarget,
  targetWithin,
} from '../../src/core/target.ts';

t.test('one host has one spelling', async (t) => {
  const same: Record<string, string[]> = {
    'example.com': ['example.com', 'EXAMPLE.com', 'example.com.', 'ｅｘａｍｐｌｅ.com', 'exam\u00adple.com'],
    'xn--mnchen-3ya.de': ['münchen.de', 'MÜNCHEN.de', 'xn--mnchen-3ya.de', 'XN--MNCHEN-3YA.de'],
    '127.0.0.1': ['127.0.0.1', '127.1', '0x7f.1', '0177.0.0.1', '2130706433', '0x7f000001', '127.0.0.1.'],
    '::1': ['[::1]', '::1', '[0:0:0:0:0:0:0:1]', '[::0001]'],
    '::ffff:7f00:1': ['[::ffff:127.0.0.1]', '::FFFF:127.0.0.1'],
  };
  for (const [want, spellings] of Object.entries(same)) {
    for (const spelling of spellings) t.equal(normaliseHost(spelling), want, spelling);
  }
});

t.test('what is no host is refused', async (t) => {
  const bad = [
    '',
    '.',
    '..',
    'a..b',
    ' ',
    'a b',
    'a\0b',
    'a\nb',
    'a/b',
    'a\\b',
    'a?b',
    'a#b',
    'u@h',
    'a%2eb',
    '[::1',
    '::1]',
    '[fe80::1%25eth0]',
    'fe80::1%eth0',
    '1.2.3.4.5',
    '256.1.1.1',
    '0x100000000',
    'a:80',
    `${'a'.repeat(64)}.com`,
    `${'a.'.repeat(127)}ab`,
  ];
  for (const text of bad) t.equal(normaliseHost(text), undefined, JSON.stringify(text));
});

t.test('an authority is host and port', async (t) => {
  t.same(parseAuthority('Example.com:8443', 443), { host: 'example.com', port: 8443 });
  t.same(parseAuthority('[::1]:8443', 443), { host: '::1', port: 8443 });
  t.same(parseAuthority('example.com', 443), { host: 'example.com', port: 443 });
  for (const text of ['', ':443', 'a:0', 'a:65536', 'a:-1', 'a:4 3', 'a:80:80', 'u@a:80', 'a:https']) {
    t.equal(parseAuthority(text, 443), undefined, text);
  }
});

t.test('a target is normalised once', async (t) => {
  const cases = [
    { url: 'HTTPS://Example.COM/A?b=C', href: 'https://example.com/A?b=C' },
    { url: 'https://example.com', href: 'https://example.com/' },
    { url: 'https://example.com:443/x', href: 'https://example.com/x' },
    { url: 'https://example.com:8443/x', href: 'https://example.com:8443/x' },
    { url: 'https://example.com/a/../b/./c', href: 'https://example.com/b/c' },
    { url: 'https://example.com/a/%2e%2e/b', href: 'https://example.com/b' },
    { url: 'https://example.com/a%2Fb', href: 'https://example.com/a%2Fb' },
    { url: 'http://127.1/', href: 'http://127.0.0.1/' },
    { url: 'http://[::1]:81/', href: 'http://[::1]:81/' },
    { url: 'https://example.com/\\a?', href: 'https://example.com//a?' },
    { url: 'https://example.com/a?#b?', href: 'https://example.com/a?' },
    { url: 'https://example.com/a#b?', href: 'https://example.com/a' },
    { url: 'mcp://Server/tool', href: 'mcp://server/tool' },
    { url: 'constructor://Server/tool', href: 'constructor://server/tool' },
  ];
  for (const { url, href } of cases) t.equal(parseTarget(url).href, href, url);
  t.equal(parseTarget('https://example.com/x#part').fragment, 'part');
  t.notMatch(parseTarget('https://example.com/x#part').href, '#');
  const described = parseDescribed('https://user:pass%20word@example.com/x');
  t.match(described, { userInfo: 'user:pass%20word', host: 'example.com', href: 'https://example.com/x' });
  t.equal(parseDescribed('https://token@example.com/').userInfo, 'token');
  t.equal(parseDescribed('constructor://server/x').port, 0, 'a scheme is no name of the language');
});

t.test('a path inside an origin gives the target that the whole URL gives', async (t) => {
  const paths = [
    '/',
    '/a',
    '/a/b?c=d&e=%20',
    '/a/../b',
    '/a/./b',
    '/%2e%2e/x',
    '/a//b',
    '//a',
    '/a?x=../y',
    '/.hidden',
    '/a.b/c..d',
    '/a\\b',
    '/%',
    "/it's",
    '/a?b="c"',
    '/..',
    '/x/.',
    '/x/%2E/',
  ];
  for (const path of paths) {
    const inside = targetWithin('https', 'example.com', 443, path);
    const whole = parseTarget(`https://example.com${path}`);
    t.equal(inside.href, whole.href, path);
    t.equal(inside.path, whole.path, path);
    t.equal(inside.host, 'example.com', `${path} does not change the host`);
  }
});

t.test('what no call can have is refused with the place', async (t) => {
  const bad = [
    '',
    'example.com/x',
    '/x',
    '//example.com/x',
    'file:///etc/passwd',
    'data:text/plain,x',
    'javascript:alert(1)',
    'https:///x',
    'https://u:p@example.com/',
    'https://@example.com/',
    'https://example.com:99999/',
    'https://exa mple.com/',
    'https://example.com/a b',
    'https://example.com/\n',
    'https://a..b/',
    'https://example.com../',
    'http://example.com:0/',
    `https://example.com/${'x'.repeat(70_000)}`,
  ];
  for (const url of bad) {
    try {
      parseTarget(url);
      t.fail(`accepted ${url.slice(0, 40)}`);
    } catch (error) {
      t.ok(error instanceof GatewayError && error.code === 'VALIDATION_FAILED', url.slice(0, 40));
    }
  }
});
