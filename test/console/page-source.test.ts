import { existsSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { loadAssets } from '../../src/console/assets.ts';
import { createPageSource, placeOfPage } from '../../src/console/page-source.ts';

const config = `
import { defineConfig } from 'vite';
export default defineConfig({
  root: import.meta.dirname,
  base: './',
  build: { outDir: process.env.CONSOLE_OUT, emptyOutDir: true },
});
`;

t.test(
  'a page is built when it is missing or its sources are newer, and otherwise taken as it is',
  async (t) => {
    const dir = t.testdir({
      node_modules: t.fixture('symlink', join(import.meta.dirname, '../../node_modules')),
      page: {
        'index.html': '<!doctype html><script type="module" src="./main.ts"></script>',
        'main.ts': 'document.title = "first";',
        'vite.config.ts': config,
      },
    });
    const sources = join(dir, 'page');
    const built = join(dir, 'dist/page');
    const source = createPageSource({ sources, built });
    t.equal(source.last, undefined);
    const [one, other] = await Promise.all([source.current(0), source.current(0)]);
    t.equal(one, other, 'who comes meanwhile waits for the same build');
    t.ok(existsSync(join(built, 'index.html')));
    const texts = (assets: typeof one) => [...assets.values()].map((it) => it.plain.toString()).join('\n');
    t.match(texts(one), 'first');

    writeFileSync(join(built, 'mark.txt'), 'standing');
    const again = createPageSource({ sources, built });
    t.ok((await again.current(0)).has('mark.txt'), 'another daemon takes what stands there');
    const change = (text: string, afterMs: number): void => {
      writeFileSync(join(sources, 'main.ts'), text);
      const seconds = (Date.now() + afterMs) / 1000;
      utimesSync(join(sources, 'main.ts'), seconds, seconds);
    };
    change('document.title = "second";', 10_000);
    t.ok((await again.current(500)).has('mark.txt'), 'sources are not looked at all the time');
    const rebuilt = await again.current(2_000);
    t.match(texts(rebuilt), 'second');
    t.notOk(rebuilt.has('mark.txt'));

    change('document.title = ;', 20_000);
    await t.rejects(again.current(4_000), /main\.ts/, 'the reason names the file');
    await t.rejects(again.current(5_500), /main\.ts/, 'and is not looked for at each visit');
    change('document.title = "third";', 30_000);
    t.match(texts(await again.current(7_000)), 'third');
  },
);

t.test('a package has a built page, and only files that may be served', async (t) => {
  const dir = t.testdir({
    whole: { dist: { console: { page: { 'index.html': '<p>', assets: { 'a.js': '1' } } } } },
    empty: { page: {} },
    strange: { page: { 'index.html': '', '.env': 'SECRET=1' } },
    many: {
      page: {
        'index.html': '',
        ...Object.fromEntries(Array.from({ length: 256 }, (_, at) => [`${at}.js`, ''])),
      },
    },
  });
  const place = placeOfPage(join(dir, 'whole'));
  t.same(place, { built: join(dir, 'whole/dist/console/page'), sources: undefined });
  const source = createPageSource(place);
  const assets = await source.current(0);
  t.same([...assets.keys()].sort(), ['assets/a.js', 'index.html']);
  t.equal(await source.current(9_999), assets, 'it is read once');
  t.match(placeOfPage().sources, /src\/console\/page$/, 'this is a checkout');
  await t.rejects(loadAssets(join(dir, 'empty/page')), /no index\.html/);
  await t.rejects(loadAssets(join(dir, 'strange/page')), /not served: \.env/);
  await t.rejects(loadAssets(join(dir, 'many/page')), /more than 256 files/);
});
