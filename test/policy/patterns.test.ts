import picomatch from 'picomatch';
import t from 'tap';
import { readingsOf } from '../../src/core/url-readings.ts';
import { compileUrlPattern, urlPatternProblem } from '../../src/policy/match/url-pattern.ts';
import { compileGlob, globLengthMax, globProblem } from '../../src/util/glob.ts';

t.test('a glob with ? and sets does not hold up the daemon over a text that an agent chooses', async (t) => {
  const [part, text] = ['a'.repeat(200), 'a'.repeat(3_000_000)];
  const glob = compileGlob(`*${part}?${part}[bc]*`);
  t.equal(glob(text), false);
  t.equal(glob(`${text}xb`), false, 'what the ? stands for has its place');
  t.equal(glob(`${text}x${part}c-`), true);
  t.equal(glob(`${text}\u{1f600}${part}`), false);
});

t.test('a piece with ? is found wherever it stands, however long it is', async (t) => {
  for (const length of [2, 31, 32, 33, 63, 64, 65, 300]) {
    const piece = Array.from({ length }, (_, at) => String.fromCharCode(97 + ((at * 7) % 26))).join('');
    const glob = compileGlob(`*?${piece.slice(1)}*`);
    for (const before of ['', 'a', 'ab'.repeat(40)])
      t.ok(glob(`${before}${piece}z`), `${length} behind ${before.length}`);
    t.notOk(glob(`zz${piece.slice(1, -1)}\u00e9`), `${length}: the end is missing`);
  }
});

t.test('a glob matches what picomatch matches where * crosses slashes', async (t) => {
  const patterns = [
    'a*',
    '*a',
    '*',
    'a?c',
    'a*b*c',
    '[ab]c',
    '[a-c]?',
    'a[!b]c',
    'acme/*',
    '*/app',
    '**/x',
    'a**b',
    '*a*b*',
    'ab',
    '?',
    '[x]*[y]',
  ];
  const texts = [
    'a',
    'ab',
    'abc',
    'abbc',
    'ac',
    'bc',
    'acme/app',
    'acme/x/app',
    'x/x',
    'a/b',
    'aXXbYYc',
    'xay',
    'x1y',
    'cc',
    'b',
  ];
  for (const pattern of patterns) {
    // `bash` lets * cross slashes; without dot files there is nothing special about a dot.
    const reference = picomatch(pattern, {
      bash: true,
      dot: true,
      posix: true,
      nobrace: true,
      noextglob: true,
    });
    const matches = compileGlob(pattern);
    for (const text of texts) t.equal(matches(text), reference(text), `${pattern} on ${text}`);
  }
});

t.test('a glob matches as a shell does at its edges', async (t) => {
  const rows: [pattern: string, text: string, isMatch: boolean][] = [
    ['', '', true],
    ['*', '', true],
    ['?', '', false],
    ['ab*ba', 'aba', false],
    ['ab*ba', 'abba', true],
    ['*.x', '.x', true],
    ['a[]]b', 'a]b', true],
    ['a[!]]b', 'a]b', false],
    ['a[-z]b', 'a-b', true],
    ['[^a]', 'b', true],
    ['(a)+$b.', '(a)+$b.', true],
    ['a.c', 'abc', false],
    ['A*', 'abc', false],
  ];
  for (const [pattern, text, isMatch] of rows)
    t.equal(compileGlob(pattern)(text), isMatch, `${pattern} on ${text}`);
});

t.test('what is more than a glob is refused, with a reason', async (t) => {
  for (const pattern of [
    '{a,b}',
    '+(a|b)',
    '!(a)',
    '@(a)',
    '!a',
    '^a',
    'a$',
    'a\\d',
    '(a|b)',
    '[abc',
    '[[:alpha:]]',
    '[z-a]',
    'a'.repeat(globLengthMax + 1),
  ]) {
    t.type(globProblem(pattern), 'string', pattern.slice(0, 20));
  }
  for (const pattern of ['a*', 'a.b', 'a+b', '[!a]', 'f(x)', '*.*'])
    t.equal(globProblem(pattern), undefined, pattern);
});

