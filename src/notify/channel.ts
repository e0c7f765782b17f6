import type { Socket } from 'node:net';
import type { NotificationConfig } from '../config/schema.ts';
import type { ChannelType } from '../config/sections/notifications.ts';
import type { Message } from './notice.ts';

/** The outcome of one attempt. */
export type DeliveryOutcome =
  | {
      readonly kind: 'delivered';
      /** A remark for the operator's log: some of the recipients were refused. */
      readonly note?: string;
    }
  /** It may work later; `afterMs` is what the destination asked for (`Retry-After`). */
  | { readonly kind: 'retry'; readonly reason: string; readonly afterMs?: number }
  /** It never will: a malformed address, a destination that is gone (410), a certificate of somebody else. */
  | { readonly kind: 'refused'; readonly reason: string };

/** Reaches the outside: through the SSRF guard, in bounded time, reading at most 4 KB of an answer. */
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
  /** Returns a connected socket to a mail server, after the guard. Whoever takes it closes it. */
  connect(host: string, port: number, channel: NotificationConfig, signal: AbortSignal): Promise<Socket>;
  /** PEM certificates of authorities for mail servers: their TLS begins on a standing connection. */
  readonly roots: readonly string[];
}

/** One kind of destination: one file in `channels/`. */
export interface Channel {
  readonly type: ChannelType;
  /** Never rejects, and never says the channel's URL, secret or password in a reason: those hold tokens. */
  send(message: Message, channel: NotificationConfig, context: SendContext): Promise<DeliveryOutcome>;
}

export interface SendContext {
  readonly transport: Transport;
  readonly nowMs: number;
  readonly signal: AbortSignal;
  /** The public URL of the gateway, for links and buttons; undefined where it is not configured. */
  readonly controlUrl: string | undefined;
}
