import { GatewayError } from '../../errors.ts';
import {
  approvalsMax,
  asOf,
  countsUntilMs,
  decide,
  holdBy,
  pendingMax,
  pendingPerAgentMax,
  tooManyPending,
} from '../approval.ts';
import type { ApprovalRecord, Hold, Store } from '../store.ts';
import type { Change, Commits } from './commits.ts';
import type { Connection } from './connection.ts';
import type { Names } from './names.ts';
import { beginning, idOfPlace, parseCursor, placeOf, readPage } from './pages.ts';
import { readMany, toRecord } from './records.ts';

type Approvals = Pick<Store, 'holdCall' | 'decideApproval' | 'approvalById' | 'listApprovals'>;

/** Leads to the last approval of a call. */
const linkOf = ({ callHash }: ApprovalRecord): string => `call:${callHash}`;
/** Leads to the last denial of what one key may ask as several agents. */
const denialLinkOf = ({ denialHash }: ApprovalRecord): string => `denied:${denialHash}`;

const pendingWith = ({ names }: Change, { agentId }: ApprovalRecord): readonly string[] => [
  names.pending,
  names.pendingOf(agentId),
];

const boundsOf = ({ names }: Change, { agentId }: ApprovalRecord): readonly [key: string, most: number][] => [
  [names.pending, pendingMax],
  [names.pendingOf(agentId), pendingPerAgentMax],
  [names.approvalEnds, approvalsMax],
];

/** From then on it may make room. */
function endLater({ names, endRecord }: Change, approval: ApprovalRecord, nowMs: number): void {
  endRecord({
    key: names.approvalEnds,
    index: names.indexOf('approvals'),
    records: names.approvals,
    place: placeOf(approval.createdAtMs, approval.approvalId),
    endsAtMs: countsUntilMs(approval),
    beforeMs: nowMs,
    most: approvalsMax,
  });
}

export function createApprovals(connection: Connection, names: Names, commits: Commits): Approvals {
  async function open(change: Change, approval: ApprovalRecord): Promise<Hold> {
    const { approvals } = change.names;
    if ((await change.read(approvals, approval.approvalId)) !== undefined)
      throw new GatewayError('CONFLICT', 'There is such an approval already.');
    const { createdAtMs: fromMs, expiresAtMs: untilMs } = approval;
    for (const [key, most] of boundsOf(change, approval))
      if (!(await change.hasRoom(key, fromMs, most))) throw tooManyPending();
    for (const key of pendingWith(change, approval))
      change.enter(key, approval.approvalId, { fromMs, untilMs });
    change.put(approvals, approval.approvalId, JSON.stringify(approval));
    change.put(approvals, linkOf(approval), approval.approvalId);
    change.put(approvals, `link:${approval.approvalId}`, linkOf(approval));
    change.index(change.names.indexOf('approvals'), placeOf(fromMs, approval.approvalId));
    endLater(change, approval, fromMs);
    return { kind: 'pending', approval, isNew: true };
  }

  return {
    holdCall: (approval) =>
      commits.write(approval.tenantId, async (change) => {
        const nowMs = approval.createdAtMs;
        const { approvals } = change.names;
        for (const link of [linkOf(approval), denialLinkOf(approval)]) {
          const id = await change.read(approvals, link);
          const standing = id === undefined ? undefined : await change.read(approvals, id);
          const found = toRecord<ApprovalRecord>(standing);
          const hold = found && holdBy(found, nowMs);
          if (!hold) continue;
          if (hold.approval !== found)
            change.put(approvals, hold.approval.approvalId, JSON.stringify(hold.approval));
          return hold;
        }
        return open(change, approval);
      }),

    decideApproval: (tenantId, approvalId, made, event) =>
      commits.write(tenantId, async (change) => {
        const found = toRecord<ApprovalRecord>(await change.read(change.names.approvals, approvalId));
        if (!found) return undefined;
        const standing = asOf(found, made.nowMs);
        if (standing.status !== 'pending') return { isDecidedNow: false, approval: standing };
        const approval = decide(standing, made);
        const { approvals } = change.names;
        change.put(approvals, approvalId, JSON.stringify(approval));
        if (approval.status === 'denied') {
          change.put(approvals, denialLinkOf(approval), approvalId);
          change.put(approvals, `denial:${approvalId}`, denialLinkOf(approval));
        }
        for (const key of pendingWith(change, approval)) change.leave(key, approvalId);
        endLater(change, approval, made.nowMs);
        change.audit(event);
        return { isDecidedNow: true, approval };
      }),

    async approvalById(tenantId, approvalId, nowMs) {
      const text = await connection.call('HGET', names.of(tenantId).approvals, approvalId);
      const approval = toRecord<ApprovalRecord>(text);
      return approval && asOf(approval, nowMs);
    },

    async listApprovals(tenantId, status, nowMs, page) {
      const own = names.of(tenantId);
      const index = {
        key: own.indexOf('approvals'),
        read: (places: readonly string[]) => readMany(connection, own.approvals, places.map(idOfPlace)),
        from: beginning(parseCursor(page.cursor)),
      };
      return readPage(connection, index, page, (text) => {
        const found = toRecord<ApprovalRecord>(text);
        const approval = found && asOf(found, nowMs);
        return status === undefined || approval?.status === status ? approval : undefined;
      });
    },
  };
}
