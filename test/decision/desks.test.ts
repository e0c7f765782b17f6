import pino from 'pino';
import t from 'tap';
import { validateConfig } from '../../src/config/load.ts';
import type { Finding, Identity, ReceivedFields } from '../../src/core/call.ts';
import { GatewayError } from '../../src/core/errors.ts';
import { newId, newTraceId } from '../../src/core/ids.ts';
import { ownName } from '../../src/core/safe-name.ts';
import { routeKeyPrefix } from '../../src/credentials/keyless.ts';
import { ApprovalDesk, waitersMax, waitersOfTenantMax } from '../../src/decision/approvals/approval-desk.ts';
import { IncidentDesk, waitingOfTenantMax } from '../../src/decision/approvals/incident-desk.ts';
import { recordedFindingsMax } from '../../src/decision/trace/trace-line.ts';
import { liveKey } from '../../src/state/rules/live-key.ts';
import type { ApprovalRecord, IncidentRecord, KeyRecord, Store } from '../../src/state/store.ts';
import { type CallParts, callOf, findingOf, identityOf, operationOf } from '../support/call.ts';
import { verdictOf } from './verdict.ts';

const log = pino({ level: 'silent' });

/** A state of which only what is asked for is there. */
const storeWith = (part: Partial<Store>): Store => part as Store;

const shipped = async (): Promise<void> => undefined;

function callWithIncident(agentId = newId(), traceId = newTraceId(0), fields: CallParts = {}) {
  const cause = { trigger: ownName('critical-denial'), title: ownName('denied') };
  const incidents = [{ ...cause, severity: 'CRITICAL' }] as const;
  return callOf({ traceId, identity: identityOf({ agentId }), incidents, ...fields });
}

/** A desk whose state is away until `comeBack`, and the incidents that were opened there. */
function deskWhileAway() {
  const opened: IncidentRecord[] = [];
  let isAway = true;
  const openIncident: Store['openIncident'] = async (incident) => {
    if (isAway) throw new GatewayError('STATE_UNAVAILABLE', 'away');
    opened.push(incident);
    return { isNew: true, incident };
  };
  const desk = new IncidentDesk(storeWith({ openIncident }), log);
  return {
    opened,
    desk,
    comeBack: () => {
      isAway = false;
    },
  };
}

t.test('incidents wait for a state that is away, up to a bound, and none is opened twice', async (t) => {
  const { opened, desk, comeBack } = deskWhileAway();
  for (let i = 0; i < waitingOfTenantMax + 10; i++) desk.take(callWithIncident(), shipped);
  const another = { identity: identityOf({ tenantId: 'beta', agentId: newId() }) };
  desk.take(callWithIncident(newId(), newTraceId(0), another), shipped);
  comeBack();
  await desk.close();
  t.equal(opened.length, waitingOfTenantMax + 2, 'those that wait, and the one that is on its way');
  t.ok(
    opened.some((it) => it.tenantId === 'beta'),
    'another tenant has room of its own',
  );
  t.equal(new Set(opened.map((it) => it.incidentId)).size, opened.length);
});

t.test('while they wait, incidents of one agent and trigger become one, with the last traces', async (t) => {
  const { opened, desk, comeBack } = deskWhileAway();
  const agentId = newId();
  const traceIds = Array.from({ length: 110 }, () => newTraceId(0));
  for (const traceId of traceIds) desk.take(callWithIncident(agentId, traceId), shipped);
  desk.take(callWithIncident(), shipped);
  comeBack();
  await desk.close();
  t.equal(opened.length, 2);
  const joined = opened.find((it) => it.agentId === agentId);
  t.equal(joined?.traceCount, 110);
  t.same(joined?.traceIds, traceIds.slice(-100));
});

t.test('while they wait, the graver of two makes one as severe as itself', async (t) => {
  const { opened, desk, comeBack } = deskWhileAway();
  const agentId = newId();
  for (const severity of ['MEDIUM', 'CRITICAL', 'LOW'] as const) {
    const incidents = [{ trigger: ownName('policy:p/r'), title: ownName('r holds'), severity }];
    desk.take(callWithIncident(agentId, newTraceId(0), { incidents }), shipped);
  }
  comeBack();
  await desk.close();
  t.match(opened, [{ severity: 'CRITICAL', traceCount: 3 }]);
  t.equal(opened.length, 1);
});

t.test('an incident that the state refuses does not keep the others', async (t) => {
  let asked = 0;
  const openIncident: Store['openIncident'] = async (incident) => {
    asked += 1;
    if (asked === 1) throw new GatewayError('VALIDATION_FAILED', 'no');
    return { isNew: true, incident };
  };
  const desk = new IncidentDesk(storeWith({ openIncident }), log);
  desk.take(callWithIncident(), shipped);
  desk.take(callWithIncident(), shipped);
  await desk.close();
  t.equal(asked, 2);
});

