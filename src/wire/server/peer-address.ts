import type { Socket } from 'node:net';

/** Addresses that a load balancer has told, by connection. */
const told = new WeakMap<Socket, string>();

/** From now on this is the address that the connection comes from. */
export function tellPeerAddress(socket: Socket, address: string): void {
  told.set(socket, address);
}

/** Returns the address of the client: of the load balancer, else the socket; '' if closed. */
export const peerAddress = (socket: Socket): string => told.get(socket) ?? socket.remoteAddress ?? '';
