import { hash } from 'node:crypto';
import { derivedId } from '../../core/ids.ts';
import type {
  Burial,
  ChannelClaim,
  ChannelQueue,
  NewNotice,
  NoticeTarget,
  QueuedMessage,
  Settlement,
} from '../store.ts';
import { isFromWrongClock } from './clock-skew.ts';

/*
 * Decides how the queue of notices changes. The embedded driver asks here. The scripts `notices-*.lua` repeat
 * these rules, and `test/state/agreement` compares both.
 */

/** The limit of remembered ids of notices. A batch that comes again after a crash has far fewer calls. */
export const noticeIdsMax = 200_000;
/** The limit of a channel's messages that were given up; the oldest go. */
export const deadMax = 1_000;
export const digestTracesMax = 20;
/** How long a digest's window is remembered after its end, in milliseconds. */
export const windowsKeptMs = 86_400_000;
/** How long a claim for a channel is noted in its record before it is noted anew, in milliseconds. */
export const claimNotedMs = 60_000;
export const reasonLengthMax = 200;

export const messageIdOf = (channel: string, noticeId: string): string =>
  derivedId(hash('sha256', `${channel}\n${noticeId}`));

/** Returns the name of a digest's window. Neither names of channels nor ids of tenants have spaces. */
export const windowNameOf = (channel: string, { tenantId, kind }: NewNotice): string =>
  `${channel} ${tenantId ?? ''} ${kind}`;

/** The window of the last message that notices of a tenant and kind made for a channel. */
export interface Window {
  readonly endMs: number;
  /**
   * Whether the message collects notices until `endMs`. Otherwise the first notice made it, and it was sent
   * at once.
   */
  readonly isCollecting: boolean;
  readonly id: string;
}

interface Standing {
  readonly window: Window | undefined;
  /** Whether the window's message waits, and nobody has claimed it yet. */
  readonly isOpen: boolean;
  readonly waiting: number;
}

type Placing = { readonly kind: 'joined' } | { readonly kind: 'dropped' } | Placed;

interface Placed {
  readonly kind: 'new';
  readonly dueAtMs: number;
  readonly window: Omit<Window, 'id'>;
}

/**
 * Decides where a notice goes: into the last message, into a new one, or nowhere. A window that ends later
 * than one which begins now was set by a clock that was ahead. Nothing waits for its end.
 */
export function placeNotice(
  { window: last, isOpen, waiting }: Standing,
  { digestMs, waitingMax }: NoticeTarget,
  nowMs: number,
): Placing {
  const window = last && !isFromWrongClock(last.endMs, nowMs + digestMs) ? last : undefined;
  if (window && isOpen && (waiting >= waitingMax || (digestMs > 0 && window.isCollecting)))
    return { kind: 'joined' };
  if (waiting >= 2 * waitingMax) return { kind: 'dropped' };
  const endMs = window && digestMs > 0 ? collectingUntil(window, digestMs, nowMs) : undefined;
  if (endMs === undefined)
    return { kind: 'new', dueAtMs: nowMs, window: { endMs: nowMs + digestMs, isCollecting: false } };
  return { kind: 'new', dueAtMs: endMs, window: { endMs, isCollecting: true } };
}

/**
 * Returns the time until which a new message collects; undefined where it does not. Within a window that is
 * its end. After a window that has collected, it is the end of the next one.
 */
function collectingUntil(
  { endMs, isCollecting }: Window,
  digestMs: number,
  nowMs: number,
): number | undefined {
  if (nowMs < endMs) return endMs;
  return isCollecting && nowMs < endMs + digestMs ? endMs + digestMs : undefined;
}

/** A message without its id and its text. */
export interface MessageRecord extends Omit<QueuedMessage, 'id' | 'body'> {
  /** Whether nobody has claimed the message yet, so that it takes further notices. */
  readonly isOpen: boolean;
  /** Why the message was given up; absent while it waits. */
  readonly reason?: string;
}

export const newMessage = (
  { noticeId, kind, tenantId, atMs, traceId }: NewNotice,
  { name, owner }: NoticeTarget,
  nowMs: number,
): MessageRecord => ({
  ...{ channel: name, owner, noticeId, kind, tenantId },
  ...{ count: 1, firstMs: atMs, lastMs: atMs, traceIds: traceId === null ? [] : [traceId] },
  ...{ queuedAtMs: nowMs, attempts: 0, isOpen: true },
});

export function withNotice(message: MessageRecord, { atMs, traceId }: NewNotice): MessageRecord {
  const { count, firstMs, lastMs, traceIds } = message;
  const hasRoom = traceId !== null && traceIds.length < digestTracesMax;
  return {
    ...message,
    count: count + 1,
    firstMs: Math.min(firstMs, atMs),
    lastMs: Math.max(lastMs, atMs),
    traceIds: hasRoom ? [...traceIds, traceId] : traceIds,
  };
}

export const claimedMessage = (message: MessageRecord): MessageRecord => ({
  ...message,
  attempts: message.attempts + 1,
  isOpen: false,
});

/**
 * Tells whether the message is still in the claim that the settlement is about: it had so many attempts
 * before.
 */
export const isClaimOf = ({ isOpen, attempts }: MessageRecord, settlement: Settlement): boolean =>
  !isOpen && attempts === settlement.attempts;

/** Returns the message after a claim that was released; the attempt does not count. */
export const releasedMessage = (message: MessageRecord): MessageRecord => ({
  ...message,
  attempts: message.attempts - 1,
});

export const deadMessage = (message: MessageRecord, reason: string): MessageRecord => ({
  ...message,
  isOpen: false,
  reason: reason.slice(0, reasonLengthMax),
});

