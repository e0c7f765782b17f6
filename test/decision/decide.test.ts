import t from 'tap';
import { validateConfig } from '../../src/config/load.ts';
import type { AgentStatus, Decision } from '../../src/core/call.ts';
import { ownName } from '../../src/core/safe-name.ts';
import type { ApprovalDesk } from '../../src/decision/approvals/approval-desk.ts';
import { RefusedCall } from '../../src/decision/pipeline.ts';
import { decideStage } from '../../src/decision/stages/decide.ts';
import { explainedFindingsMax } from '../../src/decision/verdict.ts';
import { createEngine } from '../../src/inspect/match/engine.ts';
import { liveKey } from '../../src/state/rules/live-key.ts';
import type { AgentRecord, ApprovalRecord, Hold, KeyRecord } from '../../src/state/store.ts';
import { createPolicyBook } from '../../src/tenants/policy-book.ts';
import { createTenants } from '../../src/tenants/tenants.ts';
import { type CallParts, callOf, findingOf, identityOf, threatOf } from '../support/call.ts';

interface Setup {
  /** What the posture says of every band. */
  readonly decision: Decision;
  readonly hold?: Hold['kind'];
  readonly isFull?: boolean;
  readonly call?: Pick<
    CallParts,
    'band' | 'findings' | 'scopeViolations' | 'agentStatus' | 'threats' | 'isAwaited'
  >;
  readonly mode?: 'enforce' | 'monitor';
  /** What people decide while the call is held open, and what of its key and the key's parent has changed since. */
  readonly decided?: 'approved' | 'denied';
  readonly key?: Partial<KeyRecord>;
  readonly parent?: Partial<KeyRecord>;
  readonly agentStatus?: AgentStatus;
  readonly isRetired?: boolean;
}

const bareKey = {
  keyId: '5b0c7f0e-7a54-4b0e-9a55-0a2f6f0f7c11',
  hash: '00',
  prefix: 'iv_live_abcd',
  tenantId: 'acme',
  envName: 'default',
  agentId: '5b0c7f0e-7a54-4b0e-9a55-0a2f6f0f7c12',
  name: 'test',
  permissions: ['scan'],
  createdAtMs: 0,
};

/** Lets the stage decide a call of the forward proxy; answers how often it was held open, too. */
async function decideCall({ decision, hold = 'pending', isFull = false, mode = 'enforce', ...rest }: Setup) {
  const key = { ...liveKey(bareKey), ...rest.key };
  const bands = { LOW: decision, MEDIUM: decision, HIGH: decision, CRITICAL: decision };
  const written = { id: 'acme', posture: { secrets: 'ALLOW', bands }, approvals: { hold: '1m' } };
  const config = validateConfig({ tenants: [written] }, { file: undefined, env: {} });
  const tenants = createTenants(config, new Set(), { registeredTenants: async () => [] });
  let waits = 0;
  const approvals: Pick<ApprovalDesk, 'hold' | 'wait' | 'isFull'> = {
    hold: async () =>
      ({
        kind: waits > 0 ? 'granted' : hold,
        approval: { approvalId: 'a', expiresAtMs: 1 },
        isNew: true,
      }) as Hold,
    isFull: () => isFull,
    wait: async () => {
      waits += 1;
      return rest.decided && ({ status: rest.decided } as ApprovalRecord);
    },
  };
  const stage = decideStage({
    tenants,
    policies: createPolicyBook({ policiesOf: () => [] }, [], () => createEngine([])),
    store: {
      identify: () => ({
        ok: true,
        key,
        parent: rest.parent && { ...liveKey(bareKey), ...rest.parent },
        identity: identityOf(),
        agentStatus: rest.agentStatus ?? 'active',
      }),
      agentById: async () => ({ status: 'active' }) as AgentRecord,
    },
    approvals,
    mode,
    isRetired: () => rest.isRetired ?? false,
  });
  const tenant = config.tenants.get('acme') ?? config.defaultTenant('acme');
  const body = Buffer.from('text of key');
  const decided = await stage.run(callOf({ tenant, entrance: 'forward', body, ...rest.call }));
  if (decided instanceof RefusedCall) throw decided.error;
  return { verdict: decided.verdict, triggers: decided.incidents.map((it) => it.trigger), waits };
}

