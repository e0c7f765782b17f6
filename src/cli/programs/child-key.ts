import { setTimeout as sleep } from 'node:timers/promises';
import type { Listing } from '../../api/answers.ts';
import { AnswerError } from '../connection/answer-error.ts';
import { type Client, clientFor } from '../connection/client.ts';
import type { WayOut } from '../connection/way-out.ts';

/* Makes the key of one run. It is an ephemeral key of the shell's key, and ends with the program. */

const ttlSeconds = 86_400;
const pagesMax = 100;
const shippedMs = 400;

interface ChildKey {
  readonly text: string;
  /** Revokes the key. Returns what became of its calls; undefined where the key of the shell may not know. */
  end(): Promise<string | undefined>;
}

/** Makes an ephemeral key; undefined where the shell's key may make none, or no control plane is known. */
export async function openChildKey(
  { url, key }: Pick<WayOut, 'url' | 'key'>,
  program: string,
): Promise<ChildKey | undefined> {
  if (url === undefined || key === '') return undefined;
  const client = clientFor(new URL(url), key);
  const from = new Date().toISOString();
  const asked = { ttl_seconds: ttlSeconds, description: `postern run ${program}`.slice(0, 200) };
  const made = await permitted(() =>
    client.send<{ key?: string; ephemeral_id?: string }>('POST', '/v1/keys/ephemeral', asked),
  );
  // Whatever has answered may be no daemon.
  const { key: text, ephemeral_id: keyId } = made ?? {};
  if (!text || !keyId) return undefined;
  return {
    text,
    async end() {
      await permitted(() => client.send('DELETE', `/v1/keys/${keyId}`));
      return permitted(async () => {
        // Calls are in the list a quarter of a second after their answer, and later where the state is slow.
        await sleep(shippedMs);
        const first = await countCalls(client, keyId, from);
        if (first.total > 0) return toReport(first);
        await sleep(2 * shippedMs);
        return toReport(await countCalls(client, keyId, from));
      });
    },
  };
}

/** Does the work; returns undefined where the daemon refuses it to this key. */
async function permitted<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof AnswerError) return undefined;
    throw error;
  }
}

const words = { ALLOW: 'allowed', SANITIZE: 'sanitized', REQUIRE_APPROVAL: 'held', DENY: 'denied' } as const;

interface Counted {
  readonly total: number;
  readonly counts: Readonly<Record<string, number>>;
  /** Tells whether there are more calls, which were not read. */
  readonly isCut: boolean;
}

async function countCalls(client: Client, keyId: string, from: string): Promise<Counted> {
  const counts: Record<string, number> = {};
  let total = 0;
  let cursor: string | undefined;
  for (let page = 0; page < pagesMax; page += 1) {
    const query = { q: keyId, from, limit: '1000', cursor };
    const { items, next_cursor } = await client.get<Listing<Record<string, unknown>>>('/v1/traces', query);
    for (const { decision, key_id } of items) {
      if (key_id !== keyId) continue;
      total += 1;
      counts[String(decision)] = (counts[String(decision)] ?? 0) + 1;
    }
    cursor = next_cursor ?? undefined;
    if (cursor === undefined) break;
  }
  return { total, counts, isCut: cursor !== undefined };
}

function toReport({ total, counts, isCut }: Counted): string {
  if (total === 0)
    return 'no call has left through the gateway: does the program honour HTTPS_PROXY, and trust the authority in SSL_CERT_FILE?';
  const more = isCut ? 'at least ' : '';
  const parts = Object.entries(words).map(([decision, word]) => `${counts[decision] ?? 0} ${word}`);
  const next = counts['REQUIRE_APPROVAL'] ? ' "postern approval list" shows what waits.' : '';
  return `${more}${total} call${total === 1 ? '' : 's'}: ${parts.join(', ')}.${next}`;
}
