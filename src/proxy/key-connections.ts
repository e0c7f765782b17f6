import { GatewayError } from '../errors.ts';
import type { Closable } from '../http/exchange.ts';

/** How many connections and streams each key holds, so that one agent cannot take those of all. */
export interface KeyConnections {
  /** Counts the connection for the key until it closes; once, however often it is claimed. Throws GATEWAY_BUSY over the bound. */
  claim(connection: Closable, keyHash: string, max: number): void;
}

export function createKeyConnections(): KeyConnections {
  const counts = new Map<string, number>();
  /** The keys that came on a connection: several, where a proxy of the agents' own shares one. */
  const claimed = new WeakMap<Closable, Set<string>>();

  function keysOf(connection: Closable): Set<string> {
    const known = claimed.get(connection);
    if (known) return known;
    const keys = new Set<string>();
    claimed.set(connection, keys);
    connection.once('close', () => keys.forEach(release));
    return keys;
  }

  function release(keyHash: string): void {
    const left = (counts.get(keyHash) ?? 1) - 1;
    if (left > 0) counts.set(keyHash, left);
    else counts.delete(keyHash);
  }

  return {
    claim(connection, keyHash, max) {
      const keys = keysOf(connection);
      if (keys.has(keyHash)) return;
      const held = counts.get(keyHash) ?? 0;
      if (held >= max) {
        throw new GatewayError(
          'GATEWAY_BUSY',
          `This key holds ${held} connections, which is all it may; close one.`,
          { retryAfterSeconds: 1 },
        );
      }
      counts.set(keyHash, held + 1);
      keys.add(keyHash);
    },
  };
}
