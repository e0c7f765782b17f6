import { randomBytes } from 'node:crypto';
import type { Test } from 'tap';
import { basic, openTunnel } from '../../support/clients.ts';
import { type Reply, send, type Tenant } from '../suite/lab.ts';
import { type Answer, type Caller, type Entrance, entrances, openCallers } from './callers.ts';
import { type Fleet, type Member, secureHost } from './fleet.ts';

/*
 * What takes a right away holds on every node from the next call on: calls run on all daemons, through open tunnels, kept connections
 * and scans, while one daemon is told. Of the calls that begin after its answer not one may pass.
 */

/** Whom a measure is taken against, and whose calls are running. */
interface Subject {
  readonly tenant: Tenant;
  readonly key: string;
  readonly keyId: string;
}

interface Measure {
  readonly name: string;
  readonly tenantId: string;
  readonly through: readonly Entrance[];
  readonly rounds: number;
  prepare(tenant: Tenant): Promise<Subject>;
  /** By the administrator, at one of the daemons. */
  take(subject: Subject, at: Admin): Promise<Reply>;
  /** Status, and code or decision, of every call after it. */
  readonly refused: Partial<Record<Entrance, string>>;
}

type Admin = (method: string, path: string, body?: unknown) => Promise<Reply>;

const itself = async (tenant: Tenant): Promise<Subject> => ({ tenant, key: tenant.key, keyId: tenant.keyId });
const denied = { scan: '200 DENY', forward: '403 POLICY_DENIED', tunnel: '403 POLICY_DENIED' };
const invalid = { scan: '401 INVALID_KEY', forward: '407 PROXY_AUTH_REQUIRED', tunnel: '401 INVALID_KEY' };
const everywhere = { tenantId: 'acme', through: entrances, rounds: 2, prepare: itself };
const credential = 'bot';

const measures: readonly Measure[] = [
  {
    ...everywhere,
    name: 'a revoked key',
    rounds: 4,
    take: ({ keyId }, at) => at('DELETE', `/v1/keys/${keyId}`),
    refused: invalid,
  },
  {
    ...everywhere,
    name: 'an ephemeral key whose parent is revoked',
    async prepare(tenant) {
      const { key } = await tenant.ephemeral();
      return { tenant, key, keyId: tenant.keyId };
    },
    take: ({ keyId }, at) => at('DELETE', `/v1/keys/${keyId}`),
    refused: invalid,
  },
  {
    ...everywhere,
    name: 'a suspended agent',
    take: ({ tenant }, at) => at('POST', `/v1/agents/${tenant.agentId}/suspend`),
    refused: denied,
  },
  {
    ...everywhere,
    name: 'a suspended tenant',
    tenantId: 'halted',
    async prepare(tenant) {
      const { status } = await tenant.admin('POST', '/v1/agents/reactivate');
      if (status !== 200) throw new Error(`the tenant is still suspended: ${status}`);
      return itself(tenant);
    },
    take: (_, at) => at('POST', '/v1/agents/suspend'),
    refused: denied,
  },
  {
    ...everywhere,
    name: 'an allowlist without the address of the caller',
    take: ({ keyId }, at) => at('PATCH', `/v1/keys/${keyId}`, { ip_allowlist: ['192.0.2.0/24'] }),
    refused: { scan: '403 IP_NOT_ALLOWED', forward: '403 IP_NOT_ALLOWED', tunnel: '403 IP_NOT_ALLOWED' },
  },
  {
    ...everywhere,
    name: 'a policy that denies',
    take({ tenant }, at) {
      const rule = { rule_id: 'no', match: { agent_ids: [tenant.agentId] }, action: 'DENY' };
      return at('POST', '/v1/policies/apply', { name: `no ${tenant.agentId}`, rules: [rule] });
    },
    refused: denied,
  },
  {
    ...everywhere,
    name: 'a credential taken out of the vault',
    tenantId: 'vaulted',
    // Credentials go where they are verified to belong: through TLS.
    through: ['tunnel'],
    async prepare(tenant) {
      const secret = { value: randomBytes(16).toString('hex') };
      await tenant.admin('PUT', `/v1/credentials/${credential}`, { type: 'bearer', secret });
      return itself(tenant);
    },
    take: (_, at) => at('DELETE', `/v1/credentials/${credential}`),
    refused: { tunnel: '502 CREDENTIAL_UNAVAILABLE' },
  },
];

