import type { Socket } from 'node:net';
import type { Identity } from '../../core/call.ts';
import { GatewayError } from '../../core/errors.ts';
import { isWithin, networkOf, unmapped } from '../../util/addresses.ts';
import { Tally } from '../../util/tally.ts';
import type { Closable } from './closable.ts';
import { peerAddress } from './peer-address.ts';

/*
 * Counts who holds how many connections of a listener. Until its client is known, a connection is a
 * stranger's; then it counts for an agent and a tenant. Strangers together have half of all places, and one
 * address has half of those. Where they are taken, the stranger that has waited longest for a request gives
 * way to the next stranger, and to clients. So nobody is shut out by connections that say nothing. Agents and
 * tenants may have fixed bounds. Where there are several tenants, none may hold more connections than are
 * still free, and those of strangers count as free. So the first tenant gets half of all, the next one half
 * of the rest. A fixed share would either be small, or leave nothing once a few have taken theirs.
 */

/**
 * The agent and the tenant that a connection counts for. An ephemeral key counts for the agent that it was
 * made for.
 */
export interface ConnectionOwner {
  readonly tenantId: string;
  readonly agentId: string;
}

/** Returns the owner of a key's connections: the key's own agent, whatever agents its calls name. */
export const ownerOf = ({
  tenantId,
  ownAgent,
}: Pick<Identity, 'tenantId' | 'ownAgent'>): ConnectionOwner => ({
  tenantId,
  agentId: ownAgent.agentId,
});

export interface ConnectionBounds {
  readonly perAgent: number;
  /** Connections of one tenant; null for as many as leave room for others. */
  readonly perTenant: number | null;
  /** Tells whether there are other tenants, for whom room is kept. */
  readonly isShared: boolean;
}

/** Stands for the address of a connection whose load balancer has yet to tell it. */
export const untold = 'untold';

/** A request on a listener: its connection, and the answer that ends it. */
interface Arrived {
  readonly socket: Socket;
  readonly answer: Closable;
}

/**
 * Counts a connection for the owner of its request. A connection of a trusted proxy, which many clients
 * share, counts only until the answer is done. Throws GATEWAY_BUSY where the owner may have no more.
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

/**
 * Returns the address that a connection counts for until its client is known; undefined where many clients
 * share the connection.
 */
export const countedAddress = (socket: Socket, trustedProxies: readonly string[]): string | undefined =>
  isTrusted(socket, trustedProxies) ? undefined : peerAddress(socket) || undefined;

const isTrusted = (socket: Socket, trustedProxies: readonly string[]): boolean =>
  trustedProxies.length > 0 && isWithin(trustedProxies, unmapped(peerAddress(socket)));

/** The record of one connection in the counts. */
interface Place {
  /**
   * Tells whether the connection is open. Once it has closed, nothing would take back what is counted for it.
   */
  isOpen: boolean;
  /** Address of a stranger; undefined for any other connection. */
  address: string | undefined;
  /**
   * Tenants by agent: those that the connection counts for. There are several where a proxy of the agents'
   * own shares a connection.
   */
  readonly owners: Map<string, string>;
}

/** Counts the connections of one listener, and the streams in them. */
export class Connections {
  readonly #connectionsMax: () => number;
  #open = 0;
  #strangers = 0;
  readonly #addresses = new Tally();
  readonly #agents = new Tally();
  readonly #tenants = new Tally();
  readonly #places = new WeakMap<Closable, Place>();
  /** Connections of strangers without a request, in the order in which they began to wait. */
  readonly #waiting = new Map<Place, Socket>();

  constructor(connectionsMax: () => number) {
    this.#connectionsMax = connectionsMax;
  }