t.test('a call that must be held is held open where there is room, else answered at once', async (t) => {
  const pending = { decision: 'REQUIRE_APPROVAL', approval: { approvalId: 'a' } };
  const held = await decideCall({ decision: 'REQUIRE_APPROVAL' });
  t.match(held, { verdict: pending, waits: 1 });
  const full = await decideCall({ decision: 'REQUIRE_APPROVAL', isFull: true });
  t.match(full, { verdict: pending, waits: 0 });
});

t.test('an approved call goes out where its key may still be used from its address', async (t) => {
  const held = { decision: 'REQUIRE_APPROVAL', decided: 'approved' } as const;
  t.match((await decideCall(held)).verdict, { decision: 'ALLOW', reasonCodes: ['RECENT_APPROVAL_GRANT'] });
  const elsewhere = { ipAllowlist: ['10.9.9.0/24'] };
  const refusal = { code: 'IP_NOT_ALLOWED' };
  await t.rejects(decideCall({ ...held, key: elsewhere }), refusal);
  const child = { parentKeyId: '5b0c7f0e-7a54-4b0e-9a55-0a2f6f0f7c13' };
  await t.rejects(decideCall({ ...held, key: child, parent: elsewhere }), refusal);
  t.match((await decideCall({ ...held, key: child, parent: {} })).verdict, { decision: 'ALLOW' });
});

t.test('an approved call does not go out where its agent was suspended meanwhile', async (t) => {
  const held = { decision: 'REQUIRE_APPROVAL', decided: 'approved' } as const;
  for (const agentStatus of ['suspended', 'tenant-suspended'] as const) {
    const { verdict } = await decideCall({ ...held, agentStatus });
    t.match(verdict, { decision: 'DENY', reasonCodes: ['AGENT_SUSPENDED'] }, agentStatus);
  }
});

t.test('a grant is not spent under a configuration that another one has followed meanwhile', async (t) => {
  const held = { decision: 'REQUIRE_APPROVAL', decided: 'approved' } as const;
  const { verdict } = await decideCall({ ...held, isRetired: true });
  t.match(verdict, { decision: 'REQUIRE_APPROVAL', approval: { approvalId: 'a' } });
  t.match((await decideCall({ ...held, isRetired: false })).verdict, { decision: 'ALLOW', byApproval: 'a' });
});

t.test('a grant is not spent on a client that leaves while its key is looked up once more', async (t) => {
  const held = { decision: 'REQUIRE_APPROVAL', decided: 'approved' } as const;
  const { verdict } = await decideCall({ ...held, call: { isAwaited: () => false } });
  t.match(verdict, { decision: 'REQUIRE_APPROVAL' });
});

t.test('a suspension denies in monitor mode as well', async (t) => {
  for (const agentStatus of ['suspended', 'tenant-suspended'] as const) {
    const { verdict } = await decideCall({ decision: 'ALLOW', mode: 'monitor', call: { agentStatus } });
    t.match(verdict, { decision: 'DENY', reasonCodes: ['AGENT_SUSPENDED'] }, agentStatus);
  }
});

