import { setTimeout as pause } from 'node:timers/promises';
import { send, type Tenant, type Test } from '../suite/lab.ts';
import { type Answer, type Caller, openCaller } from './callers.ts';
import type { Fleet, Member } from './fleet.ts';

/*
 * People and agents who go on while daemons and state are killed under them. Only what was acknowledged is written down; what was not,
 * may have happened or not.
 */

export interface KnownKey {
  readonly key: string;
  readonly keyId: string;
}

export interface Acknowledged {
  /** Minted, and nobody has asked to revoke them. */
  readonly minted: readonly KnownKey[];
  readonly revoked: readonly KnownKey[];
  /** Traces of calls that were let through, by the key of the tenant. */
  readonly passed: readonly string[];
  /** Calls that were let through by the ephemeral key. */
  readonly spent: number;
  /** Calls of both keys that were sent, and those of the ephemeral key that got no answer. */
  readonly sent: number;
  readonly spentUnsaid: number;
  /** Answers that are neither done nor 503. */
  readonly unexpected: readonly string[];
}

export interface Load {
  readonly acknowledged: Acknowledged;
  /** Resolves when some more mints, revocations and calls were acknowledged, each kind at each daemon. */
  progress(): Promise<void>;
  /** Ends after what is under way. */
  stop(): Promise<void>;
}

const moreOfEach = 20;
/** Before the next attempt of somebody who was not answered. */
const retryMs = 10;
/** Between two calls of one caller: without it they take the processors that a restart waits for, and mostly something is under way anyway. */
const restMs = 10;

export async function startLoad(t: Test, fleet: Fleet, tenant: Tenant, ephemeralKey: string): Promise<Load> {
  const minted: KnownKey[] = [];
  const revoked: KnownKey[] = [];
  const passed: string[] = [];
  const unexpected: string[] = [];
  const numbers = { spent: 0, sent: 0, spentUnsaid: 0 };
  /** Acknowledged so far, by daemon and kind. */
  const done = new Map<string, number>();
  let isStopped = false;
  let moved = Promise.withResolvers<void>();

  function count(member: Member, kind: string): void {
    const name = `${member.dir} ${kind}`;
    done.set(name, (done.get(name) ?? 0) + 1);
    moved.resolve();
    moved = Promise.withResolvers<void>();
  }

  const admin = (member: Member, method: string, path: string, body?: object) =>
    send(member.controlUrl, { method, path, authorization: `Bearer ${fleet.adminSecret}`, body });

  /** Undefined where nobody answered, or the gateway could not. */
  async function attempt<T extends { readonly status: number }>(asked: Promise<T>): Promise<T | undefined> {
    const answer = await asked.catch(() => undefined);
    if (answer && answer.status !== 503) return answer;
    await pause(retryMs);
    return undefined;
  }

  async function mintAndRevoke(member: Member): Promise<void> {
    for (let turn = 0; !isStopped; turn += 1) {
      await pause(restMs);
      const asked = { tenant_id: tenant.id, name: 'load', default_agent_id: tenant.agentId };
      const made = await attempt(admin(member, 'POST', '/v1/keys', asked));
      if (!made) continue;
      if (made.status !== 201) unexpected.push(`mint ${made.status} ${made.body?.code}`);
      const key = { key: made.body.key, keyId: made.body.key_id };
      count(member, 'mint');
      if (turn % 2 === 0) minted.push(key);
      else await revoke(member, key);
    }
  }

  async function revoke(member: Member, key: KnownKey): Promise<void> {
    const gone = await attempt(admin(member, 'DELETE', `/v1/keys/${key.keyId}?tenant_id=${tenant.id}`));
    if (!gone) return;
    if (gone.status !== 200) unexpected.push(`revoke ${gone.status} ${gone.body?.code}`);
    revoked.push(key);
    count(member, 'revoke');
  }

  async function callOn(caller: Caller, isLast: (answer: Answer) => boolean, took: Took): Promise<void> {
    while (!isStopped) {
      await pause(restMs);
      numbers.sent += 1;
      const answer = await attempt(caller.call());
      if (!answer) took.nothing();
      else if (answer.isAllowed) took.pass(answer);
      else if (isLast(answer)) return;
      else unexpected.push(`${answer.entrance} ${answer.status} ${answer.code ?? answer.decision}`);
    }
  }

  async function agentsAt(member: Member): Promise<Promise<void>[]> {
    const open = (entrance: 'scan' | 'forward', key: string) =>
      openCaller(t, entrance, { fleet, member, key });
    const calling: Took = {
      pass({ traceId, entrance }) {
        passed.push(traceId);
        count(member, entrance);
      },
      nothing: () => undefined,
    };
    const spending: Took = {
      pass() {
        numbers.spent += 1;
      },
      nothing() {
        numbers.spentUnsaid += 1;
      },
    };
    const never = (): boolean => false;
    const isUsedUp = ({ code }: Answer): boolean => code === 'INVALID_KEY';
    return [
      callOn(await open('scan', tenant.key), never, calling),
      callOn(await open('forward', tenant.key), never, calling),
      callOn(await open('scan', ephemeralKey), isUsedUp, spending),
      mintAndRevoke(member),
      mintAndRevoke(member),
    ];
  }

  const running = (await Promise.all(fleet.members.map(agentsAt))).flat();
  const kinds = fleet.members.flatMap(({ dir }) =>
    ['mint', 'revoke', 'scan', 'forward'].map((it) => `${dir} ${it}`),
  );
  return {
    acknowledged: {
      minted,
      revoked,
      passed,
      unexpected,
      get spent() {
        return numbers.spent;
      },
      get sent() {
        return numbers.sent;
      },
      get spentUnsaid() {
        return numbers.spentUnsaid;
      },
    },
    async progress() {
      const from = new Map(done);
      const hasMoved = (it: string): boolean => (done.get(it) ?? 0) >= (from.get(it) ?? 0) + moreOfEach;
      while (!kinds.every(hasMoved)) await moved.promise;
    },
    async stop() {
      isStopped = true;
      await Promise.all(running);
    },
  };
}

interface Took {
  pass(answer: Answer): void;
  nothing(): void;
}
