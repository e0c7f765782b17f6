import type { Socket } from 'node:net';

/**
 * Closes a connection that nobody reads when its client closes its side: what is done for the client must not
 * go on for nobody. Returns a function that ends the watch; call it before anybody reads the connection. Once
 * the client has sent bytes, the watch is over, and its leaving is not noticed.
 */
export function noticeLeaving(socket: Socket): () => void {
  const onReadable = (): void => {
    const chunk: Buffer | null = socket.read();
    if (chunk === null) {
      socket.destroy();
      return;
    }
    socket.off('readable', onReadable);
    socket.unshift(chunk);
  };
  socket.on('readable', onReadable);
  return () => socket.off('readable', onReadable);
}
