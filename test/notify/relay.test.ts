import t, { type Test } from 'tap';
import { newId } from '../../src/core/ids.ts';
import type { AuditEvent, Store } from '../../src/state/store.ts';
import { auditEvent } from '../state/records.ts';
import { until } from '../support/redis.ts';
import { entry, openDesk, states } from './desk.ts';
import { type Receiver, startReceiver } from './receiver.ts';

const day = 86_400_000;

const onBoth = async (t: Test, work: (t: Test, nodes: readonly Store[]) => Promise<void>): Promise<void> => {
  for (const { name, nodes } of await states(t)) await t.test(name, (t) => work(t, nodes));
};

const event = (fields: Partial<AuditEvent> = {}): AuditEvent =>
  auditEvent({ tenantId: 'acme', atMs: Date.now(), kind: 'key.created', subject: newId(), ...fields });

/** By what they are about, in the order in which they came. */
const subjectsOf = ({ received }: Receiver): string[] => received.map(({ body }) => body.data.key_id);

/** Notices begin to be told with the first sweep. */
async function begun(store: Store | undefined): Promise<void> {
  await until('a beginning', async () => (await store?.toldUpTo('acme', 'audit')) !== undefined);
}

t.test('what the audit log has is told once, by however many nodes it is read', (t) =>
  onBoth(t, async (t, nodes) => {
    const [store] = nodes;
    const receiver = await startReceiver(t);
    await store?.appendAudit(event({ subject: 'before' }));
    await new Promise((resolve) => setTimeout(resolve, 5));
    const desks = nodes.map((it) => openDesk(t, it, [entry('log', receiver.url, { events: ['key.*'] })]));
    await begun(store);
    const subjects = Array.from({ length: 250 }, newId);
    await Promise.all(
      subjects.map((subject, at) => nodes[at % nodes.length]?.appendAudit(event({ subject }))),
    );
    await store?.appendAudit(event({ kind: 'policy.applied', subject: 'nobody wants it' }));
    for (const desk of desks) desk.notifications.nudge('acme');
    await until('all entries', async () => new Set(subjectsOf(receiver)).size === 250);
    t.same(subjectsOf(receiver).sort(), subjects.sort(), 'each once, and nothing of what was before');
  }),
);

t.test('what nobody was nudged for is told by the next sweep, of another node as well', (t) =>
  onBoth(t, async (t, nodes) => {
    const [store] = nodes;
    const receiver = await startReceiver(t);
    const first = openDesk(t, store as Store, [entry('swept', receiver.url, { events: ['key.*'] })]);
    await begun(store);
    await first.stop();
    // As of a node that was killed behind the change.
    const subject = newId();
    await store?.appendAudit(event({ subject }));
    openDesk(t, nodes.at(-1) as Store, [entry('swept', receiver.url, { events: ['key.*'] })]);
    await until('the entry', async () => receiver.received.length > 0);
    t.same(subjectsOf(receiver), [subject]);
  }),
);

t.test('what happened more than a day ago is of use to nobody', async (t) => {
  const [{ nodes } = { nodes: [] }] = await states(t);
  const [store] = nodes;
  if (!store) return;
  const receiver = await startReceiver(t);
  let nowMs = Date.now();
  const entries = [entry('late', receiver.url, { events: ['key.*'] })];
  const first = openDesk(t, store, entries, { now: () => nowMs });
  await begun(store);
  await first.stop();
  await store.appendAudit(event({ subject: 'old', atMs: nowMs + 1_000 }));
  await store.appendAudit(event({ subject: 'young', atMs: nowMs + 2_000 + day / 2 }));
  nowMs += day + 60_000;
  openDesk(t, store, entries, { now: () => nowMs });
  await until('the younger one', async () => receiver.received.length > 0);
  t.same(subjectsOf(receiver), ['young']);
});

t.test('usage that was counted and not told of is told by a sweep', async (t) => {
  const [{ nodes } = { nodes: [] }] = await states(t);
  const [store] = nodes;
  if (!store) return;
  const receiver = await startReceiver(t);
  const told: string[] = [];
  const counted: Store = {
    ...store,
    usageOf: async (id, ms) => ({ ...(await store.usageOf(id, ms)), scansUsed: 95 }),
  };
  openDesk(t, counted, [entry('usage', receiver.url, { events: ['usage.threshold'] })], {
    config: {
      plans: { small: { extends: 'team', scans_per_month: 100 } },
      tenants: [
        { id: 'acme', plan: 'small' },
        { id: 'beta', plan: 'enterprise' },
      ],
    },
    alertUsage: async (tenantId, percent, used, quota) =>
      void told.push(`${tenantId} ${percent} ${used}/${quota}`),
  });
  await until('two alerts', async () => told.length >= 2);
  await new Promise((resolve) => setTimeout(resolve, 200));
  t.same(told, ['acme 80 95/100', 'acme 90 95/100'], 'each once, and of nobody without a quota');
});
