import t from 'tap';
import { readToolTables } from '../../src/catalogue/catalogue.ts';
import { validateConfig } from '../../src/config/load.ts';
import type { AgentStatus, CallSoFar, Verdict } from '../../src/core/call.ts';
import { GatewayError } from '../../src/core/errors.ts';
import { MessageInspector } from '../../src/decision/message.ts';
import type { PolicyDocument } from '../../src/policy/schema.ts';
import { signalEngines } from '../../src/risk/signals/index.ts';
import { defaultWeights } from '../../src/risk/signals/score.ts';
import { liveKey } from '../../src/state/rules/live-key.ts';
import type { KeyRecord } from '../../src/state/store.ts';
import { createCatalogues } from '../../src/tenants/catalogues.ts';
import { createPolicyBook } from '../../src/tenants/policy-book.ts';
import { createTenants } from '../../src/tenants/tenants.ts';
import { callOf, identityOf, operationOf } from '../support/call.ts';
import { engine } from '../support/detectors.ts';
import { injections } from '../support/injections.ts';
import { meanings } from '../support/meanings.ts';
import { noticing } from '../support/noticing.ts';
import { gitlabToken } from '../support/secrets.ts';
import { verdictOf } from './verdict.ts';

const tables = readToolTables('config/tools');

interface Setup {
  readonly tenant?: Readonly<Record<string, unknown>>;
  readonly rules?: readonly unknown[];
  readonly key?: Partial<KeyRecord>;
  readonly opening?: Partial<Verdict>;
}

/** An open call of a tenant, and what can be asked of its messages. */
function openCall({ tenant = {}, rules = [], key = {}, opening: said = {} }: Setup = {}) {
  const config = validateConfig(
    { tenants: [{ id: 'acme', org_domains: ['acme.test'], ...tenant }] },
    { file: undefined, env: {} },
  );
  const tenants = createTenants(config, new Set(), { registeredTenants: async () => [] });
  const documents = [{ name: 'p', mode: 'enforce', rules }] as unknown as PolicyDocument[];
  const policies = createPolicyBook({ policiesOf: () => [] }, documents, () => engine);
  const identity = identityOf();
  const state = { isRevoked: false, isAway: false, agentStatus: 'active' as AgentStatus, asked: 0 };
  const recorded: CallSoFar[] = [];
  const record = liveKey({
    ...{ keyId: identity.keyId, hash: '00', prefix: 'iv_live_abcd', tenantId: 'acme', envName: 'default' },
    ...{ agentId: identity.agentId, name: 'test', permissions: ['scan'], createdAtMs: 0 },
  });
  const known = () =>
    ({
      ok: true,
      key: { ...record, ...key },
      parent: undefined,
      identity,
      agentStatus: state.agentStatus,
    }) as const;
  const inspector = new MessageInspector(
    {
      ...noticing,
      catalogues: createCatalogues(config, tables),
      clock: () => 0,
      injections,
      meanings,
      tenants,
      policies,
      findThreats: () => [],
      engines: signalEngines,
      weights: defaultWeights,
      bounds: config.risk.bands,
      mode: 'enforce',
      store: {
        async identify() {
          state.asked += 1;
          if (state.isAway) throw new GatewayError('STATE_UNAVAILABLE', 'away');
          return state.isRevoked
            ? { ok: false, code: 'INVALID_KEY', why: 'revoked', detail: 'revoked' }
            : known();
        },
        recall: () => known(),
        agentById: async () => ({
          ...{ agentId: identity.agentId, tenantId: 'acme', envName: 'default', name: 'bot' },
          ...{ runtimeType: null, status: 'active', createdAtMs: 0 },
        }),
      },
    },
    async (call) => {
      recorded.push(call);
    },
  );
  const opening = callOf({
    url: 'https://chat.test.example/socket',
    method: 'GET',
    entrance: 'forward',
    receivedAtMs: Date.now(),
    ...{ identity, operation: operationOf(), verdict: { ...verdictOf('ALLOW'), ...said } },
  });
  const send = async (text: string | Buffer, contentType = 'application/json') =>
    (await inspector.inspectMessage(opening, Buffer.from(text), { contentType })).verdict;
  return { send, state, recorded, opening };
}

t.test('a clean message passes, and leaves no trace', async (t) => {
  const { send, recorded } = openCall();
  t.match(await send('{"type":"hello"}'), { decision: 'ALLOW' });
  t.same(recorded, []);
});

