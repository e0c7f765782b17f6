import { newId } from '../../../src/core/ids.ts';
import { ownName } from '../../../src/core/safe-name.ts';
import type { AdmitRequest, KeyRecord } from '../../../src/state/store.ts';
import { noonMs } from '../records.ts';
import type { SuitePart } from './lab.ts';

/** What the records say of a call: everything in `admit` that is no number. */
export const admission: SuitePart = async (t, { store, ...lab }) => {
  await t.test('answers for the agent and the environment that the call names', async (t) => {
    const acme = await lab.tenant();
    const other = await lab.tenant();
    const { agentId } = acme.agent;
    const sibling = await acme.agentOf({ name: 'sibling' });
    const staging = await acme.agentOf({ envName: 'staging' });
    const suspended = await acme.agentOf({ status: 'suspended' });
    const key = await acme.key();
    const wide = await acme.key({ envNames: ['staging'] });
    const revoked = await acme.key({ revokedAtMs: noonMs, revokedBy: 'admin' });
    const mine = { ok: true, identity: { agentId, envName: 'prod', keyId: key.keyId } };
    const cases: { name: string; key: KeyRecord; asks: Partial<AdmitRequest>; want: object }[] = [
      { name: 'nothing', key, asks: {}, want: mine },
      { name: 'its own agent', key, asks: { agentId }, want: mine },
      { name: 'its own environment', key, asks: { envName: 'prod' }, want: mine },
      {
        name: 'another agent of the tenant',
        key,
        asks: { agentId: sibling.agentId },
        want: { ok: true, identity: { agentId: sibling.agentId, agentName: 'sibling', keyId: key.keyId } },
      },
      {
        name: 'an agent of an environment that the key may name',
        key: wide,
        asks: { agentId: staging.agentId },
        want: { ok: true, identity: { agentId: staging.agentId, envName: 'staging' } },
      },
      {
        name: 'an environment that the key may name',
        key: wide,
        asks: { envName: 'staging' },
        want: { ok: true, identity: { agentId, envName: 'staging' } },
      },
      {
        name: 'a suspended agent',
        key,
        asks: { agentId: suspended.agentId },
        want: { ok: true, agentStatus: 'suspended' },
      },
      {
        name: 'an agent of another environment',
        key,
        asks: { agentId: staging.agentId },
        want: { ok: false, code: 'CROSS_ENVIRONMENT' },
      },
      { name: 'another environment', key, asks: { envName: 'staging' }, want: { code: 'CROSS_ENVIRONMENT' } },
      {
        name: 'an environment that only begins the same',
        key: wide,
        asks: { envName: 'stag' },
        want: { code: 'CROSS_ENVIRONMENT' },
      },
      {
        name: 'an agent of another tenant',
        key,
        asks: { agentId: other.agent.agentId },
        want: { ok: false, code: 'CROSS_TENANT' },
      },
      {
        name: 'an agent that nobody knows',
        key,
        asks: { agentId: newId() },
        want: { ok: false, code: 'UNKNOWN_AGENT' },
      },
      { name: 'rubbish', key, asks: { agentId: "x' OR 1=1 --\0" }, want: { code: 'UNKNOWN_AGENT' } },
      {
        name: 'an agent, with a revoked key',
        key: revoked,
        asks: { agentId: sibling.agentId },
        want: { ok: false, code: 'INVALID_KEY', identity: { keyId: revoked.keyId } },
      },
      {
        name: 'nothing, where its tenant is not served',
        key,
        asks: { termsOf: () => undefined },
        want: { ok: false, code: 'INVALID_KEY', identity: { keyId: key.keyId } },
      },
    ];
    for (const { name, key, asks, want } of cases) t.match(await acme.admit(key, asks), want, name);
    const unknown = await acme.admit({ ...key, hash: '0'.repeat(64) });
    t.same(unknown.identity, undefined, 'nobody knows whose an unknown key is');
  });

  await t.test('an agent that was unknown is known as soon as it is added', async (t) => {
    const acme = await lab.tenant();
    const key = await acme.key();
    const agentId = newId();
    t.match(await acme.admit(key, { agentId }), { code: 'UNKNOWN_AGENT' });
    await acme.agentOf({ agentId });
    t.match(await acme.admit(key, { agentId }), { ok: true, identity: { agentId } });
  });

  await t.test('a key that was unknown is known as soon as it is added', async (t) => {
    const acme = await lab.tenant();
    const key = await acme.key();
    const late = { ...key, keyId: newId(), hash: key.hash.split('').reverse().join('') };
    t.match(await acme.admit(late), { code: 'INVALID_KEY' });
    await store.addKey(late, acme.event());
    t.match(await acme.admit(late), { ok: true, key: { keyId: late.keyId } });
  });

  await t.test('allowlists', async (t) => {
    const acme = await lab.tenant();
    const cases: { list: string[]; yes: string[]; no: string[] }[] = [
      {
        list: ['203.0.113.0/24'],
        yes: ['203.0.113.0', '203.0.113.255', '::ffff:203.0.113.7', '::ffff:cb00:7107'],
        no: ['203.0.112.255', '203.0.114.0', '::ffff:203.0.114.7', '2001:db8::1', '::203.0.113.7'],
      },
      { list: ['203.0.113.7/32'], yes: ['203.0.113.7'], no: ['203.0.113.6', '203.0.113.8'] },
      { list: ['203.0.113.7'], yes: ['203.0.113.7'], no: ['203.0.113.70'] },
      { list: ['203.0.113.128/25'], yes: ['203.0.113.128'], no: ['203.0.113.127'] },
      {
        list: ['10.0.0.0/8', '192.0.2.1/32'],
        yes: ['10.255.0.1', '192.0.2.1'],
        no: ['11.0.0.0', '192.0.2.2'],
      },
      { list: ['2001:db8::/32'], yes: ['2001:db8::1', '2001:db8:ffff::'], no: ['2001:db9::', '203.0.113.7'] },
      { list: ['2001:db8::1/128'], yes: ['2001:db8::1', '2001:db8:0:0::1'], no: ['2001:db8::2'] },
      {
        list: ['0.0.0.0/0'],
        yes: ['203.0.113.7', '255.255.255.255', '::ffff:10.0.0.1', '2001:db8::1'],
        no: [],
      },
      { list: ['::/0'], yes: ['2001:db8::1', '::1'], no: ['203.0.113.7', '::ffff:203.0.113.7'] },
      { list: [], yes: [], no: ['203.0.113.7', '2001:db8::1', '127.0.0.1'] },
    ];
    for (const { list, yes, no } of cases) {
      const key = await acme.key({ ipAllowlist: list });
      let uses = 0;
      for (const clientAddress of yes) {
        const { ok } = await acme.admit(key, { clientAddress });
        t.ok(ok, `[${list}] has ${clientAddress}`);
        if (ok) uses += 1;
      }
      const wrong = [...no, '', 'nonsense', '203.0.113.7.', '203.0.113.7/24', '1.2.3', 'fe80::1%'];
      for (const clientAddress of wrong) {
        const want = { ok: false, code: 'IP_NOT_ALLOWED', identity: { keyId: key.keyId } };
        t.match(await acme.admit(key, { clientAddress }), want, `[${list}] has not "${clientAddress}"`);
      }
      const [usage] = await store.keyUsage(acme.tenantId, [key.keyId], noonMs);
      const want = { blockedAttempts: wrong.length + yes.length - uses, uses, calls24h: uses };
      t.match(usage, want, 'each attempt that was blocked is counted, and as nothing else');
    }
    const open = await acme.key();
    t.match(await acme.admit(open, { clientAddress: '' }), { ok: true }, 'without a list, any address may');
  });

  await t.test('a child is held to the allowlist of its parent as well', async (t) => {
    const acme = await lab.tenant();
    const parent = await acme.key({ ipAllowlist: ['203.0.113.0/24', '192.0.2.0/24'] });
    const plain = await acme.key({ type: 'ephemeral', parentKeyId: parent.keyId });
    const narrow = await acme.key({
      type: 'ephemeral',
      parentKeyId: parent.keyId,
      ipAllowlist: ['203.0.113.0/24', '198.51.100.0/24'],
    });
    const cases: [KeyRecord, string, boolean][] = [
      [plain, '203.0.113.1', true],
      [plain, '192.0.2.1', true],
      [plain, '198.51.100.1', false],
      [narrow, '203.0.113.1', true],
      [narrow, '192.0.2.1', false],
      [narrow, '198.51.100.1', false],
    ];
    for (const [key, clientAddress, ok] of cases)
      t.match(await acme.admit(key, { clientAddress }), { ok }, `${clientAddress}: ${ok}`);
    const change = { ipAllowlist: ['192.0.2.0/24'] };
    await store.updateKey(acme.tenantId, parent.keyId, change, acme.event());
    t.match(await acme.admit(plain, { clientAddress: '203.0.113.1' }), { code: 'IP_NOT_ALLOWED' });
    const usages = await store.keyUsage(acme.tenantId, [plain.keyId, parent.keyId], noonMs);
    t.match(usages, [{ blockedAttempts: 2 }, { blockedAttempts: 0 }], 'counted where it was tried');
  });

  await t.test(
    'the scope of a key says what it may be used for, and spends a use all the same',
    async (t) => {
      const acme = await lab.tenant();
      const parent = await acme.key();
      const cases: { scope: KeyRecord['scope']; asks: Partial<AdmitRequest>; violations: number }[] = [
        { scope: null, asks: {}, violations: 0 },
        {
          scope: { tools: null, verbs: null },
          asks: { toolName: ownName('x'), verb: 'ADMIN' },
          violations: 0,
        },
        {
          scope: { tools: ['github', 'slack'], verbs: null },
          asks: { toolName: ownName('slack') },
          violations: 0,
        },
        { scope: { tools: ['github'], verbs: null }, asks: { toolName: ownName('slack') }, violations: 1 },
        { scope: { tools: ['github'], verbs: null }, asks: { toolName: ownName('git') }, violations: 1 },
        { scope: { tools: null, verbs: ['READ'] }, asks: { verb: 'READ' }, violations: 0 },
        { scope: { tools: null, verbs: ['READ'] }, asks: { verb: 'WRITE' }, violations: 1 },
        {
          scope: { tools: ['github'], verbs: ['READ'] },
          asks: { toolName: ownName('x'), verb: 'ADMIN' },
          violations: 2,
        },
        { scope: { tools: [], verbs: null }, asks: {}, violations: 1 },
        { scope: { tools: [], verbs: [] }, asks: {}, violations: 2 },
      ];
      for (const { scope, asks, violations } of cases) {
        const key = await acme.key({ type: 'ephemeral', parentKeyId: parent.keyId, scope, maxUses: 1 });
        const admitted = await acme.admit(key, asks);
        t.match(admitted, { ok: true });
        t.equal(admitted.ok && admitted.scopeViolations.length, violations, JSON.stringify({ scope, asks }));
        t.match(await acme.admit(key, asks), { ok: false, code: 'INVALID_KEY' }, 'the use is spent');
      }
    },
  );

  await t.test('of several reasons to refuse, the first in their order is named', async (t) => {
    const acme = await lab.tenant();
    const other = await lab.tenant();
    const staging = await acme.agentOf({ envName: 'staging' });
    const nothing: Partial<KeyRecord> = { permissions: [], ipAllowlist: ['192.0.2.1/32'] };
    const revoked = await acme.key({ ...nothing, revokedAtMs: noonMs, revokedBy: 'admin' });
    const key = await acme.key(nothing);
    const from = { clientAddress: '192.0.2.1' };
    const cases: { name: string; key: KeyRecord; asks: Partial<AdmitRequest>; want: object }[] = [
      { name: 'the key', key: revoked, asks: {}, want: { code: 'INVALID_KEY', detail: /revoked/ } },
      {
        name: 'the tenant',
        key,
        asks: { termsOf: () => undefined },
        want: { code: 'INVALID_KEY', detail: /served/ },
      },
      { name: 'the address', key, asks: { agentId: other.agent.agentId }, want: { code: 'IP_NOT_ALLOWED' } },
      {
        name: 'the tenant of the agent',
        key,
        asks: { ...from, agentId: other.agent.agentId, envName: 'x' },
        want: { code: 'CROSS_TENANT' },
      },
      {
        name: 'the environment of the agent',
        key,
        asks: { ...from, agentId: staging.agentId },
        want: { code: 'CROSS_ENVIRONMENT' },
      },
      { name: 'the environment', key, asks: { ...from, envName: 'x' }, want: { code: 'CROSS_ENVIRONMENT' } },
      {
        name: 'the environment, of an agent that nobody knows',
        key,
        asks: { ...from, agentId: newId(), envName: 'x' },
        want: { code: 'CROSS_ENVIRONMENT' },
      },
      { name: 'the permission, before the quota', key, asks: from, want: { code: 'FORBIDDEN' } },
      {
        name: 'the permission, before an agent that nobody knows',
        key,
        asks: { ...from, agentId: newId() },
        want: { code: 'FORBIDDEN' },
      },
    ];
    acme.terms = { ...acme.terms, scansPerMonth: 0 };
    for (const { name, key, asks, want } of cases) t.match(await acme.admit(key, asks), want, name);
    t.match(await acme.admit(await acme.key()), { code: 'QUOTA_EXCEEDED' }, 'then the quota');
  });

  await t.test(
    'an agent that nobody knows is named only where the call would have been let in',
    async (t) => {
      const acme = await lab.tenant({ scansPerMonth: 0 });
      const key = await acme.key();
      const asks = { agentId: newId() };
      t.match(await acme.admit(key, asks), { code: 'QUOTA_EXCEEDED', identity: { keyId: key.keyId } });
      acme.terms = { ...acme.terms, scansPerMonth: 2, scansPerMinute: 1, burst: 1 };
      for (let time = 0; time < 3; time += 1) t.match(await acme.admit(key, asks), { code: 'UNKNOWN_AGENT' });
      t.match(await acme.admit(key), { ok: true, scansUsed: 1 }, 'and has taken nothing');
      t.match(await acme.admit(key, asks), { code: 'RATE_LIMITED', retryAfterSeconds: 60 });
      acme.terms = { ...acme.terms, scansPerMinute: null };
      const child = await acme.key({ type: 'ephemeral', parentKeyId: key.keyId, maxUses: 1 });
      t.match(await acme.admit(child, asks), { code: 'UNKNOWN_AGENT' });
      t.match(await acme.admit(child), { ok: true, scansUsed: 2 });
      acme.terms = { ...acme.terms, scansPerMonth: null };
      t.match(await acme.admit(child, asks), { code: 'INVALID_KEY', detail: /used up/ });
    },
  );
};
