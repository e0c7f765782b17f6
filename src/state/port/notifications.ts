import type { AuditEntry, AuditEvent } from './audit.ts';
import type { Page, Paged } from './page.ts';

/**
 * Queues the messages that notices make for channels. All tenants and nodes share the queue. The content of a
 * message is opaque to it.
 */
export interface NoticeQueue {
  /**
   * Makes messages of notices, or adds the notices to messages that wait, in one step each. A notice whose id
   * is among the last 200,000 changes nothing. Where a channel has `digestMs`, the first notice of a tenant
   * and kind makes a message at once. Notices within that time after it make one message at its end. A
   * channel with `waitingMax` messages adds further notices to messages that wait. A channel with twice as
   * many drops and counts the notices that fit in none.
   */
  enqueueNotices(notices: readonly NewNotice[], nowMs: number): Promise<void>;
  /**
   * Claims messages that are due, oldest first: nobody else gets them until `nowMs + leaseMs`. It claims no
   * more than the rate of a channel allows, and none while the channel is paused. After `probingMin` failures
   * in a row it claims one message, to try the channel out.
   */
  claimMessages(
    claims: readonly ChannelClaim[],
    nowMs: number,
    leaseMs: number,
  ): Promise<readonly ClaimedMessage[]>;
  /**
   * Records the outcome of a claimed message. Returns false, with nothing changed, where the message is gone
   * or somebody else has claimed it since.
   */
  settleMessage(settlement: Settlement): Promise<boolean>;
  /** Gives up at most `limit` messages that were due before `dueBeforeMs`, oldest first. Returns how many. */
  buryMessages(burial: Burial): Promise<number>;
  /** Lists messages that were given up, newest first: the last 1,000 of each channel. */
  listDeadMessages(filter: DeadFilter, page: Page): Promise<Paged<DeadMessage>>;
  /** Puts messages that were given up into the queue again as new ones. Returns how many there were. */
  replayMessages(channel: string, ids: readonly string[], nowMs: number): Promise<number>;
  /** Returns a message that was given up; undefined where there is none with this id. */
  deadMessageById(id: string): Promise<DeadMessage | undefined>;
  /** Returns all channels, ordered by name, that had a notice or a claim. */
  channelQueues(): Promise<readonly ChannelQueue[]>;
}

/** Keeps the sources of notices, and how far each was read. */
export interface NoticeSources {
  /** Returns how far a source of the tenant's notices has been read; undefined where nobody has begun. */
  toldUpTo(tenantId: string, source: NoticeSource): Promise<number | undefined>;
  /** Notes how far a source has been read. The place never goes back. */
  noteTold(tenantId: string, source: NoticeSource, place: number): Promise<void>;
  /** Returns audit entries with higher numbers than `seq`, oldest first, at most 500. */
  auditAfter(tenantId: string, seq: number, limit: number): Promise<readonly AuditEntry[]>;
  /**
   * Writes the audit entry unless the alert was told before for this period or a later one. Returns whether
   * it did.
   */
  alertUsage(tenantId: string, alert: UsageAlert, audit: AuditEvent): Promise<boolean>;
}

/** A source of notices whose entries are numbered. */
type NoticeSource = 'audit';

export interface UsageAlert {
  readonly periodStartMs: number;
  readonly percent: number;
}

export interface NewNotice {
  readonly noticeId: string;
  readonly kind: string;
  readonly tenantId: string | null;
  readonly atMs: number;
  readonly traceId: string | null;
  /** The text of the message that the notice makes, where it is the first one in it. */
  readonly body: string;
  readonly channels: readonly NoticeTarget[];
}

export interface NoticeTarget {
  readonly name: string;
  /** The tenant that owns the channel; null: the daemon. */
  readonly owner: string | null;
  /** The length of a digest's window; 0: each notice makes a message of its own. */
  readonly digestMs: number;
  readonly waitingMax: number;
}

export interface ChannelClaim {
  readonly name: string;
  readonly owner: string | null;
  readonly limit: number;
  /** The milliseconds for each message. `burst` messages may come at once. */
  readonly intervalMs: number;
  readonly burst: number;
  readonly probingMin: number;
  /**
   * The milliseconds for which the channel may be paused, and a message of it may wait. One that is due later
   * than that is due now, since the clock that said so was ahead.
   */
  readonly aheadMsMax: number;
}

export interface QueuedMessage {
  /** The id, a UUID that is made of the channel and the first notice. */
  readonly id: string;
  readonly channel: string;
  readonly owner: string | null;
  /** The id of its first notice. */
  readonly noticeId: string;
  readonly kind: string;
  readonly tenantId: string | null;
  readonly count: number;
  readonly firstMs: number;
  readonly lastMs: number;
  /** The traces of its notices, at most the first 20. */
  readonly traceIds: readonly string[];
  /** The time at which it was put into the queue, or put there again. */
  readonly queuedAtMs: number;
  /** The number of attempts, this one included. */
  readonly attempts: number;
  readonly body: string;
}

export type ClaimedMessage = QueuedMessage;

export interface DeadMessage extends QueuedMessage {
  readonly deadAtMs: number;
  readonly reason: string;
}

export interface Settlement {
  readonly id: string;
  readonly channel: string;
  /** The attempts before this claim. */
  readonly attempts: number;
  readonly claimedAtMs: number;
  readonly nowMs: number;
  readonly outcome:
    | { readonly kind: 'delivered' }
    /** The attempt was not made to its end. It does not count against the channel. */
    | { readonly kind: 'released' }
    /**
     * The channel has failed once more. At `pauseFrom` failures in a row nothing is claimed for `pauseMinMs`,
     * then for twice as long, up to `pauseMaxMs`. Attempts that were under way together count as one failure.
     */
    | {
        readonly kind: 'retry';
        readonly dueAtMs: number;
        readonly reason: string;
        /** The time until which the channel has asked to be left alone; 0 where it has not. */
        readonly pausedUntilMs: number;
        readonly pauseFrom: number;
        readonly pauseMinMs: number;
        readonly pauseMaxMs: number;
      }
    /** The message is given up. Where the channel has answered, it does not count as failing. */
    | { readonly kind: 'dead'; readonly reason: string; readonly hasAnswered: boolean };
}

export interface Burial {
  readonly channel: string;
  readonly dueBeforeMs: number;
  readonly nowMs: number;
  readonly reason: string;
  readonly limit: number;
  /**
   * Limits the burial to a channel that fails, or for which nobody has claimed since then. In the second case
   * a channel without messages is forgotten.
   */
  readonly onlyIf: 'failing' | { readonly unclaimedSinceMs: number };
}

export interface DeadFilter {
  /** The tenant whose channels are listed; absent: all. */
  readonly owner?: string;
  readonly channel?: string;
}

export interface ChannelQueue {
  readonly name: string;
  readonly owner: string | null;
  readonly waiting: number;
  readonly dead: number;
  readonly delivered: number;
  readonly dropped: number;
  /** The number of failures in a row. */
  readonly failures: number;
  readonly pausedUntilMs: number;
  readonly lastDeliveredMs: number | null;
  readonly lastFailedMs: number | null;
  readonly lastError: string | null;
  /** The time of the last claim, to the minute; null: there was none. */
  readonly claimedAtMs: number | null;
}
