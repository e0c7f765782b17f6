import t from 'tap';
import { openStream } from '../support/event-stream.ts';
import { adminSecret, denyDeletes, startTestGateway } from '../support/gateway.ts';
import { until } from '../support/redis.ts';

const holdDeletes = { ...denyDeletes, rule_id: 'hold', action: 'REQUIRE_APPROVAL' };
const path = '/v1/events';

t.test('changes are told as they are made, to each what it may see', async (t) => {
  const gateway = await startTestGateway(t);
  const reviewer = await gateway.mint({ permissions: ['approvals:decide'], name: 'reviewer' });
  const all = await openStream(t, gateway, { path });
  t.match(all.response, { statusCode: 200, headers: { 'content-type': 'text/event-stream' } });
  const few = await openStream(t, gateway, { path, key: reviewer.key });
  const told = (stream: typeof all, kind: string) =>
    until(kind, async () => stream.events.some((it) => it.data.kind === kind));

  await gateway.apply([holdDeletes]);
  await told(all, 'policy.applied');
  const call = { method: 'DELETE', url: 'https://api.example.org/x' };
  const held = await gateway.api('POST', '/v1/scan', call);
  const approvalId: string = held.body.approval_id;
  await told(few, 'approval.requested');
  const decision = { decision: 'denied' };
  const decided = await gateway.api(
    'POST',
    `/v1/approvals/${approvalId}/decision`,
    decision,
    `Bearer ${adminSecret}`,
  );
  t.match(decided, { status: 200 });
  await told(few, 'approval.decided');
  await gateway.api('POST', `/v1/agents/${gateway.agentId}/suspend`, {}, `Bearer ${adminSecret}`);
  await told(all, 'agent.suspended');

  const areas = new Set(few.events.map((it) => it.event));
  t.same([...areas], ['approval'], 'who decides approvals hears of nothing else');
  t.match(all.events, [
    { event: 'policy', data: { kind: 'policy.applied', id: 'test' } },
    { event: 'approval', data: { id: approvalId, agent_id: gateway.agentId } },
    { event: 'approval', data: { id: approvalId, by: 'admin', status: 'denied' } },
    { event: 'agent', data: { id: gateway.agentId } },
  ]);
  t.notMatch(JSON.stringify(few.events), /api\.example\.org/);

  const first = all.events[0]?.id ?? '';
  const again = await openStream(t, gateway, { path, headers: { 'last-event-id': first } });
  await told(again, 'agent.suspended');
  t.same(again.events, all.events.slice(1), 'whoever comes again goes on behind the last one');
  for (const it of ['x', '-1', '1.5', '9'.repeat(99)])
    t.match(await gateway.api('GET', `${path}?last_event_id=${it}`), { status: 400 });
  const strange = await openStream(t, gateway, { path: `${path}?last_event_id=99999` });
  await until('a gap', async () => strange.events.length > 0);
  t.match(strange.events, [{ event: 'gap' }], 'of another log');

  await gateway.api('DELETE', `/v1/keys/${reviewer.key_id}`, undefined, `Bearer ${adminSecret}`);
  await few.ended();
  t.match(few.events.at(-1), { event: 'end', data: { reason: 'not_allowed' } });
});

t.test('who has missed too much is told to read anew, and streams are bounded', async (t) => {
  const gateway = await startTestGateway(t);
  const missed = 251;
  const asAdmin = `Bearer ${adminSecret}`;
  const change = (at: number) =>
    gateway.api('PATCH', `/v1/keys/${gateway.keyId}`, { name: `n${at}` }, asAdmin);
  for (let at = 0; at < missed; at += 50)
    await Promise.all(Array.from({ length: Math.min(50, missed - at) }, (_, nth) => change(at + nth)));
  const late = await openStream(t, gateway, { path: `${path}?last_event_id=0` });
  await until('a gap', async () => late.events.length > 0);
  t.match(late.events[0], { event: 'gap' });
  for (let open = 1; open < 8; open += 1) await openStream(t, gateway, { path });
  t.match(await gateway.api('GET', path), { status: 429 }, 'a key has eight');
});
