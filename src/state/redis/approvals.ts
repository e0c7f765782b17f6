import { GatewayError } from '../../core/errors.ts';
import {
  answersFor,
  approvalsMax,
  asOf,
  countsUntilMs,
  decidedApproval,
  expired,
  expiredPerStepMax,
  expiryOf,
  holdBy,
  isListed,
  pendingMax,
  pendingPerAgentMax,
  tooManyPending,
} from '../rules/approval.ts';
import type { ApprovalRecord, ApprovalStore, Hold } from '../store.ts';
import type { Change } from './link/commits.ts';
import type { Link } from './link/link.ts';
import { indexPlaceOf, readPage } from './link/pages.ts';
import { readRecord, toRecord } from './records.ts';

/** Returns the field that leads to the last approval of a call. */
const linkOf = ({ callHash }: ApprovalRecord): string => `call:${callHash}`;
/** Returns the field that leads to the last denial of what one key may ask as several agents. */
const denialLinkOf = ({ denialHash }: ApprovalRecord): string => `denied:${denialHash}`;

/** How long an ended approval waits to be announced where no daemon runs, in milliseconds. */
const untoldMs = 86_400_000;

const boundsOf = (
  { names }: Change,
  { ownAgentId }: ApprovalRecord,
): readonly [key: string, most: number][] => [
  [names.pending, pendingMax],
  [names.pendingOf(ownAgentId), pendingPerAgentMax],
  [names.approvalEnds, approvalsMax],
];

function beginToWait(change: Change, approval: ApprovalRecord): void {
  const { approvalId, ownAgentId, createdAtMs: fromMs, expiresAtMs: untilMs } = approval;
  const { pending, pendingOf } = change.names;
  change.enter(pending, approvalId, { fromMs: fromMs - untoldMs, untilMs });
  change.enter(pendingOf(ownAgentId), approvalId, { fromMs, untilMs });
}

function waitNoMore({ names, leave }: Change, { approvalId, ownAgentId }: ApprovalRecord): void {
  leave(names.pending, approvalId);
  leave(names.pendingOf(ownAgentId), approvalId);
}

/** Notes the time from which the approval may make room. */
function endLater({ names, endRecord }: Change, approval: ApprovalRecord, nowMs: number): void {
  endRecord({
    key: names.approvalEnds,
    index: names.indexOf('approvals'),
    records: names.approvals,
    place: indexPlaceOf(approval.createdAtMs, approval.approvalId),
    endsAtMs: countsUntilMs(approval),
    beforeMs: nowMs,
    most: approvalsMax,
  });
}

function expireIn(change: Change, pending: ApprovalRecord): ApprovalRecord {
  const approval = expired(pending);
  change.putRecord(change.names.approvals, approval.approvalId, approval);
  waitNoMore(change, approval);
  change.audit(expiryOf(approval));
  return approval;
}

export function createRedisApprovals(link: Link): ApprovalStore {
  const { connection, names, commits } = link;
  return {
    holdCall: (approval, auditOf) =>
      commits.write(approval.tenantId, async (change) => {
        const hold = (await standingFor(change, approval)) ?? (await open(link, change, approval));
        const event = auditOf?.(hold);
        if (event) change.audit(event);
        return hold;
      }),

    decideApproval: (tenantId, approvalId, made, event) =>
      commits.write(tenantId, async (change) => {
        const before = await standingAt(change, approvalId, made.nowMs);
        if (before?.status !== 'pending') return before && { isDecidedNow: false, approval: before };
        const approval = decidedApproval(before, made);
        change.putRecord(change.names.approvals, approvalId, approval);
        if (approval.status === 'denied') await linkDenial(change, approval);
        waitNoMore(change, approval);
        endLater(change, approval, made.nowMs);
        change.audit(event);
        return { isDecidedNow: true, approval };
      }),

    async approvalById(tenantId, approvalId, nowMs) {
      const { approvals } = names.of(tenantId);
      const approval = await readRecord<ApprovalRecord>(connection, approvals, approvalId);
      return approval && asOf(approval, nowMs);
    },

    async listApprovals(tenantId, filter, nowMs, page) {
      const { approvals, indexOf } = names.of(tenantId);
      return readPage(connection, { key: indexOf('approvals'), records: approvals }, page, (text) => {
        const found = toRecord<ApprovalRecord>(text);
        const approval = found && asOf(found, nowMs);
        return approval && isListed(approval, filter) ? approval : undefined;
      });
    },

    async expireApprovals(nowMs) {
      const told: ApprovalRecord[] = [];
      const tenants = (await connection.call('HVALS', names.approvalTenants)) as string[];
      for (const tenantId of tenants) told.push(...(await expireOf(link, tenantId, nowMs)));
      return told;
    },
  };
}

