import { isMainThread, parentPort } from 'node:worker_threads';
import { unpackInput } from '../../src/inspect/threads/crossing.ts';
import type { ToThread } from '../../src/inspect/threads/messages.ts';

/*
 * Preloaded into a daemon: its reader threads break at what they are told to break at, as a pattern or a decoder with a bug would.
 */
if (!isMainThread && parentPort) {
  const port = parentPort;
  const on = port.on.bind(port);
  let memory = new SharedArrayBuffer(0);
  const breaking = (listener: (message: unknown) => void) => (message: ToThread) => {
    if ('name' in message) {
      memory = message.memory ?? memory;
      const { body } = unpackInput(message.input, memory) as { body?: Buffer };
      if (body?.includes('never end')) for (;;);
      if (body?.includes('die')) process.exit(1);
    }
    listener(message);
  };
  Object.assign(port, {
    on: (name: string, listener: (message: unknown) => void) =>
      on(name as 'message', name === 'message' ? breaking(listener) : listener),
  });
}
