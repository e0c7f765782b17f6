import type { Socket } from 'node:net';
import type { Identity } from '../call.ts';
import { GatewayError } from '../errors.ts';
import { isWithin, networkOf, unmapped } from '../ranges.ts';
import type { Closable } from './exchange.ts';
import { peerAddress } from './peer-address.ts';

/*
 * Who holds how many connections of a listener. A connection counts for the address that it comes from until its client is known, and then
 * for an agent and a tenant. Agents and tenants may have fixed bounds. Beside them one rule keeps room for whoever comes next: no tenant and
 * no address may hold more than are still free. The first one gets half of all, the next one half of the rest. A fixed share would either
 * be small, or leave nothing once a few have taken theirs.
 */

/** For whom a connection counts. An ephemeral key counts for the agent that it was made for. */
export interface ConnectionOwner {
  readonly tenantId: string;
  readonly agentId: string;
}

/** For whom the connections of a key count: for its own agent, whatever agents its calls name. */
export const ownerOf = ({
  tenantId,
  ownAgent,
}: Pick<Identity, 'tenantId' | 'ownAgent'>): ConnectionOwner => ({
  tenantId,
  agentId: ownAgent.agentId,
});

export interface ConnectionBounds {
  readonly perAgent: number;
  /** Null: as many as leave room for others. */
  readonly perTenant: number | null;
  /** Whether there are other tenants, for whom room is kept. */
  readonly isShared: boolean;
}

/** The connections of one listener, and the streams in them. */
export interface Connections {
  /** Counts a connection until it closes. Answers why there is no place for it; then it counts for no address. */
  arrive(socket: Socket): GatewayError | undefined;
  /** Counts the connection for an address until it is claimed. Answers why that may have no more; undefined: it counts for none. */
  comeFrom(socket: Socket, address: string | undefined): GatewayError | undefined;
  /** The connection is also known as this one from now on, which speaks TLS on it. */
  alias(socket: Socket, as: Socket): void;
  /**
   * Counts the connection or stream for its owner until it closes or is released; once, however often it is claimed. What has closed
   * already counts for nobody. Throws GATEWAY_BUSY where the owner may have no more.
   */
  claim(connection: Closable, owner: ConnectionOwner, bounds: ConnectionBounds): void;
  /** Takes a claim back, for connections that others share. */
  release(connection: Closable, owner: ConnectionOwner): void;
}

/** A request of a listener: its connection, and the answer that ends it. */
interface Arrived {
  readonly socket: Socket;
  readonly answer: Closable;
}

/**
 * Counts a connection for the owner of its request. Where it is a trusted proxy's, which many clients share, it counts only until the
 * answer is done. Throws GATEWAY_BUSY where the owner may have no more.
 */
export function claimRequest(
  connections: Connections,
  { socket, answer }: Arrived,
  owner: ConnectionOwner,
  {
    bounds,
    trustedProxies,
  }: { readonly bounds: ConnectionBounds; readonly trustedProxies: readonly string[] },
): void {
  connections.claim(socket, owner, bounds);
  if (isTrusted(socket, trustedProxies)) answer.once('close', () => connections.release(socket, owner));
}

/** The address that a connection counts for until its client is known; undefined where many clients share it, or there is none. */
export const countedAddress = (socket: Socket, trustedProxies: readonly string[]): string | undefined =>
  isTrusted(socket, trustedProxies) ? undefined : peerAddress(socket) || undefined;

const isTrusted = (socket: Socket, trustedProxies: readonly string[]): boolean =>
  trustedProxies.length > 0 && isWithin(trustedProxies, unmapped(peerAddress(socket)));

/** What one connection counts for. */
interface Place {
  /** False once the connection has closed: from then on nothing would take back what it counts for. */
  isOpen: boolean;
  address: string | undefined;
  /** Agents and their tenants: several, where a proxy of the agents' own shares a connection. */
  readonly owners: Map<string, string>;
}

export function createConnections(connectionsMax: () => number): Connections {
  let open = 0;
  const addresses = new Tally();
  const agents = new Tally();
  const tenants = new Tally();
  const places = new WeakMap<Closable, Place>();

  function enter(connection: Closable): Place {
    const place: Place = { isOpen: !connection.destroyed, address: undefined, owners: new Map() };
    places.set(connection, place);
    if (!place.isOpen) return place;
    open += 1;
    connection.once('close', () => {
      open -= 1;
      place.isOpen = false;
      known(place);
      for (const agentId of [...place.owners.keys()]) disown(place, agentId);
    });
    return place;
  }

  /** It counts for no address any more. */
  function known(place: Place): void {
    if (place.address !== undefined) addresses.take(place.address);
    place.address = undefined;
  }

  function disown(place: Place, agentId: string): void {
    const tenantId = place.owners.get(agentId);
    if (tenantId === undefined) return;
    place.owners.delete(agentId);
    agents.take(agentId);
    tenants.take(tenantId);
  }

  /** Whether somebody who holds so many may have another one, whose place is counted already. */
  const leavesRoom = (held: number): boolean => held < connectionsMax() - open + 1;

  return {
    arrive(socket) {
      enter(socket);
      return open > connectionsMax() ? full() : undefined;
    },
    comeFrom(socket, address) {
      const place = places.get(socket);
      if (!place?.isOpen || address === undefined || place.owners.size > 0) return undefined;
      const network = networkOf(address);
      if (!leavesRoom(addresses.of(network)))
        return busy('This address has as many connections without a valid key as leave room for others');
      known(place);
      place.address = network;
      addresses.add(network);
      return undefined;
    },
    alias(socket, as) {
      const place = places.get(socket);
      if (place) places.set(as, place);
    },
    claim(connection, { tenantId, agentId }, { perAgent, perTenant, isShared }) {
      const standing = places.get(connection);
      const place = standing ?? enter(connection);
      if (!place.isOpen || place.owners.has(agentId)) return;
      if (!standing && open > connectionsMax()) throw full();
      const [ofAgent, ofTenant] = [agents.of(agentId), tenants.of(tenantId)];
      if (ofAgent >= perAgent) throw busy(`This agent holds ${ofAgent} connections, which is all it may`);
      if (perTenant !== null && ofTenant >= perTenant)
        throw busy(`This tenant holds ${ofTenant} connections, which is all it may`);
      if (isShared && !leavesRoom(ofTenant))
        throw busy(`This tenant holds ${ofTenant} connections, and the rest is kept for others`);
      known(place);
      place.owners.set(agentId, tenantId);
      agents.add(agentId);
      tenants.add(tenantId);
    },
    release(connection, { agentId }) {
      const place = places.get(connection);
      if (place) disown(place, agentId);
    },
  };
}

/** How many of each there are; of what there is none it keeps nothing. */
class Tally {
  readonly #counts = new Map<string, number>();

  of(name: string): number {
    return this.#counts.get(name) ?? 0;
  }

  add(name: string): void {
    this.#counts.set(name, this.of(name) + 1);
  }

  take(name: string): void {
    const left = this.of(name) - 1;
    if (left > 0) this.#counts.set(name, left);
    else this.#counts.delete(name);
  }
}

const full = (): GatewayError => busy('The gateway has as many connections as it takes');

const busy = (why: string): GatewayError =>
  new GatewayError('GATEWAY_BUSY', `${why}; close one, or try again.`, { retryAfterSeconds: 1 });
