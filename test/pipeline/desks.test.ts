import pino from 'pino';
import t from 'tap';
import { GatewayError } from '../../src/errors.ts';
import { createApprovalDesk, waitersMax } from '../../src/pipeline/approval-desk.ts';
import { createIncidentDesk, waitingMax } from '../../src/pipeline/incident-desk.ts';
import type { IncidentRecord, Store } from '../../src/state/store.ts';
import { callOf } from '../support/call.ts';

const log = pino({ level: 'silent' });

/** A state of which only what is asked for is there. */
const storeWith = (part: Partial<Store>): Store => part as Store;

function callWithIncident() {
  const call = callOf();
  call.identity = {
    keyId: '5b0c7f0e-7a54-4b0e-9a55-0a2f6f0f7c11',
    keyPrefix: 'iv_live_abcd',
    tenantId: 'acme',
    envName: 'production',
    agentId: '5b0c7f0e-7a54-4b0e-9a55-0a2f6f0f7c12',
    agentName: 'bot',
    permissions: new Set(),
  };
  call.incidents = [{ trigger: 'critical-denial', title: 'denied', severity: 'CRITICAL' }];
  return call;
}

t.test('incidents wait for a state that is away, up to a bound, and none is opened twice', async (t) => {
  const opened: IncidentRecord[] = [];
  let isAway = true;
  const openIncident: Store['openIncident'] = async (incident) => {
    if (isAway) throw new GatewayError('STATE_UNAVAILABLE', 'away');
    opened.push(incident);
    return { isNew: true, incident };
  };
  const desk = createIncidentDesk(storeWith({ openIncident }), log);
  for (let i = 0; i < waitingMax + 10; i++) desk.take(callWithIncident());
  isAway = false;
  await desk.close();
  t.equal(opened.length, waitingMax);
  t.equal(new Set(opened.map((it) => it.incidentId)).size, waitingMax);
});

t.test('an incident that the state refuses does not keep the others', async (t) => {
  let asked = 0;
  const openIncident: Store['openIncident'] = async (incident) => {
    asked += 1;
    if (asked === 1) throw new GatewayError('VALIDATION_FAILED', 'no');
    return { isNew: true, incident };
  };
  const desk = createIncidentDesk(storeWith({ openIncident }), log);
  desk.take(callWithIncident());
  desk.take(callWithIncident());
  await desk.close();
  t.equal(asked, 2);
});

t.test('so many may wait for approvals and no more; who is woken looks again', async (t) => {
  let status: 'pending' | 'approved' = 'pending';
  const approvalById: Store['approvalById'] = async () => ({ status }) as never;
  const desk = createApprovalDesk(storeWith({ approvalById }));
  const waiting = Array.from({ length: waitersMax }, () => desk.wait('acme', 'a', 60_000));
  t.ok(desk.isFull);
  await t.rejects(desk.wait('acme', 'a', 60_000), { code: 'GATEWAY_BUSY' });
  status = 'approved';
  desk.wake('a');
  t.same(new Set((await Promise.all(waiting)).map((it) => it?.status)), new Set(['approved']));
  t.notOk(desk.isFull);
});
