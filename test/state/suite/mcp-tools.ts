import { ownName } from '../../../src/core/safe-name.ts';
import {
  concernDays,
  concernsMax,
  listsMax,
  mcpServerId,
  serversMax,
  toolsMax,
  versionsMax,
} from '../../../src/state/rules/mcp-tools.ts';
import type { SeenTool, Store, ToolDrift, ToolSighting } from '../../../src/state/store.ts';
import { noonMs } from '../records.ts';
import { admitRequest, rubbishCursors, type SuitePart, type Tenant, walk } from './lab.ts';

const origin = 'https://mcp.example.com';
const dayMs = 86_400_000;
const nothing: ToolDrift = { added: [], removed: [], changed: [], risky: [], injected: [], unread: [] };

const tool = (name: string, version = 'one', marks: SeenTool['marks'] = []): SeenTool => ({
  name: ownName(name),
  version,
  marks,
});

type SightingFields = Partial<Omit<ToolSighting, 'server'>> & { origin?: string };

function sighting(
  { tenantId }: Pick<Tenant, 'tenantId'>,
  tools: readonly SeenTool[],
  fields: SightingFields = {},
): ToolSighting {
  const { origin: at = origin, ...others } = fields;
  return {
    tenantId,
    server: { serverId: mcpServerId(tenantId, at), origin: ownName(at) },
    listId: 'path',
    path: ownName('/mcp'),
    tools,
    isPart: false,
    hasMore: false,
    nowMs: noonMs,
    ...others,
  };
}

