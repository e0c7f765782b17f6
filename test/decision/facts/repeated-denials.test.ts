import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import t, { type Test } from 'tap';
import type { Decision } from '../../../src/core/call.ts';
import { GatewayError } from '../../../src/core/errors.ts';
import { newId, newTraceId } from '../../../src/core/ids.ts';
import { ownName } from '../../../src/core/safe-name.ts';
import { IncidentDesk } from '../../../src/decision/approvals/incident-desk.ts';
import {
  createRepeatedDenials,
  denialsEnough,
  pagesMax,
  rememberedAgentsMax,
} from '../../../src/decision/facts/repeated-denials.ts';
import { createRecorder } from '../../../src/decision/trace/record.ts';
import { Journal } from '../../../src/state/journal.ts';
import type { Store } from '../../../src/state/store.ts';
import { type CallParts, callOf, identityOf } from '../../support/call.ts';
import { trustLosses } from '../../support/noticing.ts';
import { openState } from '../admit-stage.ts';
import { verdictOf } from '../verdict.ts';

const log = pino({ level: 'silent' });
const hourMs = 3_600_000;
const agentId = newId();

/** A node over the shared state: its own journal, recorder and desk. */
async function openNode(t: Test, store: Store) {
  const dir = mkdtempSync(join(tmpdir(), 'postern-node-'));
  const journal = new Journal({
    dir,
    ship: (calls) => store.recordCalls(calls),
    onError: (error) => t.error(error),
  });
  const incidents = new IncidentDesk(store, log);
  const record = createRecorder({
    namesFor: () => ownName,
    journal,
    store,
    incidents,
    log,
    trustLosses,
    describeRefused: () => undefined,
    credentials: { nameFor: () => undefined },
  });
  t.teardown(async () => {
    await incidents.close();
    await journal.close();
    rmSync(dir, { recursive: true });
  });
  /** Records a call that came so long ago; resolves when the desk has done what it does for it. */
  const note = async (
    agoMs: number,
    outcome: Decision | GatewayError,
    fields: CallParts = {},
    reasonCodes: readonly string[] = [],
  ): Promise<string> => {
    const receivedAtMs = Date.now() - agoMs;
    const traceId = newTraceId(receivedAtMs);
    const of = { receivedAtMs, traceId, identity: identityOf({ agentId }), ...fields };
    if (typeof outcome === 'string')
      await record(callOf({ ...of, verdict: { ...verdictOf(outcome), reasonCodes } }), undefined);
    else await record({ received: callOf(of).received, identity: of.identity }, outcome);
    await incidents.close();
    return traceId;
  };
  return { note };
}

async function openNodes(t: Test) {
  const store = await openState(t);
  const agent = { agentId, tenantId: 'acme', envName: 'production', name: 'bot', runtimeType: null };
  await store.ensureAgent({ ...agent, status: 'active', createdAtMs: 0 });
  const nodes = [await openNode(t, store), await openNode(t, store)] as const;
  const incidents = async () =>
    (await store.listIncidents('acme', {}, { limit: 10, cursor: undefined })).items;
  return { nodes, incidents };
}

const minute = 60_000;
/** Denied, since there was no time to read it. */
const outOfTime = 'out of time';
const limited = new GatewayError('RATE_LIMITED', 'slower');

/** Minutes ago, the node, and what became of the call. */
type Event = readonly [agoMinutes: number, node: 0 | 1, outcome: Decision | GatewayError | typeof outOfTime];

