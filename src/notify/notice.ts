import type { EventKind } from '../config/sections/notifications.ts';
import type { Band } from '../core/call.ts';
import type { SafeName } from '../core/safe-name.ts';

/** An event as channels are told of it. It holds no secret and nothing that a detector has found. */
export interface Notice {
  /** Equal for the same event on every node. It is printable, at most 128 characters, without a dot. */
  readonly noticeId: string;
  readonly kind: EventKind;
  readonly atMs: number;
  readonly severity: Band;
  /** Null: it concerns the daemon as a whole. */
  readonly tenantId: string | null;
  readonly envName: string | null;
  readonly agentId: string | null;
  readonly agentName: SafeName | null;
  /** The registered name of an agent that calls itself otherwise: filters ask for both. */
  readonly registeredName?: SafeName;
  readonly toolName: SafeName | null;
  /** One sentence of at most 300 characters. Strangers chose the names in it, so channels escape them. */
  readonly summary: SafeName;
  /**
   * The `data` of webhooks: names as in the API, with `trace_id` and `approval_id` where there are any.
   * People also see `operation`, `reason_codes` and `decided_by`. At most 16 KB as JSON.
   */
  readonly data: Readonly<Record<string, unknown>>;
  /** Kinds of channels that a rule has named in `escalate_to`: these are told whatever their filters say. */
  readonly escalateTo: readonly string[];
}

/** A message to one channel: a notice, or one for many of the same kind. */
export interface Message {
  /** Stable over retries; unique among the messages to one channel. */
  readonly messageId: string;
  /** The first of them. */
  readonly notice: Notice;
  /** How many notices it stands for; more than 1 is a digest. */
  readonly count: number;
  /** The times of a digest's first and last notice, and up to 20 of their trace ids. */
  readonly digest?: {
    readonly firstMs: number;
    readonly lastMs: number;
    readonly traceIds: readonly string[];
  };
}
