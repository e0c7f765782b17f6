import { readWebhookSecret } from '../../config/webhook-secret.ts';
import type { Channel } from '../channel.ts';
import { postTo } from '../outcome.ts';
import { toData } from '../payload.ts';
import { signedHeaders } from '../webhook-signature.ts';

/** Any program that takes Standard Webhooks: `{type, timestamp, data}`, signed where there is a secret. */
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
