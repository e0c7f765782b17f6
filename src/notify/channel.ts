import type { Socket } from 'node:net';
import type { NotificationConfig } from '../config/schema.ts';
import type { ChannelType } from '../config/sections/notifications.ts';
import type { Message } from './notice.ts';

/** The outcome of one attempt to send a message. */
export type DeliveryOutcome =
  | {
      readonly kind: 'delivered';
      /** A remark for the operator's log, such as that some of the recipients were refused. */
      readonly note?: string;
    }
  /** A failure that may be over later. `afterMs` is the wait that the destination wants (`Retry-After`). */
  | { readonly kind: 'retry'; readonly reason: string; readonly afterMs?: number }
  /** A failure for good: a malformed address, a destination that is gone (410), another's certificate. */
  | { readonly kind: 'refused'; readonly reason: string };

/** Reaches the outside through the SSRF guard, in bounded time, reading at most 4 KB of an answer. */
export interface Transport {
  post(
    request: {
      readonly url: string;
      readonly headers: Readonly<Record<string, string>>;
      readonly body: string;
    },
    channel: Pick<NotificationConfig, 'allowPrivate'>,
    signal: AbortSignal,
  ): Promise<{ readonly status: number; readonly headers: Readonly<Record<string, string | undefined>> }>;
  /** Returns a socket to a mail server that the guard has let pass. Whoever takes the socket closes it. */
  connect(host: string, port: number, channel: NotificationConfig, signal: AbortSignal): Promise<Socket>;
  /** PEM certificates of authorities for mail servers, whose TLS begins on a standing connection. */
  readonly roots: readonly string[];
}

/** A kind of destination, which is one file in `channels/`. */
export interface Channel {
  readonly type: ChannelType;
  /**
   * Sends a message. Never rejects. No reason has the channel's URL, secret or password, which hold tokens.
   */
  send(message: Message, channel: NotificationConfig, context: SendContext): Promise<DeliveryOutcome>;
}

export interface SendContext {
  readonly transport: Transport;
  readonly nowMs: number;
  readonly signal: AbortSignal;
  /** The public URL of the gateway, for links and buttons; undefined where it is not configured. */
  readonly controlUrl: string | undefined;
}
