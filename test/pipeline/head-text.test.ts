import t from 'tap';
import { headLocator, headText } from '../../src/pipeline/head-text.ts';
import { parseTarget } from '../../src/target.ts';

const places = [
  { name: 'a host label', text: 'needle-host', want: 'host' },
  { name: 'a path segment', text: 'needle-path', want: 'path' },
  { name: 'the first query parameter', text: 'needle-first', want: 'query:a' },
  { name: 'a later query parameter', text: 'needle-later', want: 'query:long name'.replace(' ', '%20') },
  { name: 'the fragment', text: 'needle-fragment', want: 'fragment' },
  { name: 'a header', text: 'needle-header', want: 'header:x-one' },
  { name: "a header's name", text: 'Needle-Name', want: 'header:needle-name' },
];

t.test('every part of the head is read, and its place is named', async (t) => {
  const target = parseTarget(
    'https://needle-host.example/a/needle-path?a=needle-first&long%20name=needle-later#needle-fragment',
  );
  const headers = ['Host', 'x', 'X-One', 'needle-header', 'Needle-Name', 'v'];
  const head = headText(target, headers);
  const locate = headLocator(target, headers);
  for (const { name, text, want } of places) {
    const offset = head.indexOf(text);
    t.not(offset, -1, `${name} is in the text`);
    t.equal(locate(offset), want, name);
  }
});

t.test('a hostile name is bounded in the place', async (t) => {
  const target = parseTarget(`https://a.example/?${'n'.repeat(5000)}=needle`);
  const headers = [`x-${'h'.repeat(5000)}`, 'hay'];
  const head = headText(target, headers);
  const locate = headLocator(target, headers);
  t.ok(locate(head.indexOf('needle')).length <= 80);
  t.ok(locate(head.indexOf('hay')).length <= 160);
});
