import type { Socket } from 'node:net';
import { GatewayError } from '../errors.ts';

/** How many connections each key holds, so that one agent cannot take those of all. */
export interface KeyConnections {
  /** Counts the connection for the key until it closes; once, however often it is claimed. Throws GATEWAY_BUSY over the bound. */
  claim(socket: Socket, keyHash: string, max: number): void;
}

export function createKeyConnections(): KeyConnections {
  const counts = new Map<string, number>();
  /** The keys that came on a connection: several, where a proxy of the agents' own shares one. */
  const claimed = new WeakMap<Socket, Set<string>>();

  function keysOf(socket: Socket): Set<string> {
    const known = claimed.get(socket);
    if (known) return known;
    const keys = new Set<string>();
    claimed.set(socket, keys);
    socket.once('close', () => keys.forEach(release));
    return keys;
  }

  function release(keyHash: string): void {
    const left = (counts.get(keyHash) ?? 1) - 1;
    if (left > 0) counts.set(keyHash, left);
    else counts.delete(keyHash);
  }

  return {
    claim(socket, keyHash, max) {
      const keys = keysOf(socket);
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
