import { createHmac } from 'node:crypto';
import { readWebhookSecret } from '../../config/webhook-secret.ts';
import type { Channel } from '../channel.ts';
import { postTo } from '../outcome.ts';
import { toData } from '../payload.ts';

/** Sends to programs that take Standard Webhooks: `{type, timestamp, data}`, signed if there is a secret. */
export const webhook: Channel = {
  type: 'webhook',
  send: (message, channel, context) =>
    postTo(channel, context, () => {
      const { notice, messageId } = message;
      const body = JSON.stringify({
        type: notice.kind,
        timestamp: new Date(notice.atMs).toISOString(),
        data: toData(message),
      });
      const keys = channel.secret === null ? [] : (readWebhookSecret(channel.secret) ?? []);
      const headers = {
        ...Object.fromEntries(channel.headers),
        'Content-Type': 'application/json',
        ...signedHeaders(keys, messageId, Math.floor(context.nowMs / 1000), body),
      };
      return { headers, body };
    }),
};

/**
 * Returns the fields that go with a body by Standard Webhooks: HMAC-SHA256 over `id.timestamp.body`. Without
 * keys there is no signature. Several keys sign side by side, so that a receiver can change to the next one
 * whenever it likes.
 */
function signedHeaders(
  keys: readonly Buffer[],
  id: string,
  timestampSeconds: number,
  body: string,
): Record<string, string> {
  const signatures = keys.map(
    (key) => `v1,${createHmac('sha256', key).update(`${id}.${timestampSeconds}.${body}`).digest('base64')}`,
  );
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestampSeconds),
    ...(signatures.length > 0 ? { 'webhook-signature': signatures.join(' ') } : {}),
  };
}