/** Returns the message as if it were new, but for the notices in it. */
export const replayedMessage = ({ reason: _, ...message }: MessageRecord, nowMs: number): MessageRecord => ({
  ...message,
  attempts: 0,
  queuedAtMs: nowMs,
});

/** The health of a channel, without its name and its queue. */
export interface ChannelRecord extends Omit<ChannelQueue, 'name' | 'waiting' | 'dead'> {
  /** The time at which the channel's bucket is full, if nothing is claimed. */
  readonly fullAtMs: number;
}

export const newChannel = (owner: string | null): ChannelRecord => ({
  owner,
  delivered: 0,
  dropped: 0,
  failures: 0,
  pausedUntilMs: 0,
  lastDeliveredMs: null,
  lastFailedMs: null,
  lastError: null,
  claimedAtMs: null,
  fullAtMs: 0,
});

/** Returns how many messages may be claimed now. A pause that a clock set which was ahead does not count. */
export function claimable(
  { failures, pausedUntilMs, fullAtMs }: ChannelRecord,
  { limit, intervalMs, burst, probingMin, aheadMsMax }: ChannelClaim,
  nowMs: number,
): number {
  if (nowMs < pausedUntilMs && pausedUntilMs - nowMs <= aheadMsMax) return 0;
  const spentMs = spentIn(fullAtMs, { intervalMs, burst }, nowMs);
  const tokens = burst - Math.ceil(spentMs / intervalMs);
  return Math.max(0, Math.min(failures >= probingMin ? 1 : limit, tokens));
}

/**
 * Returns what a bucket lacks, in milliseconds. One that seems to lack more than it holds counts as full: a
 * clock was ahead, and the channel would stay silent.
 */
function spentIn(
  fullAtMs: number,
  { intervalMs, burst }: Pick<ChannelClaim, 'intervalMs' | 'burst'>,
  nowMs: number,
) {
  const spentMs = Math.max(0, fullAtMs - nowMs);
  return spentMs > intervalMs * burst ? 0 : spentMs;
}

/**
 * Returns the channel after claims. While a channel is tried out, nobody else claims from it until the
 * attempt or its lease has ended.
 */
export function afterClaim(
  channel: ChannelRecord,
  { intervalMs, burst, probingMin }: ChannelClaim,
  claimed: number,
  nowMs: number,
  leaseMs: number,
): ChannelRecord {
  return {
    ...channel,
    fullAtMs: nowMs + spentIn(channel.fullAtMs, { intervalMs, burst }, nowMs) + claimed * intervalMs,
    pausedUntilMs: channel.failures >= probingMin ? nowMs + leaseMs : channel.pausedUntilMs,
  };
}

/**
 * Tells whether the record of the channel notes the claim already, so that a claim that gets nothing need not
 * write it.
 */
export const isClaimNoted = (
  { claimedAtMs, owner }: ChannelRecord,
  claim: ChannelClaim,
  nowMs: number,
): boolean => owner === claim.owner && claimedAtMs !== null && nowMs - claimedAtMs < claimNotedMs;

/**
 * Returns the channel with the claim noted. It belongs to the tenant that claims for it. The time is noted
 * once in `claimNotedMs`.
 */
export const withClaim = (channel: ChannelRecord, { owner }: ChannelClaim, nowMs: number): ChannelRecord => {
  const { claimedAtMs } = channel;
  const isRecent = claimedAtMs !== null && nowMs - claimedAtMs < claimNotedMs;
  return { ...channel, owner, claimedAtMs: isRecent ? claimedAtMs : nowMs };
};

/** Tells whether messages of the channel may be given up. */
export const mayGiveUp = ({ failures, claimedAtMs }: ChannelRecord, { onlyIf }: Pick<Burial, 'onlyIf'>) =>
  onlyIf === 'failing' ? failures > 0 : (claimedAtMs ?? 0) <= onlyIf.unclaimedSinceMs;

export function afterOutcome(channel: ChannelRecord, settlement: Settlement): ChannelRecord {
  const { outcome, nowMs, claimedAtMs } = settlement;
  switch (outcome.kind) {
    case 'delivered':
      return {
        ...channel,
        ...{ failures: 0, pausedUntilMs: 0, lastDeliveredMs: nowMs },
        delivered: channel.delivered + 1,
      };
    case 'released':
      return channel.failures > 0 ? { ...channel, pausedUntilMs: nowMs } : channel;
    case 'dead': {
      const { reason, hasAnswered } = outcome;
      const told = { lastFailedMs: nowMs, lastError: reason.slice(0, reasonLengthMax) };
      return { ...channel, ...told, ...(hasAnswered ? { failures: 0, pausedUntilMs: 0 } : {}) };
    }
    case 'retry': {
      const { reason, pauseFrom, pauseMinMs, pauseMaxMs } = outcome;
      const isKnown =
        channel.failures > 0 && channel.lastFailedMs !== null && claimedAtMs < channel.lastFailedMs;
      const failures = channel.failures + (isKnown ? 0 : 1);
      const over = failures - pauseFrom;
      const pauseMs = over < 0 ? 0 : Math.min(pauseMaxMs, pauseMinMs * 2 ** Math.min(over, 30));
      const pausedUntilMs = Math.max(outcome.pausedUntilMs, pauseMs === 0 ? 0 : nowMs + pauseMs);
      const lastError = reason.slice(0, reasonLengthMax);
      return { ...channel, failures, pausedUntilMs, lastFailedMs: nowMs, lastError };
    }
  }
}
