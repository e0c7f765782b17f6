import { setImmediate as nextTurn } from 'node:timers/promises';
import t from 'tap';
import type { SeenList } from '../../src/decision/facts/tool-memory.ts';
import {
  listsPerStreamMax,
  ToolListListener,
  type ToolListListenerOptions,
} from '../../src/response/tool-list-listener.ts';

function listen(options: Partial<ToolListListenerOptions> = {}) {
  const lists: SeenList[] = [];
  let kept = 0;
  const listener = new ToolListListener({
    bytesMax: 10_000,
    keep(bytes) {
      kept += bytes;
      return true;
    },
    isMcp: true,
    isListDue: true,
    isFurtherPage: false,
    onList: async (list) => {
      lists.push(list);
    },
    ...options,
  });
  const hear = (...data: readonly string[]): void => {
    for (const text of data) listener.take(Buffer.from(`data: ${text}\n\n`));
  };
  const heard = async (): Promise<readonly SeenList[]> => {
    for (let turns = 0; turns < listsPerStreamMax * 2; turns += 1) await nextTurn();
    return lists;
  };
  return { listener, hear, heard, kept: () => kept };
}

const list = (name: string, nextCursor?: string): string =>
  JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    result: { tools: [{ name }], ...(nextCursor ? { nextCursor } : {}) },
  });
const seen = (name: string, fields: Partial<SeenList> = {}): SeenList => ({
  tools: [{ name }],
  isPart: false,
  hasMore: false,
  ...fields,
});
const unread = { tools: undefined };

t.test('hears the lists among other messages, in their order', async (t) => {
  const { hear, heard, kept, listener } = listen();
  const escaped = list('b').replace('tools', '\\u0074ool\\u0073');
  const quoted = JSON.stringify({ result: { content: [{ text: list('c') }] } });
  const capabilities = JSON.stringify({ result: { capabilities: { tools: {} } } });
  hear(
    list('a'),
    '{"method":"notifications/progress"}',
    escaped,
    quoted,
    capabilities,
    `[${list('d')},7,null]`,
  );
  t.same(await heard(), [seen('a'), seen('b'), seen('d')]);
  listener.end();
  t.equal(kept(), 0);
});

t.test('pages follow each other on one stream', async (t) => {
  const { hear, heard } = listen();
  hear(list('a', 'next'), list('b'), list('c'));
  t.same(await heard(), [seen('a', { isPart: true, hasMore: true }), seen('b', { isPart: true }), seen('c')]);
  const later = listen({ isFurtherPage: true });
  later.hear(list('a'), list('b'));
  t.same(await later.heard(), [seen('a', { isPart: true }), seen('b')]);
});

t.test('what may be a list and cannot be told is one that nobody has read', async (t) => {
  const { hear, heard, kept, listener } = listen();
  hear(list('a').replace('"a"', 'NaN'), list('x'.repeat(20_000)));
  t.match(await heard(), [unread, unread]);
  const elsewhere = listen({ isListDue: false });
  elsewhere.hear(list('x'.repeat(20_000)));
  t.same(await elsewhere.heard(), [], 'where nobody has asked for one, a long message is something else');
  const crowded = listen({ keep: (bytes) => bytes <= 0 });
  crowded.hear(list('a'));
  t.match(await crowded.heard(), [unread]);
  listener.end();
  t.equal(kept(), 0);
});

t.test('so many lists are heard of a stream, and that there are more is said once', async (t) => {
  const { hear, heard, kept } = listen();
  for (let at = 0; at < listsPerStreamMax + 10; at += 1) hear(list(`t${at}`));
  const lists = await heard();
  t.equal(lists.length, listsPerStreamMax + 1);
  t.match(lists.at(-1), unread);
  t.match(lists.at(-2), { tools: [{ name: `t${listsPerStreamMax - 1}` }] });
  t.equal(kept(), 0);
});

t.test('a stream that does not begin as one of MCP is not listened to', async (t) => {
  const other = listen({ isMcp: false });
  other.hear(list('a'));
  other.listener.take(Buffer.from('event: endpoint\ndata: /messages\n\n'));
  other.hear(list('b'));
  t.same(await other.heard(), []);
  t.equal(other.kept(), 0);
  const old = listen({ isMcp: false });
  old.listener.take(Buffer.from('event: endpoint\ndata: /messages\n\n'));
  old.hear(list('b'));
  t.same(await old.heard(), [seen('b')]);
});