const cases: readonly {
  readonly name: string;
  readonly events: readonly Event[];
  readonly opens: boolean;
}[] = [
  {
    name: 'five denials on one node',
    events: [50, 40, 30, 20, 10].map((ago) => [ago, 0, 'DENY'] as const),
    opens: true,
  },
  {
    name: 'five denials, spread over two nodes',
    events: [
      [50, 0, 'DENY'],
      [40, 1, 'DENY'],
      [30, 0, 'DENY'],
      [20, 1, 'DENY'],
      [10, 0, 'DENY'],
    ],
    opens: true,
  },
  {
    name: 'the first of them arriving last',
    events: [
      [10, 0, 'DENY'],
      [20, 0, 'DENY'],
      [30, 0, 'DENY'],
      [40, 0, 'DENY'],
      [50, 1, 'DENY'],
    ],
    opens: true,
  },
  {
    name: 'four denials',
    events: [50, 40, 30, 20].map((ago) => [ago, 0, 'DENY'] as const),
    opens: false,
  },
  {
    name: 'five denials in more than an hour',
    events: [
      [61, 0, 'DENY'],
      [40, 1, 'DENY'],
      [30, 0, 'DENY'],
      [20, 1, 'DENY'],
      [1, 0, 'DENY'],
    ],
    opens: false,
  },
  {
    name: 'four denials and what the gateway had no time to read, on another node',
    events: [
      [50, 0, 'DENY'],
      [45, 1, outOfTime],
      [40, 1, 'DENY'],
      [30, 0, 'DENY'],
      [25, 1, outOfTime],
      [20, 1, 'DENY'],
      [10, 0, outOfTime],
    ],
    opens: false,
  },
  {
    name: 'four denials and calls that were refused, held or allowed',
    events: [
      [50, 0, 'DENY'],
      [45, 1, limited],
      [40, 1, 'DENY'],
      [35, 0, limited],
      [30, 0, 'REQUIRE_APPROVAL'],
      [25, 1, 'ALLOW'],
      [20, 1, 'DENY'],
      [10, 0, 'DENY'],
    ],
    opens: false,
  },
];

for (const { name, events, opens } of cases) {
  t.test(`${name} ${opens ? 'open an incident' : 'open none'}`, async (t) => {
    const { nodes, incidents } = await openNodes(t);
    let last = '';
    for (const [ago, node, outcome] of events) {
      t.same(await incidents(), [], 'there is none before the last');
      last =
        outcome === outOfTime
          ? await nodes[node].note(ago * minute, 'DENY', { isOutOfTime: true }, ['UNREADABLE'])
          : await nodes[node].note(ago * minute, outcome);
    }
    const opened = await incidents();
    if (!opens) t.same(opened, []);
    else t.match(opened, [{ agentId, trigger: 'repeated-denials', severity: 'HIGH', traceIds: [last] }]);
    t.equal(opened.length, opens ? 1 : 0);
  });
}

t.test('further denials join the incident, whatever node they come from', async (t) => {
  const { nodes, incidents } = await openNodes(t);
  for (let i = 0; i < 8; i++) await nodes[i % 2 === 0 ? 0 : 1].note((20 - i) * minute, 'DENY');
  const opened = await incidents();
  t.equal(opened.length, 1);
  t.equal(opened[0]?.traceCount, 4, 'the fifth, and those after it');
});

for (const agentStatus of ['suspended', 'tenant-suspended'] as const) {
  t.test(`an agent that tries again while it is ${agentStatus} opens no incident`, async (t) => {
    const { nodes, incidents } = await openNodes(t);
    for (let i = 0; i < 4; i++) await nodes[0].note((20 - i) * minute, 'DENY');
    for (let i = 0; i < 8; i++) await nodes[0].note((10 - i) * minute, 'DENY', { agentStatus });
    t.same(await incidents(), []);
  });
}

t.test('so many pages of traces are looked at and no more', async (t) => {
  let pages = 0;
  const refused = JSON.stringify({ at: new Date().toISOString(), reason_codes: ['RATE_LIMITED'] });
  const denials = createRepeatedDenials({
    agentUsage: async () => [{ decisions24h: { DENY: 1000 } } as never],
    listTraces: async () => {
      pages += 1;
      return { items: [refused], nextCursor: 'more' };
    },
  });
  t.equal(await denials.isRepeated({ tenantId: 'acme', agentId, atMs: Date.now() }), false);
  t.equal(pages, pagesMax);
});

t.test('beyond the bound the agent that was not denied for longest is forgotten', async (t) => {
  const denials = createRepeatedDenials({} as Store);
  const note = (name: string, atMs: number) => denials.note({ tenantId: 'acme', agentId: name, atMs });
  for (let i = 1; i < denialsEnough; i++) for (const name of ['a', 'b']) t.notOk(note(name, i));
  for (let i = 2; i < rememberedAgentsMax; i++) note(`agent-${i}`, 0);
  t.ok(note('a', 10), 'all are remembered that fit');
  note('one-more', 0);
  t.notOk(note('b', 10), 'this one was forgotten');
  t.ok(note('a', 11));
  t.notOk(note('a', 11 + hourMs), 'an hour later it begins anew');
});
