import fc from 'fast-check';
import type { ApprovalRecord } from '../../../src/state/store.ts';
import { approvalRecord, auditEvent, decided } from '../records.ts';
import type { Agreement } from './agreement.ts';

const hold = fc.record({
  kind: fc.constant('hold' as const),
  call: fc.nat(2),
  lifeMs: fc.constantFrom(60_000, 600_000),
});
const decide = fc.record({
  kind: fc.constant('decide' as const),
  approval: fc.nat(5),
  decision: fc.constantFrom('approved' as const, 'denied' as const),
  scope: fc.constantFrom('once' as const, 'window' as const),
  windowMs: fc.constantFrom(0, 60_000, 3_600_000),
});
const look = fc.record({ kind: fc.constantFrom('look' as const, 'expire' as const) });
const list = fc.record({
  kind: fc.constant('list' as const),
  status: fc.constantFrom(
    undefined,
    'pending' as const,
    'approved' as const,
    'denied' as const,
    'expired' as const,
  ),
  agent: fc.constantFrom(undefined, 0, 1),
  tool: fc.constantFrom(undefined, 'github', 'none'),
  fromAgoMs: fc.constantFrom(undefined, 60_000),
  limit: fc.integer({ min: 1, max: 4 }),
});

const steps = fc.oneof(
  { weight: 5, arbitrary: hold },
  { weight: 4, arbitrary: decide },
  { weight: 2, arbitrary: look },
  { weight: 1, arbitrary: list },
);

type Step = typeof steps extends fc.Arbitrary<infer T> ? T : never;

/** Approvals: what a held call meets, decisions, ends and lists. Calls 0 and 1 are one for what is denied. */
export const approvals: Agreement<Step> = {
  steps,
  runs: 60,
  // Redis forgets within a day what has expired and nobody has asked for; the embedded driver tells of it later, too.
  longestMs: 3 * 3_600_000,
  begin(store, { tenantId, id }) {
    const event = auditEvent({ tenantId });
    const opened: ApprovalRecord[] = [];
    const hash = (number: number): string => id(number).replaceAll('-', '').repeat(2);
    let asked = 0;
    return async (step, nowMs) => {
      switch (step.kind) {
        case 'hold': {
          asked += 1;
          const approval = approvalRecord({
            ...{ tenantId, approvalId: id(1_000 + asked), traceId: id(2_000 + asked), keyId: id(50) },
            ...{ callHash: hash(10 + step.call), denialHash: hash(20 + Math.floor(step.call / 2)) },
            ...{ agentId: id(step.call), ownAgentId: id(0) },
            ...{ createdAtMs: nowMs, expiresAtMs: nowMs + step.lifeMs },
          });
          const answer = await store.holdCall(approval, (it) => (it.isNew ? event : undefined));
          if (answer.isNew) opened.unshift(answer.approval);
          return answer;
        }
        case 'decide': {
          const { decision, scope, windowMs } = step;
          const approvalId = opened[step.approval]?.approvalId ?? id(99);
          const made = decided({ decision, scope, windowMs, nowMs });
          return store.decideApproval(tenantId, approvalId, made, { ...event, atMs: nowMs });
        }
        case 'look':
          return [
            await Promise.all(opened.map((it) => store.approvalById(tenantId, it.approvalId, nowMs))),
            await store.listAudit(tenantId, {}, { limit: 100, cursor: undefined }),
          ];
        case 'expire': {
          const ended = (await store.expireApprovals(nowMs)).filter((it) => it.tenantId === tenantId);
          return ended.sort((a, b) => (a.approvalId < b.approvalId ? -1 : 1));
        }
        case 'list': {
          const { status, agent, tool: toolName, fromAgoMs } = step;
          const filter = {
            ...(status === undefined ? {} : { status }),
            ...(agent === undefined ? {} : { agentId: id(agent) }),
            ...(toolName === undefined ? {} : { toolName }),
            ...(fromAgoMs === undefined ? {} : { fromMs: nowMs - fromAgoMs, beforeMs: nowMs }),
          };
          const first = await store.listApprovals(tenantId, filter, nowMs, {
            limit: step.limit,
            cursor: undefined,
          });
          return first;
        }
      }
    };
  },
};
