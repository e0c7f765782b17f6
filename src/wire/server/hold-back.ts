import type { Socket } from 'node:net';
import { createTurnEnd } from '../http1/turn-end.ts';

const turnEnd = createTurnEnd();

/**
 * What is written to the socket goes out at the end of this turn of the event loop, or when the socket ends. Clients whose answers come
 * together are woken once instead of one by one. Measured with 32 connections under a profiler: a seventh less time of the processor, as
 * much more calls.
 */
export function holdBack(socket: Socket): void {
  if (socket.writableCorked > 0) return;
  socket.cork();
  turnEnd.wait({ onTurnEnd: () => socket.uncork() });
}
