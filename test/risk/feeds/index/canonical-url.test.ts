import t from 'tap';
import { canonicalPath, splitUrl } from '../../../../src/risk/feeds/index/canonical-url.ts';

const canonical = (text: string): string | undefined => {
  const url = splitUrl(text);
  return url && url.host + canonicalPath(url.path);
};

/* The examples of Safe Browsing's "URLs and Hashing", as far as they are URLs that can be dialled, without scheme and port. */
const cases: readonly (readonly [url: string, want: string | undefined])[] = [
  ['http://host/%25%32%35', 'host/%25'],
  ['http://host/%25%32%35%25%32%35', 'host/%25%25'],
  ['http://host/%2525252525252525', 'host/%25'],
  ['http://host/asdf%25%32%35asd', 'host/asdf%25asd'],
  ['http://host/%%%25%32%35asd%%', 'host/%25%25%25asd%25%25'],
  ['http://www.google.com/', 'www.google.com/'],
  [
    'http://%31%36%38%2e%31%38%38%2e%39%39%2e%32%36/%2E%73%65%63%75%72%65/%77%77%77%2E%65%62%61%79%2E%63%6F%6D/',
    '168.188.99.26/.secure/www.ebay.com/',
  ],
  [
    'http://195.127.0.11/uploads/%20%20%20%20/.verify/.eBay',
    '195.127.0.11/uploads/%20%20%20%20/.verify/.eBay',
  ],
  ['http://host.com/%257Ea%2521b%2540c%2523d%2524e%25f%255E00', 'host.com/~a!b@c%23d$e%25f^00'],
  ['http://3279880203/blah', '195.127.0.11/blah'],
  ['http://www.google.com/blah/..', 'www.google.com/'],
  ['www.google.com/', 'www.google.com/'],
  ['www.google.com', 'www.google.com/'],
  ['http://www.evil.com/blah#frag', 'www.evil.com/blah'],
  ['http://www.GOOgle.com/', 'www.google.com/'],
  ['http://www.google.com.../', 'www.google.com/'],
  ['http://www.google.com./x', 'www.google.com/x'],
  ['http://www..google.com/x', 'www.google.com/x'],
  ['http://.google.com/x', 'google.com/x'],
  ['http://www.google.com/foo\tbar\rbaz\n2', 'www.google.com/foobarbaz2'],
  ['http://www.google.com/q?r?', 'www.google.com/q?r?'],
  ['http://www.google.com/q?r?s', 'www.google.com/q?r?s'],
  ['http://evil.com/foo#bar#baz', 'evil.com/foo'],
  ['http://evil.com/foo;', 'evil.com/foo;'],
  ['http://evil.com/foo?bar;', 'evil.com/foo?bar;'],
  ['http://notrailingslash.com', 'notrailingslash.com/'],
  ['http://www.gotaport.com:1234/', 'www.gotaport.com/'],
  ['  http://www.google.com/  ', 'www.google.com/'],
  ['http:// leadingspace.com/', undefined],
  ['https://www.securesite.com/', 'www.securesite.com/'],
  ['http://host.com/ab%23cd', 'host.com/ab%23cd'],
  ['http://host.com//twoslashes?more//slashes', 'host.com/twoslashes?more//slashes'],

  // Beyond those.
  ['hxxp://evil.example/a', 'evil.example/a'],
  ['ssh+git://evil.example/a', 'evil.example/a'],
  ['http://good.example@evil.example/', 'evil.example/'],
  ['http://good.example%2F@evil.example/', 'evil.example/'],
  ['http://evil.example\\@good.example/', 'evil.example/@good.example/'],
  ['http:\\\\evil.example\\a\\b', 'evil.example/a/b'],
  ['http:evil.example', 'evil.example/'],
  ['https:/evil.example', 'evil.example/'],
  ['http:////evil.example/x', 'evil.example/x'],
  ['//evil.example/x', 'evil.example/x'],
  ['///evil.example/x', undefined],
  ['http://evil.example/a\\b', 'evil.example/a/b'],
  ['http://evil.example/a%5Cb', 'evil.example/a/b'],
  ['http://evil.example/a/%2e%2e/b', 'evil.example/b'],
  ['http://evil.example/a/%252e%252e/b/.', 'evil.example/b/'],
  ['http://evil.example/a%2fb', 'evil.example/a/b'],
  ['http://evil.example/../../x', 'evil.example/x'],
  ['http://evil.example/x?', 'evil.example/x'],
  ['http://evil.example?x', 'evil.example/?x'],
  ['http://evil.example/?a=%2e%2e/%2561', 'evil.example/?a=../a'],
  ['http://bücher.example/ü', 'xn--bcher-kva.example/%C3%BC'],
  ['http://evil.example/%c3%bc', 'evil.example/%C3%BC'],
  ['http://evil%E3%80%82example/', 'evil.example/'],
  ['http://0x7f.1/', '127.0.0.1/'],
  ['http://0300.0250.0.1/', '192.168.0.1/'],
  ['http://[2001:DB8:0:0::1]:8080/x', '2001:db8::1/x'],
  ['http://[::ffff:192.0.2.1]/', '::ffff:c000:201/'],
  ['', undefined],
  ['http://', undefined],
  ['/only/a/path', undefined],
  ['http://a b/', undefined],
];

for (const [url, want] of cases) {
  t.test(`${JSON.stringify(url)} is ${want}`, async (t) => {
    t.equal(canonical(url), want);
    if (want === undefined || want.startsWith('2001:') || want.startsWith('::')) return;
    t.equal(canonical(`http://${want}`), want, 'and stays so');
  });
}

t.test('escapes of escapes cost no more than their length', async (t) => {
  t.equal(
    canonical(`http://evil.example/${'%25'.repeat(20_000)}41`),
    `evil.example/${'%25'.repeat(19_999)}A`,
  );
  t.equal(canonical(`http://evil.example/%${'25'.repeat(30_000)}41`), 'evil.example/A');
});

t.test('only the first 65,536 characters are read', async (t) => {
  const path = 'a'.repeat(100_000);
  t.equal(canonical(`http://evil.example/${path}`)?.length, 65_536 - 'http://'.length);
});
