import t from 'tap';
import { type PathEntry, PathTable, type RouteGroups } from '../../../src/catalogue/load/routes.ts';

const route = (text: string): PathEntry<{ text: string }> => ({ route: text, of: () => ({ text }) });

/** Counts the trees by what is told of the one leaf that each of them has. */
function countingRoutes() {
  const read: string[] = [];
  let trees = 0;
  const group = (name: string, routes: readonly string[]) => () => {
    read.push(name);
    return routes.map(route);
  };
  const groups: RouteGroups<{ text: string }> = {
    bases: [[]],
    byLength: new Map([
      [1, group('one', ['GET /{name}', 'POST /{name}'])],
      [2, group('two', ['GET|PUT /{name}/parts'])],
    ]),
    ofAnyLength: group('any', ['* /{path+}']),
    methods: ['GET', 'POST', 'PUT', '*'],
  };
  const routes = new PathTable(groups, false, (found) => {
    if (found.some(({ text }) => text.startsWith('*'))) trees += 1;
  });
  const textAt = (method: string, ...segments: string[]) => routes.find(method, segments)?.[0]?.text;
  return { textAt, read, trees: () => trees };
}

t.test('a path is looked for among those of its length', async (t) => {
  const { textAt, read } = countingRoutes();
  t.equal(textAt('POST', 'a'), 'POST /{name}');
  t.strictSame(read, ['one', 'any']);
  t.equal(textAt('HEAD', 'a'), 'GET /{name}');
  t.equal(textAt('PUT', 'a', 'parts'), 'GET|PUT /{name}/parts');
  t.equal(textAt('PUT', 'a', 'others'), '* /{path+}');
  t.equal(textAt('PUT', 'a'), '* /{path+}');
  t.equal(textAt('GET'), undefined);
});

t.test('methods that callers make up, and paths longer than all routes, make no further trees', async (t) => {
  const { textAt, trees } = countingRoutes();
  for (let at = 0; at < 100; at++) t.equal(textAt(`MADEUP${at}`, 'a'), '* /{path+}');
  t.equal(trees(), 1);
  for (let length = 3; length < 103; length++)
    t.equal(textAt('GET', ...Array(length).fill('a')), '* /{path+}');
  t.equal(trees(), 2);
});
