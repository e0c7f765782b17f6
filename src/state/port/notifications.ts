import type { AuditEntry, AuditEvent } from './audit.ts';
import type { Page, Paged } from './page.ts';

/** Takes notices to channels. All tenants and nodes share the queue; a message's content is opaque to it. */
export interface NoticeQueue {
  /**
   * Makes messages of notices, or adds them to messages that wait, in one step each. A notice whose id is
   * among the last 200,000 changes nothing. Where a channel has `digestMs`, the first notice of a tenant and
   * kind makes a message at once. What follows within that time makes one message at its end. A channel with
   * `waitingMax` messages takes further notices into those that wait. One with twice as many drops and counts
   * what fits in none.
   */
  enqueueNotices(notices: readonly NewNotice[], nowMs: number): Promise<void>;
  /**
   * Gives messages that are due to whoever asks first, oldest first: nobody else gets them until `nowMs +
   * leaseMs`. It claims no more than the rate of a channel allows, and none while it is paused. After
   * `probingMin` failures in a row it claims one to try it out.
   */
  claimMessages(
    claims: readonly ChannelClaim[],
    nowMs: number,
    leaseMs: number,
  ): Promise<readonly ClaimedMessage[]>;
  /**
   * Records the outcome of a claimed message. False, with nothing changed, where somebody else has claimed it
   * since, or it is gone.
   */
  settleMessage(settlement: Settlement): Promise<boolean>;
  /** Gives up at most `limit` messages due before `dueBeforeMs`, oldest first; answers how many. */
  buryMessages(burial: Burial): Promise<number>;
  /** Given up, newest first: the last 1,000 of each channel. */
  listDeadMessages(filter: DeadFilter, page: Page): Promise<Paged<DeadMessage>>;
  /** Puts messages that were given up into the queue again as new; answers how many there were. */
  replayMessages(channel: string, ids: readonly string[], nowMs: number): Promise<number>;
  /** One that was given up. */
  deadMessageById(id: string): Promise<DeadMessage | undefined>;
  /** Returns all channels that anything has been put into or claimed for, by name. */
  channelQueues(): Promise<readonly ChannelQueue[]>;
}

/** The sources of notices, and how far each was read. */
export interface NoticeSources {
  /** How far a source of notices of the tenant has been read; undefined where nobody has begun. */
  toldUpTo(tenantId: string, source: NoticeSource): Promise<number | undefined>;
  /** Never goes back. */
  noteTold(tenantId: string, source: NoticeSource, place: number): Promise<void>;
  /** Entries with higher numbers, oldest first, at most 500. */
  auditAfter(tenantId: string, seq: number, limit: number): Promise<readonly AuditEntry[]>;
  /** Leaves the audit entry unless this was told of the period before; answers whether it did. */
  alertUsage(tenantId: string, alert: UsageAlert, audit: AuditEvent): Promise<boolean>;
}

/** A source whose entries are numbered. */
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
  /** The text of the message, where this is its first notice. */
  readonly body: string;
  readonly channels: readonly NoticeTarget[];
}

export interface NoticeTarget {
  readonly name: string;
  /** The tenant that the channel is of; null: the daemon's. */
  readonly owner: string | null;
  /** 0: each notice makes a message of its own. */
  readonly digestMs: number;
  readonly waitingMax: number;
}

export interface ChannelClaim {
  readonly name: string;
  readonly owner: string | null;
  readonly limit: number;
  /** One message in so many milliseconds, and `burst` at once. */
  readonly intervalMs: number;
  readonly burst: number;
  readonly probingMin: number;
}

export interface QueuedMessage {
  /** A UUID made of the channel and the first notice. */
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
  /** The first 20. */
  readonly traceIds: readonly string[];
  /** When it was put into the queue, or put there again. */
  readonly queuedAtMs: number;
  /** This one included. */
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
    /** It was not tried to its end, and nothing is held against the channel. */
    | { readonly kind: 'released' }
    /**
     * The channel has failed once more: at `pauseFrom` failures in a row nothing is claimed for `pauseMinMs`,
     * then twice as long, up to `pauseMaxMs`. Attempts that were under way together count as one failure.
     */
    | {
        readonly kind: 'retry';
        readonly dueAtMs: number;
        readonly reason: string;
        /** The channel has asked for that; 0 where it has not. */
        readonly pausedUntilMs: number;
        readonly pauseFrom: number;
        readonly pauseMinMs: number;
        readonly pauseMaxMs: number;
      }
    /** Given up. Where the channel has answered, it is not held to be failing. */
    | { readonly kind: 'dead'; readonly reason: string; readonly hasAnswered: boolean };
}

export interface Burial {
  readonly channel: string;
  readonly dueBeforeMs: number;
  readonly nowMs: number;
  readonly reason: string;
  readonly limit: number;
  /** Only if the channel fails, or if nobody has claimed for it since: an empty one is then forgotten. */
  readonly onlyIf: 'failing' | { readonly unclaimedSinceMs: number };
}

export interface DeadFilter {
  /** Limits the answer to channels of this tenant; absent: all. */
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
  /** In a row. */
  readonly failures: number;
  readonly pausedUntilMs: number;
  readonly lastDeliveredMs: number | null;
  readonly lastFailedMs: number | null;
  readonly lastError: string | null;
  /** When somebody last claimed for it, to the minute; null: nobody has. */
  readonly claimedAtMs: number | null;
}
