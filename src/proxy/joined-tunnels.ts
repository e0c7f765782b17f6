import type { Socket } from 'node:net';
import type { Identity } from '../call.ts';
import { toGatewayError } from '../errors.ts';
import type { Log } from '../log.ts';
import type { Gate } from '../pipeline/gate.ts';
import { isAddressAllowed } from '../state/admission.ts';
import { JoinedTunnel } from './joined-tunnel.ts';

/** Whose tunnel it is, and where it leads. */
export interface TunnelOwner {
  readonly traceId: string;
  readonly keyHash: string;
  /** It was opened without a key: `keyHash` stands for that. */
  readonly isKeyless: boolean;
  readonly identity: Identity;
  readonly clientAddress: string;
  readonly host: string;
  readonly port: number;
}

/** The tunnels that nobody reads, under one clock. */
export interface JoinedTunnels {
  /** Joins both sides until one of them is closed, nothing moves any more, or the owner may not have it any more. */
  join(client: Socket, upstream: Socket, owner: TunnelOwner): void;
  /** From now on a tunnel in which nothing moves between two ticks is closed. */
  drain(): void;
  /** Stops the clock and ends them all. */
  close(): void;
}

const tickMsMin = 10;
const tickMsMax = 5000;

/**
 * A call is judged once, and what stands for hours would outlive its key: every few seconds it is asked again whether each key still
 * stands, from that address, and each agent may call. While the state is away, nobody is cut off for that.
 */
export function createJoinedTunnels(gate: () => Gate, log: Log): JoinedTunnels {
  const open = new Map<JoinedTunnel, TunnelOwner>();
  const { idleTimeoutMs, handshakeTimeoutMs } = gate().config.limits;
  const tickMs = Math.min(tickMsMax, Math.max(tickMsMin, Math.min(idleTimeoutMs, handshakeTimeoutMs) / 4));
  let isDraining = false;
  let isAsking = false;

  const timer = setInterval(() => {
    const { limits } = gate().config;
    const idleTicks = isDraining ? 0 : Math.ceil(limits.idleTimeoutMs / tickMs);
    for (const tunnel of open.keys()) tunnel.tick(idleTicks, Math.ceil(limits.handshakeTimeoutMs / tickMs));
    if (isAsking || open.size === 0) return;
    isAsking = true;
    endForbidden()
      .catch((error: unknown) => log.error({ err: error }, 'the owners of tunnels cannot be asked for'))
      .finally(() => {
        isAsking = false;
      });
  }, tickMs);
  timer.unref();

  async function endForbidden(): Promise<void> {
    const current = gate();
    /** By key and agent, of which there are fewer than tunnels. */
    const standing = new Map<string, Promise<(clientAddress: string) => boolean>>();
    for (const [tunnel, owner] of [...open]) {
      const { keyHash, identity, clientAddress, host } = owner;
      const key = `${keyHash} ${identity.agentId}`;
      const asked = standing.get(key) ?? mayCall(current, owner);
      standing.set(key, asked);
      const isAllowed = current.isPassedThrough(host) && (await asked)(clientAddress);
      if (!isAllowed) tunnel.end('not allowed any more');
    }
  }

  return {
    join(client, upstream, owner) {
      const tunnel = new JoinedTunnel(client, upstream, owner.host);
      const sinceMs = Date.now();
      open.set(tunnel, owner);
      tunnel.onClosed = () => open.delete(tunnel);
      tunnel.onEnd = (end, { sentBytes, receivedBytes }) => {
        const { traceId, host, port } = owner;
        const about = { trace_id: traceId, host, port, sent_bytes: sentBytes, received_bytes: receivedBytes };
        log.info({ ...about, ms: Date.now() - sinceMs, end }, 'a tunnel ended');
      };
    },
    drain() {
      isDraining = true;
    },
    close() {
      clearInterval(timer);
      for (const tunnel of [...open.keys()]) tunnel.end('shut down');
    },
  };
}

/** From which addresses the key of a tunnel may go on. */
async function mayCall(
  { store, tenants, keyless }: Gate,
  { keyHash, isKeyless, identity }: TunnelOwner,
): Promise<(clientAddress: string) => boolean> {
  if (isKeyless && keyless?.key.hash !== keyHash) return never;
  try {
    const holder = await store.identify(keyHash, Date.now());
    if (!holder.ok || holder.agentStatus !== 'active' || !tenants.find(identity.tenantId)) return never;
    const isOwn = holder.identity.agentId === identity.agentId;
    const named = isOwn ? undefined : await store.agentById(identity.agentId);
    if (named?.status === 'suspended') return never;
    return (clientAddress) => isAddressAllowed(holder.key, clientAddress);
  } catch (error) {
    if (toGatewayError(error).code === 'STATE_UNAVAILABLE') return always;
    throw error;
  }
}

const never = (): boolean => false;
const always = (): boolean => true;
