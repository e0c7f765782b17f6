import type { Socket } from 'node:net';

/** Of connections that came by way of a load balancer which told the address of its client. */
const told = new WeakMap<Socket, string>();

/** From now on this is the address that the connection comes from. */
export function tellPeerAddress(socket: Socket, address: string): void {
  told.set(socket, address);
}

/** Where a connection comes from: what was told of it, else what the socket says; '' where it is closed already. */
export const peerAddress = (socket: Socket): string => told.get(socket) ?? socket.remoteAddress ?? '';
