import {
  afterClaim,
  afterOutcome,
  claimable,
  claimedMessage,
  deadMessage,
  isClaimNoted,
  isClaimOf,
  mayGiveUp,
  messageIdOf,
  newChannel,
  newMessage,
  placeNotice,
  releasedMessage,
  replayedMessage,
  windowNameOf,
  windowsKeptMs,
  withClaim,
  withNotice,
} from '../../rules/notice-queue.ts';
import type {
  Burial,
  ChannelClaim,
  ClaimedMessage,
  NewNotice,
  NoticeTarget,
  Settlement,
} from '../../store.ts';
import type { Database } from '../sqlite.ts';
import {
  createChannelTable,
  createMessageTable,
  createPlacingTable,
  type StoredMessage,
  toQueued,
} from './tables.ts';

/** Changes the queue, in the running transaction. `notice-queue.ts` decides; the tables only store. */
export class Queue {
  readonly messages;
  readonly channels;
  readonly #placing;

  constructor(db: Database) {
    this.messages = createMessageTable(db);
    this.channels = createChannelTable(db);
    this.#placing = createPlacingTable(db);
  }

  enqueue(notices: readonly NewNotice[], nowMs: number): void {
    const waiting = new Map<string, number>();
    for (const notice of notices) {
      if (!this.#placing.remember(notice.noticeId)) continue;
      for (const target of notice.channels) this.#place(notice, target, nowMs, waiting);
    }
    this.#placing.forgetOldest();
  }

  /**
   * Puts a notice into the queue of a channel. `counted` keeps the number of waiting messages by channel, so
   * that the next notice need not count them.
   */
  #place(notice: NewNotice, target: NoticeTarget, nowMs: number, counted: Map<string, number>): void {
    const { name, owner } = target;
    const windowName = windowNameOf(name, notice);
    const window = this.#placing.window(windowName);
    const last = window && this.messages.findWaiting(window.id);
    const waiting = counted.get(name) ?? this.messages.countWaiting(name);
    const placing = placeNotice({ window, isOpen: last?.record.isOpen ?? false, waiting }, target, nowMs);
    const channel = this.channels.find(name) ?? newChannel(owner);
    const dropped = channel.dropped + (placing.kind === 'dropped' ? 1 : 0);
    if (placing.kind === 'dropped' || !this.channels.find(name))
      this.channels.put({ ...channel, dropped }, name);
    if (placing.kind === 'joined' && last)
      this.messages.save(last.id, last.dueAtMs, withNotice(last.record, notice));
    if (placing.kind !== 'new') return;
    const id = messageIdOf(name, notice.noticeId);
    if (!this.messages.add(id, placing.dueAtMs, newMessage(notice, target, nowMs), notice.body)) return;
    this.#placing.saveWindow(windowName, placing.window.endMs + windowsKeptMs, { ...placing.window, id });
    counted.set(name, waiting + 1);
  }

  /** Tells whether a claim would write anything. */
  wantsClaim(claim: ChannelClaim, nowMs: number): boolean {
    const channel = this.channels.find(claim.name);
    const hasDue = () => this.messages.hasDue(claim.name, nowMs, nowMs + claim.aheadMsMax);
    return !channel || !isClaimNoted(channel, claim, nowMs) || hasDue();
  }

  claim(claims: readonly ChannelClaim[], nowMs: number, leaseMs: number): ClaimedMessage[] {
    this.#placing.dropWindows(nowMs);
    return claims.flatMap((it) => this.#claimOf(it, nowMs, leaseMs));
  }

  #claimOf(claim: ChannelClaim, nowMs: number, leaseMs: number): ClaimedMessage[] {
    const { name, owner } = claim;
    const channel = withClaim(this.channels.find(name) ?? newChannel(owner), claim, nowMs);
    const latestMs = nowMs + claim.aheadMsMax;
    const due = this.messages.due(name, nowMs, latestMs, claimable(channel, claim, nowMs));
    const isEmpty = due.length === 0;
    this.channels.put(isEmpty ? channel : afterClaim(channel, claim, due.length, nowMs, leaseMs), name);
    return due.map((it) => {
      const claimed = claimedMessage(it.record);
      this.messages.save(it.id, nowMs + leaseMs, claimed);
      return toQueued(it, claimed);
    });
  }

  settle(settlement: Settlement): boolean {
    const { id, outcome, nowMs } = settlement;
    const message = this.messages.findWaiting(id);
    if (!message || !isClaimOf(message.record, settlement)) return false;
    const { channel, owner } = message.record;
    this.channels.put(afterOutcome(this.channels.find(channel) ?? newChannel(owner), settlement), channel);
    if (outcome.kind === 'delivered') this.messages.remove(id);
    else if (outcome.kind === 'dead') this.#bury(message, nowMs, outcome.reason);
    else if (outcome.kind === 'retry') this.messages.save(id, outcome.dueAtMs, message.record);
    else this.messages.save(id, nowMs, releasedMessage(message.record));
    return true;
  }

  #bury({ id, record }: StoredMessage, nowMs: number, reason: string): void {
    this.messages.bury(id, nowMs, deadMessage(record, reason));
  }

  giveUp(burial: Burial): number {
    const { channel: name, dueBeforeMs, nowMs, reason, limit, onlyIf } = burial;
    const channel = this.channels.find(name);
    if (!channel || !mayGiveUp(channel, burial)) return 0;
    const due = this.messages.due(name, dueBeforeMs, Number.MAX_SAFE_INTEGER, limit);
    for (const it of due) this.#bury(it, nowMs, reason);
    const isEmpty = this.messages.countWaiting(name) + this.messages.countDead(name) === 0;
    if (onlyIf !== 'failing' && isEmpty) this.channels.remove(name);
    return due.length;
  }

  replay(channel: string, ids: readonly string[], nowMs: number): number {
    const found = [...new Set(ids)].flatMap((id) => this.messages.find(id) ?? []);
    const dead = found.filter((it) => it.deadAtMs !== null && it.record.channel === channel);
    for (const { id, record } of dead) this.messages.save(id, nowMs, replayedMessage(record, nowMs));
    return dead.length;
  }
}