/** What MCP servers list: who changes what, and what calls are told of it. */
export const mcpTools: SuitePart = async (t, { store, hints, ...lab }) => {
  /** A tenant, and what `admit` says of calls of a tool. */
  const watched = async () => {
    const acme = await lab.tenant();
    const key = await acme.key();
    const see = (tools: readonly SeenTool[], fields?: SightingFields) =>
      store.rememberTools(sighting(acme, tools, fields));
    const told = async (
      name: string,
      { nowMs = noonMs, at = origin, node = store }: { nowMs?: number; at?: string; node?: Store } = {},
    ) => {
      const mcp = { origin: at, tools: [name] };
      const admission = await node.admit(admitRequest(acme, key, { nowMs, mcp }));
      return admission.ok ? admission.toolConcerns : undefined;
    };
    return { acme, key, see, told, serverId: mcpServerId(acme.tenantId, origin) };
  };

  await t.test('what is new in a list is told once, and stands against calls', async (t) => {
    const { acme, key, see, told } = await watched();
    t.same(await told('pay'), [], 'nobody has seen the server');
    t.same(await see([tool('pay'), tool('read')]), nothing, 'the first list');
    t.same(await see([tool('read'), tool('pay')]), nothing, 'the order does not matter');
    t.same(await told('pay'), []);

    const changes = await see([tool('pay', 'two'), tool('send')]);
    t.same(changes, { ...nothing, changed: ['pay'], added: ['send'], removed: ['read'] });
    t.same(await see([tool('pay', 'two'), tool('send')]), nothing);
    t.match(await told('pay'), [{ tool: 'pay', kinds: ['changed'], sinceMs: noonMs }]);
    t.match(await told('send'), [{ tool: 'send', kinds: ['added'] }]);
    t.same(await told('read'), []);
    t.match(await store.admit(admitRequest(acme, key, { mcp: { origin, tools: ['read', 'send', 'pay'] } })), {
      ok: true,
      toolConcerns: { length: 2 },
    });
    t.match(await acme.admit(key), { ok: true, toolConcerns: [] }, 'other calls are not told');
    t.same(await told('pay', { at: 'https://mcp.example.com:8443' }), [], 'nor those to another server');
    const other = await watched();
    t.same(await other.told('pay'), [], 'nor those of another tenant');
    t.same(await other.see([tool('pay', 'two')]), nothing);
  });

  await t.test('a change stands for a week, a mark as long as it is listed', async (t) => {
    const { see, told } = await watched();
    const later = (days: number) => noonMs + days * dayMs;
    t.same(await see([tool('pay'), tool('leak', 'one', ['risky'])]), { ...nothing, risky: ['leak'] });
    await see([tool('pay', 'two'), tool('leak', 'one', ['risky'])]);
    t.match(await told('pay', { nowMs: later(concernDays) }), [{ kinds: ['changed'] }]);
    t.same(await told('pay', { nowMs: later(concernDays + 1) }), []);
    const again = await see([tool('pay', 'two'), tool('leak', 'one', ['risky'])], {
      nowMs: later(concernDays + 1),
    });
    t.same(again, nothing, 'what is known is no news');
    t.same(await told('pay', { nowMs: later(concernDays + 1) }), []);
    t.match(await told('leak', { nowMs: later(2 * concernDays) }), [{ kinds: ['risky'] }]);
    t.same(await told('leak', { nowMs: later(3 * concernDays) }), []);
  });

  await t.test('what is accepted is held against nobody until it changes again', async (t) => {
    const { acme, see, told, serverId } = await watched();
    await see([tool('pay'), tool('send')]);
    const bad = [tool('pay', 'two', ['injected']), tool('send', 'two')];
    t.same(await see(bad), { ...nothing, changed: ['pay', 'send'], injected: ['pay'] });
    t.match(await told('pay'), [{ kinds: ['changed', 'injected'] }]);
    const accept = (tools: readonly string[] | undefined, of = serverId, tenantId = acme.tenantId) =>
      store.acceptTools(tenantId, of, tools, acme.event({ tenantId, kind: 'mcp.accepted' }));
    t.match(await accept(['pay']), { origin, concerns: [{ tool: 'send' }] });
    t.same(await told('pay'), []);
    t.equal((await told('send'))?.length, 1);
    t.same(await see(bad), nothing);
    t.same(await told('pay'), [], 'as it is now');
    t.same(await see([tool('pay', 'three', ['injected']), tool('send', 'two')]), {
      ...nothing,
      changed: ['pay'],
      injected: ['pay'],
    });
    t.match(await told('pay'), [{ kinds: ['changed', 'injected'] }]);
    t.match(await accept(undefined), { concerns: [] });
    t.same([await told('pay'), await told('send')], [[], []]);

    const other = await lab.tenant();
    t.equal(await accept(undefined, serverId, other.tenantId), undefined, 'not for another tenant');
    t.equal(await accept(undefined, mcpServerId(acme.tenantId, 'https://other.example')), undefined);
    t.match(await store.listAudit(acme.tenantId, { kind: 'mcp.accepted' }, { limit: 9, cursor: undefined }), {
      items: { length: 2 },
    });
    t.match(await store.verifyAudit(other.tenantId), { ok: true, entries: 0 }, 'nothing was done there');
  });

  await t.test('a server that gives other lists to other sessions changes nothing for long', async (t) => {
    const { see } = await watched();
    const [one, other] = [[tool('read'), tool('admin')], [tool('read', 'short')]];
    await see(one);
    t.same(await see(other), { ...nothing, changed: ['read'], removed: ['admin'] });
    for (let times = 0; times < 3; times += 1) {
      t.same(await see(one), nothing);
      t.same(await see(other), nothing);
    }
    const versions = Array.from({ length: versionsMax + 1 }, (_, at) => `v${at}`);
    for (const version of versions)
      t.same(await see([tool('read', version)]), { ...nothing, changed: ['read'] });
    t.same(await see([tool('read', 'v0')]), { ...nothing, changed: ['read'] }, 'one that is too long ago');
  });

  await t.test('pages make one list, of which nothing is gone', async (t) => {
    const { see } = await watched();
    const first = { isPart: true, hasMore: true };
    const last = { isPart: true, hasMore: false };
    t.same(await see([tool('a')], first), nothing);
    t.same(await see([tool('b')], first), nothing, 'the list is not whole yet');
    t.same(await see([tool('c')], last), nothing);
    t.same(await see([tool('a')], first), nothing);
    t.same(await see([tool('c'), tool('d')], last), { ...nothing, added: ['d'] });
    t.same(await see([tool('a', 'two')], { ...first, nowMs: noonMs + 1 }), { ...nothing, changed: ['a'] });

    const endless = await watched();
    await endless.see([tool('a')], first);
    t.same(
      await endless.see([tool('b')], { ...first, nowMs: noonMs + 3_600_000 }),
      { ...nothing, added: ['b'] },
      'a list without an end is whole after an hour',
    );
  });

  await t.test('a tool that was read meanwhile is not unread any more', async (t) => {
    const { see, told } = await watched();
    const slow = [tool('a', 'one', ['unread']), tool('b', 'one', ['risky', 'unread'])];
    t.same(await see(slow), { ...nothing, risky: ['b'], unread: ['a', 'b'] });
    t.match(await told('a'), [{ kinds: ['unread'] }]);
    t.same(await see([tool('a'), tool('b', 'one', ['risky'])]), nothing);
    t.same(await told('a'), []);
    t.match(await told('b'), [{ kinds: ['risky'] }]);
    await see(slow);
    await see([tool('a', 'two')]);
    t.match(await told('a'), [{ kinds: ['unread', 'changed'] }], 'as it was before, it was never read');
  });

  await t.test('each path of a server has its own list, and calls are told of all of them', async (t) => {
    const { see, told } = await watched();
    await see([tool('pay')]);
    t.same(await see([tool('pay', 'two')], { listId: 'other', path: ownName('/sse') }), nothing);
    t.same(await see([tool('pay', 'three')], { listId: 'other', path: ownName('/sse') }), {
      ...nothing,
      changed: ['pay'],
    });
    t.match(await told('pay'), [{ kinds: ['changed'] }]);
    await see([tool('pay', 'four')]);
    t.equal((await told('pay'))?.length, 2);
  });

  await t.test('lists are bounded, and what is beyond is remembered as one', async (t) => {
    const { see, told, serverId, acme } = await watched();
    const many = Array.from({ length: toolsMax + 200 }, (_, at) => tool(`t${String(at).padStart(4, '0')}`));
    t.same(await see(many), nothing);
    t.same(await see(many), nothing);
    const last = many.slice(0, -1);
    t.same(await see([...last, tool('t0711', 'two')]), { ...nothing, changed: ['*'] });
    t.match(await told('t0001'), [{ tool: '*', kinds: ['changed'] }], 'which may be any of them');

    const all = many.slice(0, concernsMax + 1).map(({ name }) => tool(name, 'new'));
    t.equal((await see(all, { isPart: true })).changed.length, concernsMax + 1);
    t.match(await told('never-seen'), [{ tool: '*', kinds: ['changed'] }]);
    const event = acme.event({ kind: 'mcp.accepted' });
    t.match(await store.acceptTools(acme.tenantId, serverId, ['*'], event), { concerns: [] });
    t.same(await told('t0001'), []);

    const paged = await watched();
    const pages = [0, 1, 2].map((page) => many.slice(page * 237, (page + 1) * 237));
    for (let times = 0; times < 3; times += 1) {
      for (const [page, tools] of pages.entries())
        t.same(
          await paged.see(tools, { isPart: true, hasMore: page < 2 }),
          nothing,
          'pages that are too many',
        );
    }
    t.same(await paged.see([tool('t0001', 'two')], { isPart: true }), { ...nothing, changed: ['t0001'] });

    for (let at = 0; at < listsMax + 5; at += 1)
      await see([tool('x')], { listId: `list${at}`, nowMs: noonMs + at * dayMs });
    const { items } = await store.listMcpServers(acme.tenantId, { limit: 10, cursor: undefined });
    const lists = items[0]?.lists ?? [];
    t.ok(lists.length <= listsMax);
    t.ok(lists.some(({ listId }) => listId === `list${listsMax + 4}`));
    t.notOk(lists.some(({ listId }) => listId === 'list0'));
    t.ok(JSON.stringify(items).length < 1_000_000);
  });

  await t.test('a list that nobody could read is no change, and stands against all tools', async (t) => {
    const { see, told } = await watched();
    const unread = [tool('*', 'unread', ['unread'])];
    const further = { isPart: true, hasMore: true };
    t.same(await see(unread, further), { ...nothing, unread: ['*'] });
    t.same(await see([tool('a'), tool('b')]), nothing, 'the first that could be read');
    t.same(await see(unread, further), nothing);
    t.match(await told('a'), [{ tool: '*', kinds: ['unread'] }]);
    t.same(await see([tool('a'), tool('c')]), { ...nothing, added: ['c'], removed: ['b'] });
  });

  await t.test('names are only names', async (t) => {
    const { see, told } = await watched();
    const names = ['__proto__', 'constructor', 'toString', "x' OR 1=1 --\0", '\u202e\n{}', 'concerns:', '*'];
    t.same(await see(names.map((name) => tool(name))), nothing);
    t.same(await see(names.map((name) => tool(name))), nothing);
    t.same(new Set((await see(names.map((name) => tool(name, 'two')))).changed), new Set(names));
    for (const name of names)
      t.ok(
        (await told(name))?.some((it) => it.tool === name),
        JSON.stringify(name),
      );
    const twice = await watched();
    await twice.see([tool('a', 'one'), tool('a', 'two')]);
    t.same(await twice.see([tool('a', 'one'), tool('a', 'two')]), nothing, 'a name that stands twice');
    t.same(await twice.see([tool('a', 'one')]), { ...nothing, changed: ['a'] });
  });

  await t.test('servers are listed, those that were seen last first, and the others make room', async (t) => {
    const acme = await lab.tenant();
    const ids: string[] = [];
    for (let at = 0; at < serversMax + 1; at += 1) {
      const seen = sighting(acme, [tool('a')], {
        origin: `https://s${at}.example`,
        nowMs: noonMs + at * dayMs,
      });
      ids.push(seen.server.serverId);
      await store.rememberTools(seen);
    }
    const list = () => walk(t, 200, (page) => store.listMcpServers(acme.tenantId, page));
    const listed = (await list()).map(({ serverId }) => serverId);
    t.ok(listed.length <= serversMax && listed.length > serversMax / 2);
    t.same(listed, ids.reverse().slice(0, listed.length));
    const back = { origin: 'https://s400.example', nowMs: noonMs + 1_000 * dayMs };
    await store.rememberTools(sighting(acme, [tool('a')], back));
    t.equal((await list())[0]?.origin, back.origin, 'seen again');
    t.equal((await list()).length, listed.length);
    for (const cursor of rubbishCursors)
      await t.rejects(store.listMcpServers(acme.tenantId, { limit: 10, cursor }), {
        code: 'VALIDATION_FAILED',
      });
    const other = await lab.tenant();
    t.same((await store.listMcpServers(other.tenantId, { limit: 10, cursor: undefined })).items, []);
  });

  await t.test(
    'of nodes that see a change at once, one is told of it, and calls on all of them',
    async (t) => {
      const { acme, see, told } = await watched();
      const nodes = hints.openNode ? [store, await hints.openNode()] : [store];
      t.teardown(() => Promise.all(nodes.slice(1).map((node) => node.close())));
      await see([tool('pay')]);
      for (const node of nodes) t.same(await told('pay', { node }), []);
      const change = sighting(acme, [tool('pay', 'two', ['risky'])]);
      const drifts = await Promise.all(
        Array.from({ length: 20 }, (_, at) => (nodes[at % nodes.length] ?? store).rememberTools(change)),
      );
      t.equal(drifts.filter(({ changed }) => changed.length > 0).length, 1);
      t.equal(drifts.filter(({ risky }) => risky.length > 0).length, 1);
      for (const node of nodes) t.match(await told('pay', { node }), [{ kinds: ['changed', 'risky'] }]);
      const [, other = store] = nodes;
      await other.acceptTools(acme.tenantId, change.server.serverId, undefined, acme.event());
      for (const node of nodes) t.same(await told('pay', { node }), []);
    },
  );
};