  /**
   * Counts a connection until it closes. Where there is no place for it, returns the error and counts it no
   * more.
   */
  arrive(socket: Socket): GatewayError | undefined {
    const place = this.#enter(socket);
    if (this.#open <= this.#connectionsMax() || this.#makeRoom(place)) return undefined;
    this.#leave(place);
    return full();
  }

  /**
   * Counts a connection for a stranger at this address until it is claimed. Where there is no place for it,
   * returns the error and counts it no more. Without an address many clients share the connection, and it is
   * no stranger's.
   */
  comeFrom(socket: Socket, address: string | undefined): GatewayError | undefined {
    const place = this.#places.get(socket);
    if (!place?.isOpen || place.owners.size > 0) return undefined;
    if (address === undefined) {
      this.#known(place);
      return undefined;
    }
    const network = networkOf(address);
    if (place.address === network) return undefined;
    const strangersMax = Math.max(1, Math.floor(this.#connectionsMax() / 2));
    const isMuch = this.#addresses.of(network) >= Math.ceil(strangersMax / 2);
    const isFull = place.address === undefined && this.#strangers >= strangersMax;
    if ((isMuch || isFull) && !this.#makeRoom(place, isMuch ? network : undefined)) {
      this.#leave(place);
      return isMuch
        ? busy('This address has as many connections without a valid key as leave room for others')
        : full();
    }
    this.#known(place);
    place.address = network;
    this.#strangers += 1;
    this.#addresses.add(network);
    this.#waiting.set(place, socket);
    return undefined;
  }

  /**
   * Notes that a request runs on a connection, which gives way to nobody until `rest`. Returns false where
   * the connection gives way to nobody anyway.
   */
  begin(socket: Socket): boolean {
    const place = this.#places.get(socket);
    return place !== undefined && this.#waiting.delete(place);
  }

  /** Notes that no request runs on a connection: a stranger's may give way to others again. */
  rest(socket: Socket): void {
    const place = this.#places.get(socket);
    if (place?.isOpen && place.address !== undefined) this.#waiting.set(place, socket);
  }

  /** Makes a connection known under a second socket, which speaks TLS on it. */
  alias(socket: Socket, as: Socket): void {
    const place = this.#places.get(socket);
    if (place) this.#places.set(as, place);
  }

  /**
   * Counts a connection or stream for its owner until it closes or is released; once, however often it is
   * claimed. What has closed already counts for nobody. Throws GATEWAY_BUSY where the owner may have no more.
   */
  claim(
    connection: Closable,
    { tenantId, agentId }: ConnectionOwner,
    { perAgent, perTenant, isShared }: ConnectionBounds,
  ): void {
    const standing = this.#places.get(connection);
    const place = standing ?? this.#enter(connection);
    if (!place.isOpen || place.owners.has(agentId)) return;
    if (!standing && this.#open > this.#connectionsMax() && !this.#makeRoom(place)) throw full();
    const [ofAgent, ofTenant] = [this.#agents.of(agentId), this.#tenants.of(tenantId)];
    if (ofAgent >= perAgent) throw busy(`This agent holds ${ofAgent} connections, which is all it may`);
    if (perTenant !== null && ofTenant >= perTenant)
      throw busy(`This tenant holds ${ofTenant} connections, which is all it may`);
    if (isShared && !this.#leavesRoom(ofTenant, place))
      throw busy(`This tenant holds ${ofTenant} connections, and the rest is kept for others`);
    this.#known(place);
    place.owners.set(agentId, tenantId);
    this.#agents.add(agentId);
    this.#tenants.add(tenantId);
  }

  /** Takes a claim back, for a connection that others share. */
  release(connection: Closable, { agentId }: ConnectionOwner): void {
    const place = this.#places.get(connection);
    if (place) this.#disown(place, agentId);
  }

  #enter(connection: Closable): Place {
    const place: Place = { isOpen: !connection.destroyed, address: undefined, owners: new Map() };
    this.#places.set(connection, place);
    if (!place.isOpen) return place;
    this.#open += 1;
    connection.once('close', () => this.#leave(place));
    return place;
  }

  #leave(place: Place): void {
    if (!place.isOpen) return;
    this.#open -= 1;
    place.isOpen = false;
    this.#known(place);
    for (const agentId of [...place.owners.keys()]) this.#disown(place, agentId);
  }

  /** Counts a connection as a stranger's no more. */
  #known(place: Place): void {
    if (place.address === undefined) return;
    this.#addresses.add(place.address, -1);
    this.#strangers -= 1;
    place.address = undefined;
    this.#waiting.delete(place);
  }

  #disown(place: Place, agentId: string): void {
    const tenantId = place.owners.get(agentId);
    if (tenantId === undefined) return;
    place.owners.delete(agentId);
    this.#agents.add(agentId, -1);
    this.#tenants.add(tenantId, -1);
  }

  /**
   * Closes the stranger's connection that has waited longest, of `address` or of all. Returns false where
   * none but `place` waits.
   */
  #makeRoom(place: Place, address?: string): boolean {
    for (const [other, socket] of this.#waiting) {
      if (other === place || (address !== undefined && other.address !== address)) continue;
      this.#leave(other);
      socket.destroy();
      return true;
    }
    return false;
  }

  /**
   * Tells whether a tenant that holds `held` connections leaves room for others with one more. `place` may be
   * counted already, or have been a stranger's.
   */
  #leavesRoom(held: number, place: Place): boolean {
    return (
      held < this.#connectionsMax() - (this.#open - this.#strangers) + (place.address === undefined ? 1 : 0)
    );
  }
}

const full = (): GatewayError => busy('The gateway has as many connections as it takes');

const busy = (why: string): GatewayError =>
  new GatewayError('GATEWAY_BUSY', `${why}; close one, or try again.`, { retryAfterSeconds: 1 });