t.test('a glob of many stars ends soon on a text made against it', async (t) => {
  // In a regular expression each star doubles the ways to try; this test would not end.
  const pattern = `${'*a'.repeat(250)}*b`;
  t.equal(compileGlob(pattern)('a'.repeat(60_000)), false);
  t.equal(compileGlob(`${'*?a'.repeat(150)}*[b]`)('a'.repeat(60_000)), false);
});

t.test('a URL prefix ends where a host ends', async (t) => {
  const rows: [pattern: string, url: string, isMatch: boolean][] = [
    ['https://api.x.com', 'https://api.x.com/', true],
    ['https://api.x.com', 'https://api.x.com:8443/', true],
    ['https://api.x.com', 'https://api.x.com.evil.com/', false],
    ['https://api.x.com', 'https://api.x.community/', false],
    ['https://api.x.com:84', 'https://api.x.com:8443/', false],
    ['https://api.x.com:443', 'https://api.x.com/', true],
    ['https://API.x.com./v1', 'https://api.x.com/v1/y', true],
    ['https://münchen.de/', 'https://xn--mnchen-3ya.de/', true],
    ['https://[::1]/a', 'https://[::1]/abc', true],
    ['https://[::1]:8080', 'https://[::1]:8080/', true],
    ['https://', 'https://any.example/', true],
    ['https://', 'ftp://any.example/', false],
    ['mcp://Server/tool', 'mcp://server/tool/x', true],
    ['https://x.com/%7euser', 'https://x.com/~user/a', true],
  ];
  for (const allows of [true, false]) {
    for (const [pattern, url, isMatch] of rows) {
      t.equal(urlPatternProblem(pattern, allows), undefined, pattern);
      t.equal(compileUrlPattern(pattern, allows)(url), isMatch, `${pattern} on ${url}`);
    }
  }
});

t.test('a URL glob covers the whole URL; its stars stay in the authority where it allows', async (t) => {
  const rows: [pattern: string, url: string, denies: boolean, allows: boolean][] = [
    ['https://*.x.com/*', 'https://a.b.x.com/y/z', true, true],
    ['https://*.x.com/*', 'https://evil.com/?.x.com/', true, false],
    ['https://*.x.com/*', 'https://a.x.com:8443/', false, false],
    ['https://*.X.com:443/*', 'https://a.x.com/', true, true],
    ['https://*.x.com', 'https://a.x.com/y', true, true],
    ['https://*.x.com', 'https://evil.com/a.x.com', false, false],
    ['*://api.x.com/*', 'http://api.x.com/y', true, true],
    ['*://api.x.com/*', 'http://evil.com/?https://api.x.com/', true, false],
    ['https://*/admin/*', 'https://h.example/admin/x', true, true],
    ['https://*/admin/*', 'https://h.example/v1/admin/x', true, false],
    ['https://api.x.com/v?/*', 'https://api.x.com/v2/a/b?c=d', true, true],
    ['https://api.x.com/v?/*', 'https://api.x.com/v10/a', false, false],
    ['https://[::1]/*', 'https://[::1]/x', true, true],
    ['https://[::1]/*', 'https://1/x', false, false],
    ['https://*', 'https://any.example/x?y', true, true],
    ['*', 'mcp://x/y', true, true],
    ['https://API.x.com/[ab]/*', 'https://api.x.com/b/c', true, true],
  ];
  for (const [pattern, url, denies, allows] of rows) {
    t.equal(compileUrlPattern(pattern, false)(url), denies, `${pattern} on ${url}`);
    t.equal(compileUrlPattern(pattern, true)(url), allows, `allowing ${pattern} on ${url}`);
  }
  t.equal(compileUrlPattern('*.x.com/*', false)('https://a.x.com/'), true);
});