t.test('a secret in a message is cut, and the trace names the opening call', async (t) => {
  const { send, recorded, opening } = openCall();
  const verdict = await send(JSON.stringify({ note: `the key is ${gitlabToken()}` }));
  t.match(verdict, { decision: 'SANITIZE', classifications: ['SECRETS'] });
  t.match(verdict.sanitizedBody?.toString(), /the key is \[REDACTED:/);
  t.equal(recorded.length, 1);
  t.equal(recorded[0]?.received.message?.opening, opening);
  t.not(recorded[0]?.received.traceId, opening.traceId);
});

t.test('a rule that refuses holds for messages, which count as what they send', async (t) => {
  const rule = { rule_id: 'r', priority: 1, match: { methods: ['POST'] }, condition: {}, action: 'DENY' };
  t.match(await openCall({ rules: [rule] }).send('{"a":1}'), { decision: 'DENY' });
});

t.test('what a message calls is told by the message', async (t) => {
  const rule = {
    rule_id: 'r',
    priority: 1,
    match: { tool_name: 'mcp', operations: ['delete_all'] },
    condition: {},
    action: 'DENY',
  };
  const { send } = openCall({ rules: [rule] });
  const message = (name: string) =>
    JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: {} } });
  t.match(await send(message('list_all')), { decision: 'ALLOW' });
  t.match(await send(message('delete_all')), { decision: 'DENY' });
});

t.test('a key of a narrow scope has it for messages, too', async (t) => {
  const { send } = openCall({ key: { scope: { tools: null, verbs: ['READ'] } } });
  t.match(await send('{"a":1}'), { decision: 'DENY', reasonCodes: ['EPHEMERAL_SCOPE_VIOLATION'] });
});

t.test('what needs an approval is refused', async (t) => {
  const rule = { rule_id: 'r', priority: 1, match: {}, condition: {}, action: 'REQUIRE_APPROVAL' };
  const { send } = openCall({ rules: [rule] });
  const verdict = await send('{"a":1}');
  t.match(verdict, { decision: 'DENY', reasonCodes: ['APPROVAL_IMPOSSIBLE'] });

  await t.test('save what the approval of the opening call covers', async (t) => {
    const opening = {
      reasonCodes: ['RECENT_APPROVAL_GRANT', 'POLICY_REQUIRE_APPROVAL'],
      ...decidedBy(verdict),
    };
    const approved = openCall({ rules: [rule], opening });
    t.match(await approved.send('{"a":1}'), { decision: 'ALLOW' });
    t.match(await approved.send(JSON.stringify({ note: gitlabToken() })), { decision: 'DENY' });
  });
});

const decidedBy = ({ decidedBy }: Verdict) => ({ decidedBy });

t.test('a secret that is split over messages is found', async (t) => {
  await t.test('in values of documents', async (t) => {
    const { send } = openCall();
    t.match(await send(JSON.stringify({ note: `AKIA${'Q7RT2MXW'}` })), { decision: 'ALLOW' });
    t.match(await send(JSON.stringify({ note: '5LKD3VNB' })), { decision: 'SANITIZE' });
  });
  await t.test('letter by letter', async (t) => {
    const { send } = openCall();
    const decisions: string[] = [];
    for (const letter of gitlabToken()) decisions.push((await send(letter, 'text/plain')).decision);
    t.ok(decisions.includes('SANITIZE'), decisions.join());
  });
  await t.test('in two texts, of which the second goes on behind it', async (t) => {
    const { send } = openCall();
    const token = gitlabToken();
    t.match(await send(`a key ${token.slice(0, 9)}`, 'text/plain'), { decision: 'ALLOW' });
    const verdict = await send(`${token.slice(9)} and more`, 'text/plain');
    t.match(verdict, { decision: 'SANITIZE' });
    t.match(verdict.sanitizedBody?.toString(), /^\[REDACTED:[\w-]+\] and more$/);
  });
});

t.test('the key is asked about once a second at most', async (t) => {
  const { send, state, opening } = openCall();
  t.match(await send('1'), { decision: 'ALLOW' });
  t.match(await send('2'), { decision: 'ALLOW' });
  t.equal(state.asked, 1);
  const clock = t.intercept(Date, 'now', { value: () => opening.receivedAtMs + 60_000 });
  state.agentStatus = 'suspended';
  t.match(await send('3'), { decision: 'DENY', reasonCodes: ['AGENT_SUSPENDED'] });
  clock.restore();
  state.isRevoked = true;
  await t.rejects(send('4'), { code: 'INVALID_KEY' });
});

t.test('while the state is away, messages pass where the tenant wants that', async (t) => {
  const closed = openCall();
  closed.state.isAway = true;
  await t.rejects(closed.send('1'), { code: 'STATE_UNAVAILABLE' });
  const open = openCall({ tenant: { on_failure: 'open' } });
  await open.send('1');
  open.state.isAway = true;
  const { opening } = open;
  t.intercept(Date, 'now', { value: () => opening.receivedAtMs + 2_000 });
  t.match(await open.send('2'), { decision: 'ALLOW' });
});
