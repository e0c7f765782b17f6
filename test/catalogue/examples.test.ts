import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import t from 'tap';
import { loadCatalogue } from '../../src/catalogue/catalogue.ts';
import { readTools } from '../../src/catalogue/load/load.ts';
import { operationsOf } from '../../src/catalogue/load/operations.ts';
import { requestOf } from './support.ts';

const dir = join(import.meta.dirname, '../../config/tools');
const catalogue = loadCatalogue(dir);
const tools = readTools(dir, [], true);

t.ok(tools.length >= 60, `${tools.length} tools`);

t.test('examples are the last part of each file', async (t) => {
  for (const file of readdirSync(dir).filter((it) => it.endsWith('.yaml'))) {
    const [, ...behind] = readFileSync(join(dir, file), 'utf8').split(/^examples:/m);
    t.equal(behind.length, 1, file);
    t.notMatch(behind[0], /^\w/m, file);
  }
});

/** A file may write the only value of a tag for the list of it. */
function withLists({ resource }: { resource?: Record<string, unknown> | undefined }) {
  const tags = resource?.['tags'];
  if (typeof tags !== 'object' || tags === null) return {};
  const lists = Object.entries(tags).map(([name, value]) => [name, [value].flat()]);
  return { resource: { ...resource, tags: Object.fromEntries(lists) } };
}

for (const tool of tools) {
  t.test(`${tool.name}: every example is understood as its file says`, async (t) => {
    const seen = new Set<string>();
    for (const { method, url, headers, body, expect } of tool.examples) {
      const { operation, ...rest } = expect;
      const understood = catalogue.understand(requestOf(method, url, headers, body));
      // Resources are compared whole, so that a field too many is found, too.
      const want = { ...understood, toolName: tool.name, name: operation, ...rest, ...withLists(rest) };
      if (!isDeepStrictEqual(understood, want)) t.strictSame(understood, want, `${method} ${url}`);
      seen.add(understood.name);
    }
    const { table: _, ...written } = tool;
    const untried = [...operationsOf(written)].map(({ name }) => name).filter((name) => !seen.has(name));
    t.strictSame(untried, [], 'every operation has an example');
  });
}
