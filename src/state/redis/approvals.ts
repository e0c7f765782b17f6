import { GatewayError } from '../../errors.ts';
import type { ApprovalRecord, Hold, Store } from '../store.ts';
import type { Change, Commits } from './commits.ts';
import type { Connection } from './connection.ts';
import type { Names } from './names.ts';
import { beginning, idOfPlace, parseCursor, placeOf, readPage } from './pages.ts';
import { readMany, toRecord } from './records.ts';

type Approvals = Pick<Store, 'holdCall' | 'decideApproval' | 'approvalById' | 'listApprovals'>;

/** Of one tenant; where there are more, the oldest go. */
const approvalsMax = 10_000;

/** Leads to the last approval of a call. */
const linkOf = ({ callHash }: ApprovalRecord): string => `call:${callHash}`;

/** The record as of then. */
const asOf = (approval: ApprovalRecord, nowMs: number): ApprovalRecord =>
  approval.status === 'pending' && nowMs >= approval.expiresAtMs
    ? { ...approval, status: 'expired' }
    : approval;

/** What a standing approval makes of the same call, or undefined where it says nothing of it any more. */
function holdOf(standing: ApprovalRecord, nowMs: number): Hold['kind'] | undefined {
  const { status } = asOf(standing, nowMs);
  if (status === 'pending') return 'pending';
  if (standing.countsUntilMs === null || nowMs >= standing.countsUntilMs) return undefined;
  if (status === 'denied') return 'denied';
  return status === 'approved' && standing.spentAtMs === null ? 'granted' : undefined;
}

export function createApprovals(connection: Connection, names: Names, commits: Commits): Approvals {
  async function open(change: Change, approval: ApprovalRecord): Promise<Hold> {
    const { approvals } = change.names;
    if ((await change.read(approvals, approval.approvalId)) !== undefined)
      throw new GatewayError('CONFLICT', 'There is such an approval already.');
    change.put(approvals, approval.approvalId, JSON.stringify(approval));
    change.put(approvals, linkOf(approval), approval.approvalId);
    change.put(approvals, `link:${approval.approvalId}`, linkOf(approval));
    const place = placeOf(approval.createdAtMs, approval.approvalId);
    change.index(change.names.indexOf('approvals'), place, { most: approvalsMax, records: approvals });
    return { kind: 'pending', approval, isNew: true };
  }

  return {
    holdCall: (approval) =>
      commits.write(approval.tenantId, async (change) => {
        const nowMs = approval.createdAtMs;
        const { approvals } = change.names;
        const standingId = await change.read(approvals, linkOf(approval));
        const standing =
          standingId === undefined
            ? undefined
            : toRecord<ApprovalRecord>(await change.read(approvals, standingId));
        const kind = standing && holdOf(standing, nowMs);
        if (!standing || !kind) return open(change, approval);
        if (kind !== 'granted' || standing.scope !== 'once')
          return { kind, approval: standing, isNew: false };
        const spent = { ...standing, spentAtMs: nowMs };
        change.put(approvals, standing.approvalId, JSON.stringify(spent));
        return { kind, approval: spent, isNew: false };
      }),

    decideApproval: (tenantId, approvalId, { decision, decidedBy, note, scope, nowMs, windowMs }, event) =>
      commits.write(tenantId, async (change) => {
        const found = toRecord<ApprovalRecord>(await change.read(change.names.approvals, approvalId));
        if (!found) return undefined;
        const standing = asOf(found, nowMs);
        if (standing.status !== 'pending') return { isDecidedNow: false, approval: standing };
        const approval: ApprovalRecord = {
          ...standing,
          status: decision,
          decidedAtMs: nowMs,
          decidedBy,
          note,
          scope: decision === 'approved' ? scope : null,
          countsUntilMs: nowMs + windowMs,
        };
        change.put(change.names.approvals, approvalId, JSON.stringify(approval));
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
