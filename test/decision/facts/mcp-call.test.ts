import t from 'tap';
import type { Operation } from '../../../src/core/call.ts';
import { parseDescribed } from '../../../src/core/target.ts';
import {
  asksForFurtherPage,
  asksForTools,
  mcpCallOf,
  speaksMcp,
} from '../../../src/decision/facts/mcp-call.ts';
import { callOf } from '../../support/call.ts';

type Done = Omit<Operation, 'parts'>;

const operation = (name: string, fields: Partial<Done> = {}): Done => ({
  toolName: 'mcp',
  name,
  category: 'tools',
  verb: 'WRITE',
  resource: {},
  principals: [],
  ...fields,
});
const batch = (...all: readonly Done[]): Operation => ({
  ...(all[0] ?? operation('')),
  parts: all.map((it) => ({ operation: it })),
});
const list = operation('list_tools', { verb: 'READ' });
const elsewhere = operation('add', { toolName: 'github' });

t.test('a call of tools names all of them, and the server by its origin', (t) => {
  const target = parseDescribed('https://MCP.example.com:443/a/b?c=d');
  const cases: readonly { name: string; operation: Operation; want: readonly string[] | undefined }[] = [
    { name: 'one', operation: operation('add'), want: ['add'] },
    {
      name: 'a batch',
      operation: batch(operation('add'), list, operation('pay'), operation('add')),
      want: ['add', 'pay'],
    },
    { name: 'only in a part', operation: batch(elsewhere, operation('add')), want: ['add'] },
    {
      name: 'a tool that is called as the list is',
      operation: operation('list_tools'),
      want: ['list_tools'],
    },
    { name: 'the list', operation: list, want: undefined },
    {
      name: 'another message',
      operation: operation('get_prompt', { category: 'prompts', verb: 'READ' }),
      want: undefined,
    },
    { name: 'another tool', operation: batch(elsewhere, list), want: undefined },
  ];
  for (const { name, operation: it, want } of cases)
    t.same(mcpCallOf(it, target), want && { origin: 'https://mcp.example.com', tools: want }, name);
  t.equal(mcpCallOf(operation('a'), parseDescribed('http://[::1]:8080/'))?.origin, 'http://[::1]:8080');
  t.equal(mcpCallOf(operation('a'), parseDescribed('mcp://search/x'))?.origin, 'mcp://search');
  t.end();
});

t.test('tells what a call has to do with tools', (t) => {
  const of = (it: Operation) => {
    const call = callOf({ operation: it });
    return [speaksMcp(call), asksForTools(call)];
  };
  t.same(of(elsewhere), [false, false]);
  t.same(of(operation('add')), [true, false]);
  t.same(of(list), [true, true]);
  t.same(of(batch(elsewhere, list)), [true, true]);
  t.same(of(operation('list_tools')), [true, false], 'a tool that is called so');
  t.end();
});

t.test('tells whether another page is asked for', (t) => {
  const asks = (body: string) =>
    asksForFurtherPage(callOf({ body: Buffer.from(body), contentType: 'application/json' }), 100_000);
  const message = (params: unknown, method = 'tools/list') =>
    JSON.stringify({ jsonrpc: '2.0', method, params });
  for (const body of [
    message({ cursor: 'x' }),
    message({ cursor: '' }),
    `[${message({})},${message({ cursor: 1 })}]`,
  ])
    t.ok(asks(body), body);
  const others = [
    message({}),
    message({ cursor: null }),
    message(null),
    message('cursor'),
    message({ cursor: 'x' }, 'prompts/list'),
  ];
  for (const body of [...others, '', '{', 'null', '[null,7]']) t.notOk(asks(body), body);
  t.end();
});
