import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import t from 'tap';
import { generatedPages } from '../../docs/generate.ts';

const docs = resolve(import.meta.dirname, '../../docs');

for (const [path, make] of Object.entries(generatedPages))
  t.test(`docs/${path} is what its generator writes`, async (t) => {
    const isFresh = readFileSync(join(docs, path), 'utf8') === make();
    t.ok(isFresh, 'a stale page is made anew by: node docs/generate.ts');
  });
