import fc from 'fast-check';
import type { ChannelClaim, ClaimedMessage, Settlement } from '../../../src/state/store.ts';
import type { Agreement } from './agreement.ts';

const owner = fc.constantFrom(null, 'acme', 'other');
const channel = fc.nat(1);

const enqueue = fc.record({
  kind: fc.constant('enqueue' as const),
  notice: fc.nat(12),
  about: fc.constantFrom('decision.deny', 'approval.requested'),
  tenant: fc.constantFrom(null, 'acme'),
  hasTrace: fc.boolean(),
  lateMs: fc.nat(5_000),
  channels: fc.subarray([0, 1], { minLength: 1 }),
  owner,
  digestMs: fc.constantFrom(0, 30_000, 600_000),
  waitingMax: fc.integer({ min: 1, max: 3 }),
});

const claim = fc.record({
  kind: fc.constant('claim' as const),
  channel,
  owner,
  limit: fc.integer({ min: 1, max: 3 }),
  intervalMs: fc.constantFrom(1, 1_000, 60_000),
  burst: fc.integer({ min: 1, max: 3 }),
  probingMin: fc.integer({ min: 1, max: 3 }),
  aheadMsMax: fc.constantFrom(20_000, 3_600_000),
  leaseMs: fc.constantFrom(1_000, 600_000),
});

const outcome: fc.Arbitrary<Settlement['outcome']['kind']> = fc.constantFrom(
  'delivered',
  'released',
  'retry',
  'dead',
);

const settle = fc.record({
  kind: fc.constant('settle' as const),
  message: fc.nat(3),
  outcome,
  takenMs: fc.nat(3_000),
  delayMs: fc.nat(60_000),
  hasAnswered: fc.boolean(),
  reason: fc.constantFrom('answered 503', 'x'.repeat(300)),
  pauseFrom: fc.integer({ min: 1, max: 3 }),
  pausedForMs: fc.constantFrom(0, 90_000),
});

const bury = fc.record({
  kind: fc.constant('bury' as const),
  channel,
  agoMs: fc.constantFrom(0, 60_000),
  limit: fc.integer({ min: 1, max: 3 }),
  unclaimedForMs: fc.constantFrom(null, 0, 120_000),
});

const look = fc.record({
  kind: fc.constant('look' as const),
  owner: fc.constantFrom(undefined, 'acme', 'other'),
});
const replay = fc.record({ kind: fc.constant('replay' as const), channel, all: fc.boolean() });

const steps = fc.oneof(
  { weight: 5, arbitrary: enqueue },
  { weight: 4, arbitrary: claim },
  { weight: 4, arbitrary: settle },
  { weight: 1, arbitrary: bury },
  { weight: 2, arbitrary: look },
  { weight: 1, arbitrary: replay },
);

type Step = typeof steps extends fc.Arbitrary<infer T> ? T : never;

const page = { limit: 100, cursor: undefined };

/** The queue of notices: placing, claiming, settling, giving up and replaying. */
export const notices: Agreement<Step> = {
  steps,
  runs: 60,
  lengthMax: 30,
  begin(store, { tenantId, id }) {
    const nameOf = (number: number): string => `channel-${number}-${tenantId}`;
    const ownerOf = (of: string | null): string | null => of && `${of}-${tenantId}`;
    const claimed: (ClaimedMessage & { readonly atMs: number })[] = [];

    async function claimFor(step: Extract<Step, { kind: 'claim' }>, nowMs: number) {
      const { kind: _, channel, leaseMs, ...limits } = step;
      const asked: ChannelClaim = { ...limits, name: nameOf(channel), owner: ownerOf(step.owner) };
      const messages = await store.claimMessages([asked], nowMs, leaseMs);
      claimed.unshift(...messages.map((it) => ({ ...it, atMs: nowMs })));
      return messages;
    }

    function outcomeOf(step: Extract<Step, { kind: 'settle' }>, nowMs: number): Settlement['outcome'] {
      const { outcome: kind, reason, hasAnswered, pauseFrom } = step;
      if (kind === 'dead') return { kind, reason, hasAnswered };
      if (kind !== 'retry') return { kind };
      const pausedUntilMs = step.pausedForMs === 0 ? 0 : nowMs + step.pausedForMs;
      const pause = { pausedUntilMs, pauseFrom, pauseMinMs: 30_000, pauseMaxMs: 100_000 };
      return { kind, reason, dueAtMs: nowMs + step.delayMs, ...pause };
    }

    async function look(owner: string | undefined) {
      const filter = owner === undefined ? {} : { owner: `${owner}-${tenantId}` };
      const own = (it: { readonly channel: string }): boolean => it.channel.endsWith(tenantId);
      const { items } = await store.listDeadMessages(filter, page);
      const queues = (await store.channelQueues()).filter(({ name }) => name.endsWith(tenantId));
      return [items.filter(own), queues];
    }

    return async (step, nowMs) => {
      switch (step.kind) {
        case 'enqueue': {
          const { about: kind, lateMs, hasTrace, digestMs, waitingMax } = step;
          const target = { owner: ownerOf(step.owner), digestMs, waitingMax };
          const notice = {
            ...{
              noticeId: id(step.notice),
              kind,
              tenantId: step.tenant,
              atMs: nowMs - lateMs,
              body: `${nowMs}`,
            },
            traceId: hasTrace ? id(100 + step.notice) : null,
            channels: step.channels.map((it) => ({ ...target, name: nameOf(it) })),
          };
          return store.enqueueNotices([notice], nowMs);
        }
        case 'claim':
          return claimFor(step, nowMs);
        case 'settle': {
          const message = claimed[step.message];
          if (!message) return undefined;
          const { id, channel, attempts } = message;
          const of = { id, channel, attempts, claimedAtMs: message.atMs, nowMs: nowMs + step.takenMs };
          return store.settleMessage({ ...of, outcome: outcomeOf(step, of.nowMs) });
        }
        case 'bury': {
          const { agoMs, limit, unclaimedForMs } = step;
          const onlyIf =
            unclaimedForMs === null ? 'failing' : ({ unclaimedSinceMs: nowMs - unclaimedForMs } as const);
          const channel = nameOf(step.channel);
          return store.buryMessages({
            channel,
            dueBeforeMs: nowMs - agoMs,
            nowMs,
            reason: 'late',
            limit,
            onlyIf,
          });
        }
        case 'look':
          return look(step.owner);
        case 'replay': {
          const name = nameOf(step.channel);
          const { items } = await store.listDeadMessages({ channel: name }, page);
          const ids = items.map((it) => it.id);
          return store.replayMessages(name, step.all ? ids : [...ids.slice(0, 1), id(0)], nowMs);
        }
      }
    };
  },
};
