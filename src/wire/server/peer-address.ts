import type { Socket } from 'node:net';

/** Addresses that a load balancer has told, by connection. */
const told = new WeakMap<Socket, string>();

/** From now on this is the address that the connection comes from. */
export function tellPeerAddress(socket: Socket, address: string): void {
  told.set(socket, address);
}

/** The address of the client: from the load balancer, else from the socket; '' where it is closed already. */
export const peerAddress = (socket: Socket): string => told.get(socket) ?? socket.remoteAddress ?? '';
