import type { Socket } from 'node:net';
import { Gathered } from '../../wire/http1/gathered.ts';
import { readProxyHeader } from '../../wire/server/proxy-header.ts';

/**
 * Reads the header of the PROXY protocol, with which every connection begins that a load balancer makes,
 * before TLS where there is any. Resolves with the address that it tells, where it tells one; the bytes
 * behind it stand in the socket to be read. Rejects for whatever is no header in time.
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
