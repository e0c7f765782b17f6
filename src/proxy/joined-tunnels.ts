import type { Socket } from 'node:net';
import type { Log } from '../core/log.ts';
import { ownName } from '../core/safe-name.ts';
import type { EntranceGate } from '../decision/gate.ts';
import { JoinedTunnel } from './joined-tunnel.ts';
import type { AccessMonitor, Owner } from './standing.ts';

/** The caller whose tunnel it is, and where the tunnel leads. */
interface TunnelOwner extends Owner {
  readonly traceId: string;
  readonly host: string;
  readonly port: number;
}

/** Keeps the tunnels that nobody reads, under one clock. */
export type JoinedTunnels = ReturnType<typeof createJoinedTunnels>;

interface Opened {
  readonly owner: TunnelOwner;
  readonly sinceMs: number;
}

const tickMsMin = 10;
const tickMsMax = 1000;

export function createJoinedTunnels(gate: () => EntranceGate, standing: AccessMonitor, log: Log) {
  const open = new Map<JoinedTunnel, Opened>();
  const { idleTimeoutMs, handshakeTimeoutMs } = gate().config.limits;
  const tickMs = Math.min(tickMsMax, Math.max(tickMsMin, Math.min(idleTimeoutMs, handshakeTimeoutMs) / 4));
  let isDraining = false;

  const timer = setInterval(() => {
    const { limits } = gate().config;
    const idleTicks = isDraining ? 0 : Math.ceil(limits.idleTimeoutMs / tickMs);
    const helloTicks = Math.ceil(limits.handshakeTimeoutMs / tickMs);
    for (const [tunnel, opened] of [...open]) {
      if (isForbidden(opened)) tunnel.end('not allowed any more');
      else tunnel.tick(idleTicks, helloTicks);
    }
  }, tickMs);
  timer.unref();

  const isForbidden = ({ owner, sinceMs }: Opened): boolean =>
    !gate().isPassedThrough(owner.host) || standing.whyEnded(owner, sinceMs) !== undefined;

  return {
    /** Joins both sides until one closes, nothing moves any more, or the owner loses the right to it. */
    join(client: Socket, upstream: Socket, owner: TunnelOwner) {
      const tunnel = new JoinedTunnel(client, upstream, owner.host);
      const sinceMs = Date.now();
      open.set(tunnel, { owner, sinceMs: performance.now() });
      tunnel.onClosed = () => open.delete(tunnel);
      tunnel.onEnd = (end, { sentBytes, receivedBytes }) => {
        const { traceId, identity, port } = owner;
        const host = gate().safeName(identity?.tenantId ?? '', owner.host);
        const about = { trace_id: traceId, host, port, sent_bytes: sentBytes, received_bytes: receivedBytes };
        log.info({ ...about, ms: Date.now() - sinceMs, end: ownName(end) }, 'a tunnel ended');
      };
    },
    /** Has tunnels closed in which nothing moves between two ticks. */
    drain() {
      isDraining = true;
    },
    /** Stops the clock and ends all tunnels. */
    close() {
      clearInterval(timer);
      for (const tunnel of [...open.keys()]) tunnel.end('shut down');
    },
  };
}