t.test('so many may wait for approvals and no more, all in all and of one tenant', async (t) => {
  let status: 'pending' | 'approved' = 'pending';
  const approvalById: Store['approvalById'] = async () => ({ status }) as never;
  const desk = new ApprovalDesk(storeWith({ approvalById }));
  const waitAs = (tenantId: string, count: number) =>
    Array.from({ length: count }, () => desk.wait(tenantId, 'a', 60_000));
  const waiting = waitAs('acme', waitersOfTenantMax);
  t.ok(desk.isFull('acme'));
  await t.rejects(desk.wait('acme', 'a', 60_000), { code: 'GATEWAY_BUSY' });
  t.notOk(desk.isFull('globex'), 'others find room');
  waiting.push(...waitAs('globex', waitersMax - waitersOfTenantMax - 1), ...waitAs('initech', 1));
  t.ok(desk.isFull('initech'), 'until all of it is taken');
  await t.rejects(desk.wait('initech', 'a', 60_000), { code: 'GATEWAY_BUSY' });
  status = 'approved';
  desk.wake('a');
  const answers = await Promise.all(waiting);
  t.same(new Set(answers.map((it) => it?.status)), new Set(['approved']), 'who is woken looks again');
  t.notOk(desk.isFull('acme'));
});

t.test('who waits for an approval waits no longer because the clock is set back', async (t) => {
  let daysBack = 0;
  const approvalById: Store['approvalById'] = async () => {
    daysBack += 1;
    return { status: 'pending' } as never;
  };
  const desk = new ApprovalDesk(storeWith({ approvalById }), () => Date.now() - daysBack * 86_400_000);
  t.match(await desk.wait('acme', 'a', 20), { status: 'pending' });
});

const keyOf = (keyId: string, agentId: string, parentKeyId: string | null = null): KeyRecord => ({
  ...liveKey({
    keyId,
    hash: keyId,
    prefix: 'iv_live_abcd',
    tenantId: 'acme',
    envName: 'default',
    agentId,
    name: keyId,
    permissions: [],
    createdAtMs: 0,
  }),
  parentKeyId,
});

/** `bot` and `other` are agents; the live keys are of `bot`, `bot`, `other` and `third`, and the ephemeral ones of the keys they name. */
const keys: readonly KeyRecord[] = [
  keyOf('bots', 'bot'),
  keyOf('bots-second', 'bot'),
  keyOf('others', 'other'),
  keyOf('thirds', 'third'),
  keyOf('child-of-bots', 'bot', 'bots'),
  keyOf('sibling', 'bot', 'bots'),
  // Of a key whose agent has changed since.
  keyOf('child-of-others', 'bot', 'others'),
  // These stand for the callers of an inbound route, who have no key.
  { ...keyOf('route', 'bot'), prefix: routeKeyPrefix },
  { ...keyOf('makes-routes', 'third'), permissions: ['approvals:decide', 'routes:write'] },
];

const deciders: readonly [asked: string, named: string, key: string, may: boolean][] = [
  ['bots', 'bot', 'bots', false],
  ['bots', 'bot', 'bots-second', false],
  ['bots', 'bot', 'child-of-bots', false],
  ['bots', 'bot', 'others', true],
  // The call names an agent that is not its key's: neither the one nor the other decides.
  ['bots', 'other', 'others', false],
  ['bots', 'other', 'bots-second', false],
  ['bots', 'other', 'thirds', true],
  // An ephemeral key asked: its maker does not decide, nor do its siblings.
  ['child-of-bots', 'other', 'bots', false],
  ['child-of-bots', 'other', 'sibling', false],
  ['child-of-others', 'bot', 'others', false],
  ['child-of-others', 'bot', 'thirds', true],
  // Of a key that is not there any more, what the approval says counts.
  ['gone', 'bot', 'bots', false],
  ['gone', 'bot', 'thirds', true],
  // Whoever may make routes may have made the one whose callers asked.
  ['route', 'bot', 'makes-routes', false],
  ['route', 'bot', 'thirds', true],
  ['bots', 'bot', 'makes-routes', true],
];

for (const [asked, named, keyId, may] of deciders) {
  t.test(`${keyId} ${may ? 'decides' : 'does not decide'} what ${asked} asked as ${named}`, async (t) => {
    const keyById: Store['keyById'] = async (_, id) => keys.find((it) => it.keyId === id);
    const desk = new ApprovalDesk(storeWith({ keyById }));
    const approval = { tenantId: 'acme', keyId: asked, agentId: named } as ApprovalRecord;
    const key = keys.find((it) => it.keyId === keyId);
    t.equal(await desk.mayDecide(approval, key as KeyRecord), may);
  });
}

t.test('whose agent asked does not decide, even when the key that asked is not there any more', async (t) => {
  const desk = new ApprovalDesk(storeWith({ keyById: async () => undefined }));
  const approval = { tenantId: 'acme', keyId: 'gone', agentId: 'other', ownAgentId: 'bot' } as ApprovalRecord;
  t.notOk(await desk.mayDecide(approval, keyOf('bots', 'bot')));
  t.ok(await desk.mayDecide(approval, keyOf('thirds', 'third')));
});

const config = validateConfig({ tenants: [{ id: 'acme' }] }, { file: undefined, env: {} });
const acme = config.tenants.get('acme') ?? config.defaultTenant('acme');