async function open({ connection, names }: Link, change: Change, approval: ApprovalRecord): Promise<Hold> {
  const { approvals, indexOf } = change.names;
  if ((await change.read(approvals, approval.approvalId)) !== undefined)
    throw new GatewayError('CONFLICT', 'There is such an approval already.');
  const { createdAtMs: fromMs } = approval;
  for (const [key, most] of boundsOf(change, approval))
    if (!(await change.hasRoom(key, fromMs, most))) throw tooManyPending();
  // The tenant is noted first, so that its approvals are found. This key may lie on another node than the
  // tenant's own keys.
  await connection.call('HSETNX', names.approvalTenants, approval.tenantId, approval.tenantId);
  beginToWait(change, approval);
  change.putRecord(approvals, approval.approvalId, approval);
  change.put(approvals, linkOf(approval), approval.approvalId);
  change.put(approvals, `link:${approval.approvalId}`, linkOf(approval));
  change.index(indexOf('approvals'), indexPlaceOf(fromMs, approval.approvalId));
  endLater(change, approval, fromMs);
  return { kind: 'pending', approval, isNew: true };
}

/** Writes down which approvals of one tenant have expired, and returns them. */
async function expireOf(
  { connection, names, commits }: Link,
  tenantId: string,
  nowMs: number,
): Promise<readonly ApprovalRecord[]> {
  const { pending } = names.of(tenantId);
  const range = [pending, '-inf', nowMs, 'BYSCORE', 'LIMIT', 0, expiredPerStepMax] as const;
  const ended = async () => (await connection.call('ZRANGE', ...range)) as string[];
  // Most of the time none has expired, and nothing is written.
  if ((await ended()).length === 0) return [];
  return commits.write(tenantId, async (change) => {
    const ids = await ended();
    const read = (id: string) => change.readRecord<ApprovalRecord>(change.names.approvals, id);
    const records = await Promise.all(ids.map(read));
    for (const id of ids) change.leave(pending, id);
    return records.flatMap((it) => (it?.status === 'pending' ? [expireIn(change, it)] : []));
  });
}

/** Returns the approval that a link leads to; undefined where it leads to none. */
async function linkedTo(change: Change, link: string): Promise<ApprovalRecord | undefined> {
  const { approvals } = change.names;
  const id = await change.read(approvals, link);
  return id === undefined ? undefined : change.readRecord(approvals, id);
}

async function linkDenial(change: Change, denied: ApprovalRecord): Promise<void> {
  const link = denialLinkOf(denied);
  const other = await linkedTo(change, link);
  if (other && !answersFor(denied, other)) return;
  change.put(change.names.approvals, link, denied.approvalId);
  change.put(change.names.approvals, `denial:${denied.approvalId}`, link);
}

/** Returns the grant, denial or pending approval that answers this one; undefined where none does. */
async function standingFor(change: Change, approval: ApprovalRecord): Promise<Hold | undefined> {
  for (const link of [linkOf(approval), denialLinkOf(approval)]) {
    const found = await linkedTo(change, link);
    const hold = found && holdBy(found, approval.createdAtMs);
    if (!hold) continue;
    if (hold.approval !== found)
      change.putRecord(change.names.approvals, hold.approval.approvalId, hold.approval);
    return hold;
  }
  return undefined;
}

/**
 * Returns the approval at a time. Where it has ended, that is written down, so no process with a slower clock
 * decides it later. A superseded approval has ended, whatever the time.
 */
async function standingAt(
  change: Change,
  approvalId: string,
  nowMs: number,
): Promise<ApprovalRecord | undefined> {
  const { approvals } = change.names;
  const found = await change.readRecord<ApprovalRecord>(approvals, approvalId);
  if (found?.status !== 'pending') return found;
  const isOver = nowMs >= found.expiresAtMs || (await change.read(approvals, linkOf(found))) !== approvalId;
  return isOver ? expireIn(change, found) : found;
}
