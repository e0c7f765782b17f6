import { createHmac } from 'node:crypto';

/**
 * The fields that go with a body by Standard Webhooks: HMAC-SHA256 over `id.timestamp.body`. Several keys sign side by side, so that a
 * receiver can change to the next one whenever it likes; without any, nothing is signed.
 */
export function signedHeaders(
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
