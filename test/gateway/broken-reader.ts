import { isMainThread, parentPort } from 'node:worker_threads';

/*
 * Preloaded into a daemon: its reader threads break at what they are told to break at, as a pattern or a decoder with a bug would.
 */
if (!isMainThread && parentPort) {
  const port = parentPort;
  const on = port.on.bind(port);
  const breaking = (listener: (message: unknown) => void) => (message: { input?: { body?: Uint8Array } }) => {
    const { body } = message.input ?? {};
    const text = body ? Buffer.from(body).toString('latin1') : '';
    if (text.includes('never end')) for (;;);
    if (text.includes('die')) process.exit(1);
    listener(message);
  };
  Object.assign(port, {
    on: (name: string, listener: (message: unknown) => void) =>
      on(name as 'message', name === 'message' ? breaking(listener) : listener),
  });
}
