import t from 'tap';
import { urlsIn } from '../../../src/inspect/parts/urls-in-texts.ts';
import { ThreatIndex } from '../../../src/risk/feeds/index/threat-index.ts';
import { read } from '../../risk/feeds/reading.ts';

const listed = [
  'evil.example',
  'http://pages.example/a/mal.exe',
  'böse.example',
  'http://shared.example/évil/mal',
];
const index = new ThreatIndex([{ name: 'own', set: await read('lines', listed.join('\n')) }]);
const isHit = (text: string): boolean =>
  [...urlsIn([Buffer.from(text)])].some((readings) => readings.some((url) => index.findUrl(url)));

const hits = [
  'http://evil.example/x',
  '[x](http://evil.example)',
  '(http://evil.example)',
  '1,http://evil.example,2',
  'http://evil.example; and more',
  'http://evil.example!',
  '{u=http://evil.example}',
  '[http://evil.example]',
  'a|http://evil.example|b',
  '**http://evil.example**',
  '_http://evil.example_',
  '“http://evil.example”',
  "'http://evil.example'",
  '看http://evil.example。好',
  '見る「http://evil.example」',
  'http://evil.example…',
  'http://evil.example\u00a0is bad',
  'http://evil.example.',
  '[x](http://pages.example/a/mal.exe)',
  'see http://pages.example/a/mal.exe.',
  'see http://pages.example/a/mal.exe, please',
  'http://böse.example/',
  'http://shared.example/évil/mal',
  '<img src="//evil.example/x">',
  'http:\\\\evil.example/',
  'http:/\\evil.example/',
  "http://u'x@evil.example/",
  'http://user:pw@evil.example:80/',
  '{"a":"http:\\/\\/evil.example"}',
];
for (const text of hits) t.test(`${text} is found`, async (t) => t.ok(isHit(text)));

const misses = [
  'https://good.example/?evil.example',
  'https://good.example/a//evil.example',
  'https://good.example/x, evil.example',
  '// evil.example is one of those',
  'http://pages.example/a/mal.exec',
  'http://[2001:db8::1]/evil.example',
];
for (const text of misses) t.test(`nothing is found in ${text}`, async (t) => t.notOk(isHit(text)));

t.test('an address in brackets is one URL in every reading', async (t) => {
  const [readings] = [...urlsIn([Buffer.from('see http://[2001:db8::1]:80/a).')])];
  t.strictSame(readings, ['http://[2001:db8::1]:80/a).', 'http://[2001:db8::1]:80/a']);
});

t.test('500 places are looked at, and no host that is longer than any', async (t) => {
  const many = Array.from({ length: 600 }, (_, at) => `http://h${at}.example/`).join(' ');
  t.equal([...urlsIn([Buffer.from(many)])].length, 500);
  const long = `http://${'ж'.repeat(900)}.example/ http://${'x'.repeat(1100)}.example/`;
  t.equal([...urlsIn([Buffer.from(long)])].length, 1, 'of 900 letters; with 1,100 it is none');
  t.equal([...urlsIn([Buffer.from('//'.repeat(100_000))])].length, 0);
  const slashes = 'a//'.repeat(150_000);
  t.equal([...urlsIn([Buffer.from(`${slashes} http://evil.example/`)])].length, 1);
  t.equal(
    [...urlsIn([Buffer.from(`${slashes}${slashes} http://evil.example/`)])].length,
    0,
    'behind 300,000',
  );
});
