import type { EventKind } from '../config/sections/notifications.ts';
import type { Band } from '../core/call.ts';
import type { SafeName } from '../core/safe-name.ts';

/** An event as channels are told of it. It holds no secret and nothing that a detector has found. */
export interface Notice {
  /** Id of the event, equal on every node. It is printable, at most 128 characters, without a dot. */
  readonly noticeId: string;
  readonly kind: EventKind;
  readonly atMs: number;
  readonly severity: Band;
  /** The tenant that it concerns; null where it concerns the daemon as a whole. */
  readonly tenantId: string | null;
  readonly envName: string | null;
  readonly agentId: string | null;
  readonly agentName: SafeName | null;
  /** The registered name of an agent that calls itself otherwise. Filters ask for both names. */
  readonly registeredName?: SafeName;
  readonly toolName: SafeName | null;
  /** A sentence of at most 300 characters. Strangers chose the names in it, so channels escape them. */
  readonly summary: SafeName;
  /**
   * The `data` of webhooks: names as in the API, with `trace_id` and `approval_id` where there are any.
   * People also see `operation`, `reason_codes` and `decided_by`. At most 8,192 characters as JSON.
   */
  readonly data: Readonly<Record<string, unknown>>;
  /** Kinds of channels that a rule has named in `escalate_to`. These are told whatever their filters say. */
  readonly escalateTo: readonly string[];
}

/** A message to one channel: a notice, or a digest of many of the same kind. */
export interface Message {
  /** Id that is stable over retries, and unique among the messages to one channel. */
  readonly messageId: string;
  /** The notice; of a digest, the first one. */
  readonly notice: Notice;
  /** Number of notices that the message stands for; more than 1 is a digest. */
  readonly count: number;
  /** The times of a digest's first and last notice, and up to 20 of their trace ids. */
  readonly digest?: {
    readonly firstMs: number;
    readonly lastMs: number;
    readonly traceIds: readonly string[];
  };
}