/** The approval that the desk opens for the call of an agent that `identity` says more of. */
async function asked(fields: CallParts = {}, identity: Partial<Identity> = {}): Promise<ApprovalRecord> {
  const store = storeWith({ holdCall: async (approval) => ({ kind: 'pending', approval, isNew: true }) });
  const operation = operationOf({ toolName: 'x', name: 'x', category: 'x', verb: 'READ' });
  const call = callOf({ tenant: acme, identity: identityOf(identity), operation, ...fields });
  return (await new ApprovalDesk(store).hold(call, verdictOf('REQUIRE_APPROVAL'))).approval;
}

t.test('calls that differ in URL and body alone have the same terms', async (t) => {
  const [one, other] = [await asked(), await asked({ url: 'https://b.test/2', body: Buffer.from('b') })];
  t.not(one.callHash, other.callHash);
  t.equal(one.termsHash, other.termsHash);
  t.not((await asked({ contentType: 'text/x-other' })).termsHash, one.termsHash);
});

t.test('two codings of one body are two calls', async (t) => {
  const hashOf = async (contentEncoding: string) =>
    (await asked({ contentEncoding, body: Buffer.from('a') })).callHash;
  t.equal(await hashOf('x-own'), await hashOf('x-own'));
  t.not(await hashOf('x-own'), await hashOf(''));
});

t.test(
  'what is found in a header makes another call for a grant, and the same one for a denial',
  async (t) => {
    const head = 'x-note: one@acme.test two@acme.test';
    const withFinding = (fields: Partial<Finding>): CallParts => ({
      head: Buffer.from(head),
      findings: [findingOf({ part: 'head', location: 'header:x-note', start: 8, end: 21, ...fields })],
    });
    const clean = await asked();
    const found = await asked(withFinding({}));
    t.not(found.callHash, clean.callHash);
    t.not((await asked(withFinding({ start: 22, end: 35 }))).callHash, found.callHash, 'what it is counts');
    t.equal(found.denialHash, clean.denialHash);
    t.match(found.findings, [{ kind: 'some-token', location: 'header:x-note' }], 'who decides is told');
    t.notMatch(JSON.stringify(found), /one@acme/);
    const doubtful = await asked(withFinding({ confidence: 'low' }));
    t.equal(doubtful.callHash, clean.callHash, 'what counts for nothing else makes no other call');
  },
);

t.test(
  'a grant is for the agent that the call names and for that of the key, a denial for the latter',
  async (t) => {
    const own = { agentId: newId(), name: 'own', runtimeType: null };
    const first = await asked({}, { agentId: 'a', ownAgent: own });
    const other = await asked({}, { agentId: 'b', ownAgent: own });
    t.not(first.callHash, other.callHash);
    t.equal(first.denialHash, other.denialHash);
    const stranger = await asked({}, { agentId: 'a', ownAgent: { ...own, agentId: newId() } });
    t.not(stranger.callHash, first.callHash, 'who only names the agent has its grant not');
    t.not(stranger.denialHash, first.denialHash);
  },
);

const ways: readonly [name: string, fields: Partial<ReceivedFields>, same?: true][] = [
  ['goes on as a WebSocket', { opensWebSocket: true }],
  ['takes a way with another credential', { wayCredential: 'admin-bot' }],
  ['copies another object', { headers: ['X-Amz-Copy-Source', '/bucket/other'] }],
  ['moves it to another place', { headers: ['Destination', '/elsewhere'] }],
  ['gives it to everybody', { headers: ['x-amz-acl', 'public-read'] }],
  ['gives it to one', { headers: ['x-goog-grant-read', 'id=1'] }],
  ['renames another file', { headers: ['x-ms-rename-source', '/a/b'] }],
  ['does another action', { headers: ['SOAPAction', 'urn:delete'] }],
  ['uploads to another place', { headers: ['Dropbox-API-Arg', '{"path":"/finance/pay.xlsx"}'] }],
  ['acts for another account', { headers: ['Xero-Tenant-Id', '17'] }],
  ['acts as somebody else', { headers: ['Sudo', 'root'] }],
  ['has another number', { headers: ['X-Request-Id', '17'] }, true],
  ['takes a way without a credential', { wayCredential: null }, true],
];

for (const [name, fields, isSame = false] of ways) {
  t.test(`a call that ${name} ${isSame ? 'is the same' : 'needs a grant of its own'}`, async (t) => {
    const [one, other] = [await asked(), await asked(fields)];
    t.equal(one.callHash === other.callHash, isSame);
    t.equal(one.termsHash === other.termsHash, isSame);
    t.equal(one.denialHash, other.denialHash, 'a denial stands for it as well');
    t.equal(other.opensWebSocket, fields.opensWebSocket ?? false);
  });
}

t.test('an approval names so many findings and no more', async (t) => {
  const findings = Array.from({ length: recordedFindingsMax + 1 }, () => findingOf());
  t.equal((await asked({ body: Buffer.from('a'), findings })).findings.length, recordedFindingsMax);
});