export const revocationConfig = {
  tenants: [
    { id: 'acme', plan: 'enterprise' },
    { id: 'halted', plan: 'enterprise' },
    { id: 'vaulted', plan: 'enterprise' },
  ],
  credentials: [{ name: credential, tenant: 'vaulted', type: 'bearer', vault: true, hosts: [secureHost] }],
};

export async function revocation(t: Test, fleet: Fleet): Promise<void> {
  for (const measure of measures) {
    await t.test(`${measure.name} stops all calls from the answer on`, async (t) => {
      for (let round = 0; round < measure.rounds; round += 1) {
        const told = fleet.members[round % fleet.members.length] as Member;
        await takeWhileCallsRun(t, fleet, measure, told);
      }
    });
  }
}

const passesBefore = 8;
/** Few: who presents an invalid key is slowed down after sixty. */
const callsAfter = 3;

async function takeWhileCallsRun(t: Test, fleet: Fleet, measure: Measure, told: Member): Promise<void> {
  const subject = await measure.prepare(await fleet.tenant(measure.tenantId));
  const { all } = await openCallers(t, fleet, subject.key, { through: measure.through });
  const running = all.map((caller) => runCaller(caller));
  const ended = Promise.all(running.map((it) => it.ended));
  await Promise.race([Promise.all(running.map((it) => it.isUnderWay)), ended]);
  for (const it of running) it.mayBeRefused();
  const { status, body } = await measure.take(subject, (method, path, sent) =>
    send(told.controlUrl, {
      method,
      path: `${path}?tenant_id=${measure.tenantId}`,
      authorization: `Bearer ${fleet.adminSecret}`,
      body: sent,
    }),
  );
  for (const it of running) it.mustBeRefused();
  t.equal(status, 200, `answered: ${body.code ?? 'done'}`);
  const after = (await ended).flat();
  t.equal(after.length, all.length * callsAfter);
  const wrong = after.filter((it) => toText(it) !== measure.refused[it.entrance]);
  t.same(wrong.slice(0, 3), [], 'each later call is refused, by every daemon');
  const { plain, secure } = fleet.upstreams;
  const reached = [...plain.requests, ...secure.requests].filter((it) => it.url.startsWith('/after'));
  t.same(reached, [], 'and none has reached an upstream');
  if (measure.refused.tunnel === '401 INVALID_KEY') await refusesTunnels(t, fleet, subject.key);
}

const toText = ({ status, code, decision }: Answer): string => `${status} ${code ?? decision}`;

async function refusesTunnels(t: Test, { members, upstreams }: Fleet, key: string): Promise<void> {
  const authority = `${secureHost}:${upstreams.secure.port}`;
  for (const { proxyUrl } of members) {
    const { status, socket } = await openTunnel({ proxyUrl, authorization: basic(key), authority });
    socket.destroy();
    t.equal(status, 407, 'a new tunnel is refused');
  }
}

interface Running {
  /** Some calls have passed. */
  readonly isUnderWay: Promise<void>;
  mayBeRefused(): void;
  mustBeRefused(): void;
  /** With the answers to those calls that began when they had to be refused. Rejects where one was refused too early. */
  readonly ended: Promise<readonly Answer[]>;
}

/** Calls one after the other, without a pause, until it has made enough calls that had to be refused. */
function runCaller(caller: Caller): Running {
  const underWay = Promise.withResolvers<void>();
  const taken = Promise.withResolvers<void>();
  let phase: 'before' | 'between' | 'after' = 'before';

  async function run(): Promise<readonly Answer[]> {
    const after: Answer[] = [];
    let passes = 0;
    while (after.length < callsAfter) {
      const began = phase;
      const answer = await caller.call({ path: `/${began}` });
      if (began === 'after') after.push(answer);
      else if (answer.isAllowed) passes += 1;
      else if (phase === 'before') throw new Error(`refused before anything was done: ${toText(answer)}`);
      else await taken.promise;
      if (passes === passesBefore) underWay.resolve();
    }
    return after;
  }

  return {
    isUnderWay: underWay.promise,
    mayBeRefused() {
      phase = 'between';
    },
    mustBeRefused() {
      phase = 'after';
      taken.resolve();
    },
    ended: run(),
  };
}
