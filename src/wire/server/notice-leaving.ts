import type { Socket } from 'node:net';

/**
 * Closes a connection that nobody reads when its client closes its side: what is done for it must not go on
 * for nobody. Answers what ends that, and is to be called before the connection is read. Once the client has
 * sent bytes nothing more is read, and of its leaving nothing is known.
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