t.test('URL patterns that cannot mean what they say are refused', async (t) => {
  const refused = [
    'api.x.com',
    '/admin',
    'https://a b/',
    'https://exa mple/*',
    'https?://x/*',
    'https://{a,b}.x/*',
    'https://x/(a|b)*',
    `https://x/${'a'.repeat(3000)}`,
    'https://..',
    'https://x:99999/',
  ];
  for (const pattern of refused) t.type(urlPatternProblem(pattern, false), 'string', pattern.slice(0, 30));
  t.type(urlPatternProblem('*.x.com/*', true), 'string');
  t.equal(urlPatternProblem('*.x.com/*', false), undefined);
});

t.test('a URL has further readings where servers differ', async (t) => {
  const rows: [href: string, readings: string[]][] = [
    ['https://x.com/a/b?c=//d', ['https://x.com/a/b?c=//d']],
    ['https://x.com/%61%2d%7e%2f', ['https://x.com/a-~%2F', 'https://x.com/a-~/']],
    ['https://x.com//a', ['https://x.com//a', 'https://x.com/a']],
    ['https://x.com/a/..%5cb', ['https://x.com/a/..%5Cb', 'https://x.com/b']],
    ['https://x.com/a;v=1/b', ['https://x.com/a;v=1/b', 'https://x.com/a/b']],
    ['https://x.com/a/..%252fb', ['https://x.com/a/..%252fb', 'https://x.com/b']],
    ['https://x.com/a/..%3bp/b', ['https://x.com/a/..%3Bp/b', 'https://x.com/b']],
    ['https://x.com/a/..%253b/b', ['https://x.com/a/..%253b/b', 'https://x.com/b']],
    ['https://x.com/%2561', ['https://x.com/%2561', 'https://x.com/a']],
    ['https://x.com/%6%31', ['https://x.com/%61', 'https://x.com/a']],
    ['https://x.com/a/..%c0%afb', ['https://x.com/a/..%C0%AFb', 'https://x.com/b']],
    ['https://x.com/a/..%e0%80%afb', ['https://x.com/a/..%E0%80%AFb', 'https://x.com/b']],
    ['https://x.com/a/..%f0%80%80%afb', ['https://x.com/a/..%F0%80%80%AFb', 'https://x.com/b']],
    ['https://x.com/a/%u002e%u002e%u2215b', ['https://x.com/a/%u002e%u002e%u2215b', 'https://x.com/b']],
    ['https://x.com/a%uff0fb', ['https://x.com/a%uff0fb', 'https://x.com/a/b']],
    ['https://x.com/%ud800?%2561', ['https://x.com/%ud800?%2561', 'https://x.com/%EF%BF%BD?%2561']],
    ['https://x.com/a/.%09./b', ['https://x.com/a/.%09./b', 'https://x.com/b']],
    ['https://x.com/admin%00.png', ['https://x.com/admin%00.png', 'https://x.com/admin']],
    ['https://x.com/a/..%2500b', ['https://x.com/a/..%2500b', 'https://x.com/a/..%00b', 'https://x.com/']],
    ['https://x.com/a%00/..;/b', ['https://x.com/a%00/..;/b', 'https://x.com/b', 'https://x.com/a']],
    ['https://x.com/50%', ['https://x.com/50%']],
    ['https://x.com/100%25', ['https://x.com/100%25']],
    ['https://x.com/caf%c3%a9', ['https://x.com/caf%C3%A9']],
  ];
  for (const [href, readings] of rows) t.same(readingsOf(href), readings, href);
});

t.test(
  'what has escapes of escapes beyond measure is allowed by no rule but that for the whole host',
  async (t) => {
    const readings = readingsOf(`https://x.com/a/%${'25'.repeat(9)}2e`);
    t.equal(readings.length, 6);
    t.equal(readings.every(compileUrlPattern('https://x.com/a/*', true)), false);
    t.equal(readings.every(compileUrlPattern('https://x.com/*', true)), true);
    t.equal(readings.some(compileUrlPattern('https://x.com/a/*', false)), true);
  },
);
