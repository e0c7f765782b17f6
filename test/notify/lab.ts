import { stringify } from 'yaml';
import { parseConfig } from '../../src/config/load.ts';
import type { NotificationConfig } from '../../src/config/schema.ts';
import type { ChannelType } from '../../src/config/sections/notifications.ts';
import { ownName } from '../../src/core/safe-name.ts';
import type { DeliveryOutcome, SendContext, Transport } from '../../src/notify/channel.ts';
import { channels } from '../../src/notify/channels/index.ts';
import type { Message, Notice } from '../../src/notify/notice.ts';
import { createTransport, type TransportOptions } from '../../src/notify/transport.ts';
import { createResolver } from '../../src/wire/client/reach/resolve.ts';
import { testAuthority } from '../support/certificates.ts';

/* Channels as a configuration has them, and messages for them. */

export const nowMs = Date.UTC(2026, 10, 22, 20, 15, 30);
export const approvalId = '3f2c6f0e-7a54-4b0e-9a55-0a2f6f0f7c11';
export const traceId = '019aad2e-7a54-7b0e-9a55-0a2f6f0f7c11';

export const noticeOf = (fields: Partial<Notice> = {}): Notice => ({
  noticeId: 'ntc_1',
  kind: 'decision.deny',
  atMs: nowMs - 1000,
  severity: 'HIGH',
  tenantId: 'acme',
  envName: 'production',
  agentId: '5b0c7f0e-7a54-4b0e-9a55-0a2f6f0f7c11',
  agentName: ownName('support-bot'),
  toolName: ownName('github'),
  summary: ownName('support-bot may not delete acme/app.'),
  data: {
    trace_id: traceId,
    decision: 'DENY',
    operation: 'delete_repo',
    reason_codes: ['POLICY_DENY', 'RISK_HIGH'],
  },
  escalateTo: [],
  ...fields,
});

export const messageOf = (notice: Partial<Notice> = {}, more: Partial<Message> = {}): Message => ({
  messageId: 'msg_1',
  notice: noticeOf(notice),
  count: 1,
  ...more,
});

/** A message that asks for an approval. */
export const askingOf = (more: Partial<Message> = {}): Message =>
  messageOf(
    { kind: 'decision.require_approval', data: { ...noticeOf().data, approval_id: approvalId } },
    more,
  );

/** 37 denials within a minute. */
export const digestOf = (notice: Partial<Notice> = {}): Message =>
  messageOf(notice, {
    count: 37,
    digest: {
      firstMs: nowMs - 60_000,
      lastMs: nowMs - 1000,
      traceIds: Array.from({ length: 20 }, (_, at) => `${traceId.slice(0, -2)}${10 + at}`),
    },
  });

/** The entry of a file, read as the daemon reads it. */
export function channelOf(
  type: ChannelType,
  url: string,
  fields: Readonly<Record<string, unknown>> = {},
): NotificationConfig {
  const mail = type === 'email' ? { from: 'Postern <postern@acme.test>', to: ['sec@acme.test'] } : {};
  const entry = { name: `the-${type}`, type, url, allow_private: true, ...mail, ...fields };
  const text = stringify({ tenants: [{ id: 'acme' }], notifications: [entry] });
  const [channel] = parseConfig(text, { file: undefined, env: {} }).notifications;
  if (!channel) throw new Error('there is no channel');
  return channel;
}

export const transportWith = (options: Partial<TransportOptions> = {}): Transport =>
  createTransport({
    resolver: createResolver({ resolve: [] }),
    roots: [testAuthority().certPem],
    connectTimeoutMs: 10_000,
    deny: [],
    ownListeners: () => [],
    ...options,
  });

export const contextWith = (fields: Partial<SendContext> = {}): SendContext => ({
  transport: transportWith(),
  nowMs,
  signal: new AbortController().signal,
  controlUrl: 'https://gate.acme.test',
  ...fields,
});

/** Sends it as its channel does. */
export function send(
  message: Message,
  channel: NotificationConfig,
  context: Partial<SendContext> = {},
): Promise<DeliveryOutcome> {
  const kind = channels.get(channel.type);
  if (!kind) throw new Error(`there is no ${channel.type}`);
  return kind.send(message, channel, contextWith(context));
}
