import t from 'tap';
import { readingsOf } from '../../src/core/url-readings.ts';
import { compilePathGlob } from '../../src/util/path-glob.ts';

const cases = [
  { glob: '/v1/**', match: ['/v1', '/v1/', '/v1/a', '/v1/a/b'], pass: ['/', '/v2/a', '/v1a', '/x/v1/a'] },
  {
    glob: '/repos/*/issues',
    match: ['/repos/a/issues'],
    pass: ['/repos/a/b/issues', '/repos/issues', '/repos/a/issues/1'],
  },
  { glob: '/**/raw/*', match: ['/raw/a', '/a/b/raw/c', '/raw/raw/a'], pass: ['/raw', '/a/raw/b/c'] },
  { glob: '/a/**/b/**/c', match: ['/a/b/c', '/a/x/b/y/b/z/c'], pass: ['/a/c', '/a/b/c/d', '/a/x/c'] },
  { glob: '/file-?.[tj]s', match: ['/file-1.ts'], pass: ['/file-12.ts', '/file-1.cs', '/file-/.ts'] },
  { glob: '/', match: ['/'], pass: ['/a', '//'] },
];

for (const { glob, match, pass } of cases) {
  t.test(`reads ${glob} segment by segment`, async (t) => {
    const matches = compilePathGlob(glob);
    for (const path of match) t.ok(matches(path), path);
    for (const path of pass) t.notOk(matches(path), path);
  });
}

t.test('takes a long path against many stars without going through all their ways', async (t) => {
  const matches = compilePathGlob(`/${'**/a/'.repeat(200)}b`);
  t.notOk(matches(`/${'a/'.repeat(10_000)}c`));
});

t.test('does not match every reading of a path in which some servers see other segments', async (t) => {
  const glob = compilePathGlob('/repos/acme/**');
  const matches = (path: string) =>
    readingsOf(`https://h${path}`).every((url) => glob(url.slice('https://h'.length)));
  const hiding = [
    '%252e%252e%252fother',
    '..%252fother',
    '%252E%252E/other',
    '%25252e%25252e%25252fother',
    '..%25%32%66other',
    '..%%32%66other',
    '..%255cb',
    '..%c0%afother',
    '..%e0%80%afother',
    '%u002e%u002e/other',
    `%${'25'.repeat(6)}61`,
  ];
  for (const path of hiding) t.notOk(matches(`/repos/acme/${path}`), path);
  for (const path of ['a%20b', '100%25', '%2541', '%c3%a9', '50%'])
    t.ok(matches(`/repos/acme/${path}`), path);
});
