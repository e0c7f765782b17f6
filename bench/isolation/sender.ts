// What one agent sends as fast as it is answered, over several connections, until it is ended. Started by `bench/isolation.ts`.
import { setPriority } from 'node:os';
import { openSecureTunnel, send } from '../../test/support/clients.ts';
import { contents } from './contents.ts';

export interface SenderOrder {
  readonly target: Parameters<typeof openSecureTunnel>[0];
  readonly content: string;
  readonly connections: number;
}

// It stands for another machine: it must not take the processor from the gate that is measured.
setPriority(10);
const statuses = new Map<number, number>();

process.on('message', ({ target, content, connections }: SenderOrder) => {
  const made = contents.get(content)?.();
  if (!made) throw new Error(`there is no content ${content}`);
  const { body, contentType, contentEncoding } = made;
  const headers = {
    host: 'api.test.example',
    'content-type': contentType,
    ...(contentEncoding ? { 'content-encoding': contentEncoding } : {}),
    'content-length': body.length,
  };
  process.send?.({});
  const run = async (): Promise<never> => {
    for (;;) {
      const socket = await openSecureTunnel(target);
      while (!socket.destroyed) {
        const { status } = await send(socket, {
          method: 'POST',
          path: '/large',
          headers,
          body,
        }).catch(() => ({
          status: 0,
        }));
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        process.send?.(Object.fromEntries(statuses));
        if (status === 0) break;
      }
    }
  };
  for (let i = 0; i < connections; i++) void run();
});
