import t from 'tap';
import { describeTool, mayListTools, toolLists } from '../../src/tenants/listed-tools.ts';

const message = (result: unknown) => JSON.stringify({ jsonrpc: '2.0', id: 1, result });

t.test('finds lists in messages, whatever stands in them', (t) => {
  const cases: readonly { name: string; text: string; want: unknown }[] = [
    { name: 'a list', text: message({ tools: [1] }), want: [{ tools: [1], hasMore: false }] },
    { name: 'a page', text: message({ tools: [], nextCursor: 'x' }), want: [{ tools: [], hasMore: true }] },
    {
      name: 'several messages',
      text: `[${message({ tools: [] })},${message({ tools: [2] })}]`,
      want: { length: 2 },
    },
    { name: 'a byte order mark', text: `\ufeff${message({ tools: [] })}`, want: { length: 1 } },
    { name: 'no list', text: message({ tools: {} }), want: [] },
    { name: 'not a result', text: JSON.stringify({ params: { tools: [] } }), want: [] },
    ...['null', '7', '"tools"', '[]', '[[{"result":{"tools":[]}}]]'].map((text) => ({
      name: text,
      text,
      want: [],
    })),
  ];
  for (const { name, text, want } of cases) t.match(toolLists(text), want, name);
  for (const text of ['', '{', message({ tools: [] }).slice(1), '{"result":{"tools":[NaN]}}'])
    t.equal(toolLists(text), undefined, text);
  t.end();
});

t.test('a name is looked for as it may be written', (t) => {
  for (const text of ['{"tools":[]}', '{"\\u0074\\u006F\\u006fl\\u0073":1}']) t.ok(mayListTools(text), text);
  for (const text of ['', 'tools', '"tool"', '{\\"tools\\":[]}', '"tools_list"'])
    t.notOk(mayListTools(text), text);
  t.end();
});

t.test('a version tells all that is said of a tool, and nothing else', (t) => {
  const tool = {
    name: 'a',
    description: 'one',
    inputSchema: { properties: { x: { type: 'string', description: 'd' } } },
  };
  const version = (it: unknown) => describeTool(it)?.version;
  t.match(version(tool), /^[\w-]{22}$/);
  const same = { inputSchema: tool.inputSchema, description: 'one', name: 'b' };
  t.equal(version(same), version(tool), 'another name, another order');
  const others: readonly unknown[] = [
    { ...tool, description: 'One' },
    { ...tool, description: 'one\u200b' },
    { ...tool, title: '' },
    { ...tool, inputSchema: { properties: { x: { type: 'string', description: 'e' } } } },
    { ...tool, _meta: { a: 1 } },
    JSON.parse('{"name":"a","description":"one","__proto__":{"x":1}}'),
    null,
    7,
  ];
  t.equal(new Set([tool, ...others].map(version)).size, others.length + 1);
  t.end();
});

t.test('texts and parameters are found wherever they stand', (t) => {
  const described = describeTool({
    name: 'a',
    description: 'first',
    inputSchema: {
      properties: {
        one: { description: 'of one', enum: ['e'] },
        two: { items: { properties: { three: true } } },
      },
      $defs: { four: { properties: { five: { description: 5 } } } },
    },
  });
  t.match(described, { name: 'a', text: 'first\nof one\ne' });
  t.same(described?.parameters, [
    { name: 'one', description: 'of one' },
    { name: 'two', description: '' },
    { name: 'three', description: '' },
    { name: 'five', description: '' },
  ]);
  for (const name of [undefined, null, 7, {}]) t.equal(describeTool({ name })?.name, '');
  t.end();
});

t.test('however large or deep a tool is, it is told or it is not', (t) => {
  const nested = (levels: number): unknown => JSON.parse(`{"a":${'['.repeat(levels)}${']'.repeat(levels)}}`);
  t.ok(describeTool(nested(60)));
  for (const levels of [66, 100_000]) t.equal(describeTool(nested(levels)), undefined);
  const properties = Object.fromEntries(Array.from({ length: 50_000 }, (_, at) => [`p${at}`, {}]));
  const wide = describeTool({ name: 'wide', inputSchema: { properties }, x: { properties } });
  t.equal(wide?.parameters.length, 2_000);
  t.end();
});
