import type { Socket } from 'node:net';
import { Gathered } from '../../wire/http1/gathered.ts';
import { readProxyHeader } from '../../wire/server/proxy-header.ts';

/**
 * Reads the header of the PROXY protocol, which a load balancer puts before every connection, and before TLS.
 * Resolves with the address in it; undefined where it has none. The bytes behind it stay in the socket.
 * Rejects where no header comes in time.
 */
export function readToldAddress(socket: Socket, timeoutMs: number): Promise<string | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<string | undefined>();
  const gathered = new Gathered();
  const settle = (): void => {
    clearTimeout(timer);
    socket.off('readable', onReadable).off('end', fail).off('close', fail);
  };
  const fail = (): void => {
    settle();
    reject(new Error('The connection does not begin with a PROXY header.'));
  };
  const onReadable = (): void => {
    let header: ReturnType<typeof readProxyHeader>;
    while (!header) {
      const chunk: Buffer | null = socket.read();
      if (!chunk) return;
      gathered.add(chunk);
      header = readProxyHeader(gathered.peek());
    }
    if (header === 'malformed') fail();
    else {
      settle();
      const rest = gathered.take().subarray(header.length);
      if (rest.length > 0) socket.unshift(rest);
      resolve(header.address);
    }
  };
  const timer = setTimeout(fail, timeoutMs);
  socket.on('readable', onReadable).on('end', fail).on('close', fail);
  return promise;
}
