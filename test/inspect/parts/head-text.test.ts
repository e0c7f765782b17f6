import t from 'tap';
import { headLocator, headText, readingsMax } from '../../../src/inspect/parts/head-text.ts';
import { callOf } from '../../support/call.ts';

const places = [
  { name: 'a host label', text: 'needle-host', want: 'host' },
  { name: 'a path segment', text: 'needle-path', want: 'path' },
  { name: 'the first query parameter', text: 'needle-first', want: 'query:a' },
  { name: 'a later query parameter', text: 'needle-later', want: 'query:long name'.replace(' ', '%20') },
  { name: 'the fragment', text: 'needle-fragment', want: 'fragment' },
  { name: 'user information', text: 'needle-user', want: 'userinfo' },
  { name: 'an unusual method', text: 'NEEDLE-METHOD', want: 'method' },
  { name: 'a header', text: 'needle-header', want: 'header:x-one' },
  { name: 'a header that is called like another place', text: 'needle-called', want: 'header:fragment' },
  { name: "a header's name", text: 'Needle-Name', want: 'header:needle-name' },
];

t.test('every part of the head is read, and its place is named', async (t) => {
  const url =
    'https://needle-user:x@needle-host.example/a/needle-path?a=needle-first&long%20name=needle-later#needle-fragment';
  const headers = ['Host', 'x', 'X-One', 'needle-header', 'Fragment', 'needle-called', 'Needle-Name', 'v'];
  const call = callOf({ url, headers, method: 'NEEDLE-METHOD' });
  const head = headText(call);
  const locate = headLocator(call, []);
  for (const { name, text, want } of places) {
    const offset = head.indexOf(text);
    t.not(offset, -1, `${name} is in the text`);
    t.equal(locate(offset), want, name);
  }
});

t.test('a hostile name is bounded in the place', async (t) => {
  const url = `https://a.example/?${'n'.repeat(5000)}=needle`;
  const headers = [`x-${'h'.repeat(5000)}`, 'hay'];
  const call = callOf({ url, headers });
  const head = headText(call);
  const locate = headLocator(call, []);
  t.ok(locate(head.indexOf('needle')).length <= 80);
  t.ok(locate(head.indexOf('hay')).length <= 160);
});

t.test('a name that holds what was found is not quoted', async (t) => {
  const call = callOf({
    url: 'https://a.example/?secret1=x',
    headers: ['x-secret2', 'v', 'x-plain', 'secret3'],
  });
  const head = headText(call);
  const hidden = ['secret1', 'secret2', 'secret3'].map((it) => ({
    start: head.indexOf(it),
    end: head.indexOf(it) + it.length,
  }));
  const locate = headLocator(call, hidden);
  t.same(
    hidden.map(({ start }) => locate(start)),
    ['query:[REDACTED]', 'header:[REDACTED]', 'header:x-plain'],
  );
});

t.test('Accept-Encoding is left out only where it is what it should be', async (t) => {
  const textOf = (value: string): string => headText(callOf({ headers: ['Accept-Encoding', value] }));
  for (const usual of ['gzip, deflate, br', 'gzip;q=1.0, identity; q=0.5, *;q=0', 'zstd'])
    t.notMatch(textOf(usual), /Accept/);
  for (const odd of ['needle', 'gzip, needle', 'gzip; needle=1']) t.match(textOf(odd), odd);
});

t.test('names are remembered up to a bound, and read the same behind it', async (t) => {
  const textOf = (...headers: string[]): string => headText(callOf({ headers }));
  for (let i = 0; i <= readingsMax; i++) t.match(textOf(`x-name-${i}`, 'needle'), `x-name-${i}: needle`);
  t.notMatch(textOf('Host', 'needle'), 'needle');
  t.notMatch(textOf('Accept-Encoding', 'gzip'), 'gzip');
});