const ofKey = { kind: 'postern-key', start: 8, end: 11 };
const inBody = findingOf(ofKey);
const inHead = findingOf({ ...ofKey, part: 'head', location: 'header:x' });
const other = findingOf({ start: 2, end: 5 });
const keyCases: readonly (Setup & {
  readonly name: string;
  readonly want: object;
  readonly sent?: string;
})[] = [
  {
    name: 'in the body of a call that is allowed is cut',
    decision: 'ALLOW',
    call: { findings: [inBody] },
    want: { decision: 'SANITIZE', reasonCodes: ['SECRETS'] },
    sent: 'text of [REDACTED:postern-key]',
  },
  {
    name: 'in a header of a call that is allowed is a denial',
    decision: 'ALLOW',
    call: { findings: [inHead] },
    want: { decision: 'DENY', reasonCodes: ['UNSANITIZABLE', 'SECRETS'] },
  },
  {
    name: 'in the body is cut in monitor mode, too',
    decision: 'DENY',
    mode: 'monitor',
    call: { findings: [inBody] },
    want: { decision: 'SANITIZE', wouldBe: 'DENY' },
    sent: 'text of [REDACTED:postern-key]',
  },
  {
    name: 'in a header is a denial in monitor mode, too',
    decision: 'ALLOW',
    mode: 'monitor',
    call: { findings: [inHead] },
    want: { decision: 'DENY', reasonCodes: ['UNSANITIZABLE', 'SECRETS'] },
  },
  {
    name: 'is cut from a call that people have approved',
    decision: 'REQUIRE_APPROVAL',
    hold: 'granted',
    call: { findings: [inBody] },
    want: { decision: 'SANITIZE', reasonCodes: ['RECENT_APPROVAL_GRANT'] },
    sent: 'text of [REDACTED:postern-key]',
  },
  {
    name: 'is not what a secret of somebody else is',
    decision: 'ALLOW',
    call: { findings: [other] },
    want: { decision: 'ALLOW', sanitizedBody: undefined },
  },
];

for (const { name, want, sent, ...setup } of keyCases) {
  t.test(`a key of the gateway ${name}`, async (t) => {
    const { verdict } = await decideCall(setup);
    t.match(verdict, want);
    t.equal(verdict?.sanitizedBody?.toString(), sent);
  });
}

const listed = { threats: [threatOf({ location: 'target' })] };

const incidents: readonly (Setup & { readonly name: string; readonly want: readonly string[] })[] = [
  {
    name: 'a denial of critical risk',
    decision: 'DENY',
    call: { band: 'CRITICAL' },
    want: ['critical-denial'],
  },
  { name: 'a denial of high risk', decision: 'DENY', call: { band: 'HIGH' }, want: [] },
  {
    name: 'a call of critical risk that people have denied',
    decision: 'REQUIRE_APPROVAL',
    hold: 'denied',
    call: { band: 'CRITICAL' },
    want: ['critical-denial'],
  },
  {
    name: 'a call of critical risk that people have approved',
    decision: 'REQUIRE_APPROVAL',
    hold: 'granted',
    call: { band: 'CRITICAL' },
    want: [],
  },
  {
    name: 'a denial of critical risk in monitor mode',
    decision: 'DENY',
    mode: 'monitor',
    call: { band: 'CRITICAL' },
    want: [],
  },
  {
    name: 'a call outside the scope of its key, of critical risk',
    decision: 'ALLOW',
    call: { band: 'CRITICAL', scopeViolations: [ownName('Not this tool.')] },
    want: ['scope-violation', 'critical-denial'],
  },
  { name: 'a call to what a feed lists', decision: 'ALLOW', call: listed, want: ['threat-hit'] },
  { name: 'one that must be held', decision: 'REQUIRE_APPROVAL', call: listed, want: ['threat-hit'] },
  {
    name: 'one that people have approved',
    decision: 'REQUIRE_APPROVAL',
    hold: 'granted',
    call: listed,
    want: ['threat-hit'],
  },
  {
    name: 'one of critical risk that is denied',
    decision: 'DENY',
    call: { ...listed, band: 'CRITICAL' },
    want: ['threat-hit', 'critical-denial'],
  },
  { name: 'one in monitor mode', decision: 'DENY', mode: 'monitor', call: listed, want: [] },
  {
    name: 'a call whose body has a URL that is listed',
    decision: 'ALLOW',
    call: { threats: [threatOf()] },
    want: [],
  },
];

for (const { name, want, ...setup } of incidents) {
  t.test(`${name} opens ${want.length === 0 ? 'no incident' : want.join(' and ')}`, async (t) => {
    t.same((await decideCall(setup)).triggers, want);
  });
}

t.test('an explanation names so many findings and no more', async (t) => {
  const findings = Array.from({ length: explainedFindingsMax + 1 }, (_, i) =>
    findingOf({ location: `body:$[${i}]` }),
  );
  const { verdict } = await decideCall({ decision: 'ALLOW', call: { findings } });
  t.equal(verdict?.explanation.filter((it) => it.startsWith('SECRETS')).length, explainedFindingsMax);
});
