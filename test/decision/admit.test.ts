import t from 'tap';
import { newId } from '../../src/core/ids.ts';
import { registrationsPerDayMax } from '../../src/decision/stages/agent-registration.ts';
import { awsKeyId } from '../support/secrets.ts';
import { agentId, key, nowMs, openStage } from './admit-stage.ts';

const limit = 1024;
const tooLarge = Buffer.alloc(limit + 1);
const settings = { plan: 'free', limits: { max_body_bytes: limit } };

t.test(
  'what is too large is refused before it has taken anything, and it is known whose it was',
  async (t) => {
    const { store, attempt } = await openStage(t, settings);
    const { reached, refusal } = await attempt({ body: tooLarge });
    t.match(refusal, {
      code: 'PAYLOAD_TOO_LARGE',
      extra: { actual_bytes: limit + 1, limit_bytes: limit },
    });
    t.match(reached, { outcome: 'refused', identity: { agentId, keyId: key.keyId } });
    t.match(await store.usageOf('acme', nowMs), { scansUsed: 0, currentRatePerMin: 0 });
    t.match(await store.keyUsage('acme', [key.keyId], nowMs), [{ uses: 0, calls24h: 0 }]);
  },
);

const sizes = [
  { name: 'at the limit of its tenant', fields: { body: Buffer.alloc(limit) }, code: undefined },
  {
    name: 'over it, within that of its route',
    fields: { body: tooLarge, bodyBytesMax: 2048 },
    code: undefined,
  },
  {
    name: 'within it, over that of its route',
    fields: { body: Buffer.alloc(513), bodyBytesMax: 512 },
    code: 'PAYLOAD_TOO_LARGE',
  },
  {
    name: 'over it, of a key that nobody knows',
    fields: { body: tooLarge, key: { prefix: 'iv_live_zzzz', hash: '11'.repeat(32) } },
    code: 'INVALID_KEY',
  },
  {
    name: 'over it, from an address that is not on the allowlist',
    fields: { body: tooLarge, clientAddress: '192.0.2.1' },
    code: 'IP_NOT_ALLOWED',
  },
];

for (const { name, fields, code } of sizes) {
  t.test(`a body ${name} ${code ? `is refused with ${code}` : 'is admitted'}`, async (t) => {
    const { attempt } = await openStage(t, settings);
    t.equal((await attempt(fields)).refusal?.code, code);
  });
}

t.test('a larger tenant is not held to the limit of smaller ones', async (t) => {
  const { attempt } = await openStage(t, { limits: { max_body_bytes: 8 * 1024 * 1024 } });
  t.equal((await attempt({ body: Buffer.alloc(4 * 1024 * 1024) })).refusal, undefined);
});

t.test('of what a call says of a new agent only that is registered which may be shown', async (t) => {
  const { attempt, store } = await openStage(t, {});
  const registered = async (claimed: object) => {
    const agentId = newId();
    await attempt({ claimed: { agentId, ...claimed } });
    const { name, runtimeType } = (await store.agentById(agentId)) ?? {};
    return { name: name === agentId ? 'its id' : name, runtimeType };
  };
  const secret = awsKeyId();
  t.same(await registered({ agentName: 'night shift', runtimeType: 'crewai' }), {
    name: 'night shift',
    runtimeType: 'crewai',
  });
  const cut = '[REDACTED:aws-access-key-id]';
  t.same(await registered({ agentName: `a ${secret}`, runtimeType: secret }), {
    name: `a ${cut}`,
    runtimeType: cut,
  });
  const parted = `${secret.slice(0, 8)}\u200b${secret.slice(8)}`;
  t.same(await registered({ agentName: parted }), { name: cut, runtimeType: null });
  t.same(await registered({ agentName: 'a\nb\0\u202e', runtimeType: '\u001b[2J' }), {
    name: 'ab',
    runtimeType: '[2J',
  });
  t.same(await registered({ agentName: '\u202e' }), { name: 'its id', runtimeType: null });
});

t.test('a day brings so many agents that register themselves, and the next day as many', async (t) => {
  const { attempt } = await openStage(t, { plan: 'enterprise' });
  const register = async (atMs: number) =>
    (await attempt({ receivedAtMs: atMs, claimed: { agentId: newId() } })).refusal?.code;
  const first = await Promise.all(Array.from({ length: registrationsPerDayMax }, () => register(nowMs)));
  t.same(new Set(first), new Set([undefined]));
  t.equal(await register(nowMs), 'FORBIDDEN');
  t.equal(await register(nowMs + 86_400_000), undefined);
});
