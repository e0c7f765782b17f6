import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import t from 'tap';

const root = resolve(import.meta.dirname, '../..');
const pages = ['*.md', '{bench,certs,config,docs}/**/*.md'].flatMap((glob) => globSync(glob, { cwd: root }));
const lineMax = 120;

const textOf = (page: string): string => readFileSync(join(root, page), 'utf8');

/** The anchors of a page, as code hosts make them of its headings. */
const anchorsOf = (page: string): readonly string[] =>
  [...textOf(page).matchAll(/^#+ (.*)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  );

/** Links to files of the project. */
const linksIn = (page: string): readonly string[] =>
  [...textOf(page).matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, target = '']) => target)
    .filter((target) => !/^[a-z]+:/.test(target));

t.test('every link leads to a file, and to a heading of it', async (t) => {
  for (const page of pages)
    for (const link of linksIn(page)) {
      const [path = '', anchor] = link.split('#');
      const target = path === '' ? page : join(dirname(page), path);
      const leads = existsSync(join(root, target)) && (!anchor || anchorsOf(target).includes(anchor));
      t.ok(leads, `${page}: ${link}`);
    }
});

t.test('no line of a page, or of the configuration that ships, is longer than 120 characters', async (t) => {
  for (const page of [...pages, ...globSync('config/**/*.yaml', { cwd: root })]) {
    const long = textOf(page)
      .split('\n')
      .flatMap((line, index) => (line.length > lineMax ? [`${page}:${index + 1}`] : []));
    t.strictSame(long, []);
  }
});
