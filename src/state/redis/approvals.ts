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
import type {
  ApprovalDecision,
  ApprovalFilter,
  ApprovalRecord,
  AuditEvent,
  Hold,
  Page,
  Paged,
} from '../store.ts';
import type { Change, Commits } from './link/commits.ts';
import type { RedisConnection } from './link/connection.ts';
import type { Names } from './link/names.ts';
import { indexPlaceOf, readPage } from './link/pages.ts';
import { toRecord } from './records.ts';

/** Leads to the last approval of a call. */
const linkOf = ({ callHash }: ApprovalRecord): string => `call:${callHash}`;
/** Leads to the last denial of what one key may ask as several agents. */
const denialLinkOf = ({ denialHash }: ApprovalRecord): string => `denied:${denialHash}`;

/** The time for which an ended approval waits to be announced, where no daemon runs. */
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

/** From then on it may make room. */
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
  change.put(change.names.approvals, approval.approvalId, JSON.stringify(approval));
  waitNoMore(change, approval);
  change.audit(expiryOf(approval));
  return approval;
}

export class RedisApprovals {
  readonly #connection: RedisConnection;
  readonly #names: Names;
  readonly #commits: Commits;

  constructor(connection: RedisConnection, names: Names, commits: Commits) {
    this.#connection = connection;
    this.#names = names;
    this.#commits = commits;
  }

  holdCall(approval: ApprovalRecord, auditOf?: (hold: Hold) => AuditEvent | undefined): Promise<Hold> {
    return this.#commits.write(approval.tenantId, async (change) => {
      const hold = (await this.#standing(change, approval)) ?? (await this.#open(change, approval));
      const event = auditOf?.(hold);
      if (event) change.audit(event);
      return hold;
    });
  }

  decideApproval(
    tenantId: string,
    approvalId: string,
    made: ApprovalDecision,
    event: AuditEvent,
  ): Promise<{ readonly isDecidedNow: boolean; readonly approval: ApprovalRecord } | undefined> {
    return this.#commits.write(tenantId, async (change) => {
      const before = await this.#standingAt(change, approvalId, made.nowMs);
      if (before?.status !== 'pending') return before && { isDecidedNow: false, approval: before };
      const approval = decidedApproval(before, made);
      const { approvals } = change.names;
      change.put(approvals, approvalId, JSON.stringify(approval));
      if (approval.status === 'denied') await this.#linkDenial(change, approval);
      waitNoMore(change, approval);
      endLater(change, approval, made.nowMs);
      change.audit(event);
      return { isDecidedNow: true, approval };
    });
  }

  async approvalById(
    tenantId: string,
    approvalId: string,
    nowMs: number,
  ): Promise<ApprovalRecord | undefined> {
    const text = await this.#connection.call('HGET', this.#names.of(tenantId).approvals, approvalId);
    const approval = toRecord<ApprovalRecord>(text);
    return approval && asOf(approval, nowMs);
  }

  async listApprovals(
    tenantId: string,
    filter: ApprovalFilter,
    nowMs: number,
    page: Page,
  ): Promise<Paged<ApprovalRecord>> {
    const own = this.#names.of(tenantId);
    const index = { key: own.indexOf('approvals'), records: own.approvals };
    return readPage(this.#connection, index, page, (text) => {
      const found = toRecord<ApprovalRecord>(text);
      const approval = found && asOf(found, nowMs);
      return approval && isListed(approval, filter) ? approval : undefined;
    });
  }

  async expireApprovals(nowMs: number): Promise<readonly ApprovalRecord[]> {
    const told: ApprovalRecord[] = [];
    const tenants = (await this.#connection.call('HVALS', this.#names.approvalTenants)) as string[];
    for (const tenantId of tenants) told.push(...(await this.#expireOf(tenantId, nowMs)));
    return told;
  }

  async #open(change: Change, approval: ApprovalRecord): Promise<Hold> {
    const { approvals } = change.names;
    if ((await change.read(approvals, approval.approvalId)) !== undefined)
      throw new GatewayError('CONFLICT', 'There is such an approval already.');
    const { createdAtMs: fromMs } = approval;
    for (const [key, most] of boundsOf(change, approval))
      if (!(await change.hasRoom(key, fromMs, most))) throw tooManyPending();
    // Before there is anything to be found by it: it lies on another node than what is the tenant's own.
    await this.#connection.call('HSETNX', this.#names.approvalTenants, approval.tenantId, approval.tenantId);
    beginToWait(change, approval);
    change.put(approvals, approval.approvalId, JSON.stringify(approval));
    change.put(approvals, linkOf(approval), approval.approvalId);
    change.put(approvals, `link:${approval.approvalId}`, linkOf(approval));
    change.index(change.names.indexOf('approvals'), indexPlaceOf(fromMs, approval.approvalId));
    endLater(change, approval, fromMs);
    return { kind: 'pending', approval, isNew: true };
  }

  /** The approval that the link leads to. */
  async #linkedTo(change: Change, link: string): Promise<ApprovalRecord | undefined> {
    const { approvals } = change.names;
    const id = await change.read(approvals, link);
    return id === undefined ? undefined : toRecord<ApprovalRecord>(await change.read(approvals, id));
  }

  async #linkDenial(change: Change, denied: ApprovalRecord): Promise<void> {
    const link = denialLinkOf(denied);
    const other = await this.#linkedTo(change, link);
    if (other && !answersFor(denied, other)) return;
    change.put(change.names.approvals, link, denied.approvalId);
    change.put(change.names.approvals, `denial:${denied.approvalId}`, link);
  }

  async #standing(change: Change, approval: ApprovalRecord): Promise<Hold | undefined> {
    const { approvals } = change.names;
    for (const link of [linkOf(approval), denialLinkOf(approval)]) {
      const found = await this.#linkedTo(change, link);
      const hold = found && holdBy(found, approval.createdAtMs);
      if (!hold) continue;
      if (hold.approval !== found)
        change.put(approvals, hold.approval.approvalId, JSON.stringify(hold.approval));
      return hold;
    }
    return undefined;
  }

  /**
   * The approval at that time, which holds from now on: no process with a slower clock decides it any more. A
   * superseded approval has expired, whatever the time.
   */
  async #standingAt(change: Change, approvalId: string, nowMs: number): Promise<ApprovalRecord | undefined> {
    const { approvals } = change.names;
    const found = toRecord<ApprovalRecord>(await change.read(approvals, approvalId));
    if (found?.status !== 'pending') return found;
    const isOver = nowMs >= found.expiresAtMs || (await change.read(approvals, linkOf(found))) !== approvalId;
    return isOver ? expireIn(change, found) : found;
  }

  /** Expires the approvals of one tenant. */
  async #expireOf(tenantId: string, nowMs: number): Promise<readonly ApprovalRecord[]> {
    const { pending } = this.#names.of(tenantId);
    const range = [pending, '-inf', nowMs, 'BYSCORE', 'LIMIT', 0, expiredPerStepMax] as const;
    const ended = async () => (await this.#connection.call('ZRANGE', ...range)) as string[];
    // Most of the time there is none, and nothing is written.
    if ((await ended()).length === 0) return [];
    return this.#commits.write(tenantId, async (change) => {
      const ids = await ended();
      const texts = await Promise.all(ids.map((id) => change.read(change.names.approvals, id)));
      for (const id of ids) change.leave(pending, id);
      return texts.flatMap((text) => {
        const found = toRecord<ApprovalRecord>(text);
        return found?.status === 'pending' ? [expireIn(change, found)] : [];
      });
    });
  }
}
