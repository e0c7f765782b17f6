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

/*
 * The rules of the queue of notices. The embedded driver asks them; the scripts `notices-*.lua` repeat them,
 * and `test/state/agreement` compares both.
 */

/** Bounds remembered ids of notices. A batch that comes again after a crash has far fewer calls. */
export const noticeIdsMax = 200_000;
/** Given up, of one channel; the oldest go. */
export const deadMax = 1_000;
export const digestTracesMax = 20;
/** A window that is over is forgotten some time later. */
export const windowsKeptMs = 86_400_000;
/** That somebody claims for a channel is written down so often. */
export const claimNotedMs = 60_000;
export const reasonLengthMax = 200;

export const messageIdOf = (channel: string, noticeId: string): string =>
  derivedId(hash('sha256', `${channel}\n${noticeId}`));

/** Returns the name of a digest's window. Neither names of channels nor ids of tenants have spaces. */
export const windowNameOf = (channel: string, { tenantId, kind }: NewNotice): string =>
  `${channel} ${tenantId ?? ''} ${kind}`;

/** The last message that notices of a tenant and kind made for a channel. */
export interface Window {
  readonly endMs: number;
  /** The message collects until then; else it was made by the first notice, and sent at once. */
  readonly isCollecting: boolean;
  readonly id: string;
}

interface Standing {
  readonly window: Window | undefined;
  /** Its message waits, and nobody has claimed it yet. */
  readonly isOpen: boolean;
  readonly waiting: number;
}

type Placing = { readonly kind: 'joined' } | { readonly kind: 'dropped' } | Placed;

interface Placed {
  readonly kind: 'new';
  readonly dueAtMs: number;
  readonly window: Omit<Window, 'id'>;
}

/** Decides where a notice goes. */
export function placeNotice(
  { window, isOpen, waiting }: Standing,
  { digestMs, waitingMax }: NoticeTarget,
  nowMs: number,
): Placing {
  if (window && isOpen && (waiting >= waitingMax || (digestMs > 0 && window.isCollecting)))
    return { kind: 'joined' };
  if (waiting >= 2 * waitingMax) return { kind: 'dropped' };
  const endMs = window && digestMs > 0 ? collectingUntil(window, digestMs, nowMs) : undefined;
  if (endMs === undefined)
    return { kind: 'new', dueAtMs: nowMs, window: { endMs: nowMs + digestMs, isCollecting: false } };
  return { kind: 'new', dueAtMs: endMs, window: { endMs, isCollecting: true } };
}

/** Within a window until its end; after one that had something to collect, until the end of the next. */
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
  /** Nobody has claimed the message yet, so it takes further notices. */
  readonly isOpen: boolean;
  /** Why it was given up; absent while it waits. */
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

/** Tells whether the message is still the one that somebody claimed with so many attempts before. */
export const isClaimOf = ({ isOpen, attempts }: MessageRecord, settlement: Settlement): boolean =>
  !isOpen && attempts === settlement.attempts;

/** Returns the message after a claim that came to nothing. */
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
  /** Its bucket is full at that time, if nothing is claimed. */
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

/** Returns how many may be claimed now. */
export function claimable(
  { failures, pausedUntilMs, fullAtMs }: ChannelRecord,
  { limit, intervalMs, burst, probingMin }: ChannelClaim,
  nowMs: number,
): number {
  if (nowMs < pausedUntilMs) return 0;
  const spentMs = spentIn(fullAtMs, { intervalMs, burst }, nowMs);
  const tokens = burst - Math.ceil(spentMs / intervalMs);
  return Math.max(0, Math.min(failures >= probingMin ? 1 : limit, tokens));
}

/** No bucket lacks more than it holds: otherwise a clock was ahead, and the channel would stay silent. */
function spentIn(
  fullAtMs: number,
  { intervalMs, burst }: Pick<ChannelClaim, 'intervalMs' | 'burst'>,
  nowMs: number,
) {
  const spentMs = Math.max(0, fullAtMs - nowMs);
  return spentMs > intervalMs * burst ? 0 : spentMs;
}

/** Notes the claims. Nobody else claims from a channel that is tried out until that or its lease is over. */
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

/** Tells whether the claim changes the record of the channel, even where it gets nothing. */
export const isClaimNoted = (
  { claimedAtMs, owner }: ChannelRecord,
  claim: ChannelClaim,
  nowMs: number,
): boolean => owner === claim.owner && claimedAtMs !== null && nowMs - claimedAtMs < claimNotedMs;

/** The channel is the tenant's that claims for it. The time is noted once in `claimNotedMs`. */
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
