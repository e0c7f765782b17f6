import type { Socket } from 'node:net';

/** Addresses that a load balancer has told, by connection. */
const told = new WeakMap<Socket, string>();

/** Notes the address that a connection comes from, as its load balancer told it. */
export function tellPeerAddress(socket: Socket, address: string): void {
  told.set(socket, address);
}

/**
 * Returns the address of the client: the one that a load balancer told, else that of the socket; '' where the
 * socket is closed.
 */
export const peerAddress = (socket: Socket): string => told.get(socket) ?? socket.remoteAddress ?? '';
