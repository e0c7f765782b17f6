import { once } from 'node:events';
import { createServer, get, type IncomingMessage } from 'node:http';
import { type AddressInfo, connect, createServer as createNetServer, type Socket } from 'node:net';
import type { Message, Reading } from './read-messages.ts';

/** What node's own server and client read in the same bytes, with real connections between. */

const listening = async (server: { listen(port: number, host: string): unknown; address(): unknown }) => {
  server.listen(0, '127.0.0.1');
  await once(server as never, 'listening');
  return (server.address() as AddressInfo).port;
};

const collected = (message: IncomingMessage, start: string[], done: (message: Message) => void): void => {
  let body = '';
  message.on('data', (data: Buffer) => {
    body += data.toString('latin1');
  });
  message.on('end', () => {
    done({ start, fields: message.rawHeaders, body, trailers: message.rawTrailers });
  });
};

const codeOf = (error: Error & { code?: string }): string => error.code ?? error.message;

/** Each text is all that its connection brings. */
export async function readRequestsWithNode(texts: readonly string[]): Promise<Reading[]> {
  /** By the port of the client's end. */
  const readings = new Map<number | undefined, Reading>();
  const server = createServer({ requireHostHeader: false }, (request, response) => {
    const reading = readings.get(request.socket.remotePort);
    collected(request, [request.method ?? '', request.url ?? ''], (message) => {
      reading?.messages.push(message);
      response.end();
    });
    request.on('error', () => response.destroy());
  });
  // Else the end of what the client sends would abort the requests before it.
  Object.assign(server, { httpAllowHalfOpen: true });
  server.on('clientError', (error, socket) => {
    const reading = readings.get((socket as Socket).remotePort);
    if (reading) reading.refusal ||= codeOf(error);
    socket.destroy();
  });
  const port = await listening(server);
  try {
    return await inBatches(texts, async (text) => {
      const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
      socket.on('error', () => {});
      await once(socket, 'connect');
      const reading: Reading = { messages: [], refusal: '' };
      const own = socket.localPort;
      readings.set(own, reading);
      socket.resume();
      socket.end(text, 'latin1');
      await once(socket, 'close');
      readings.delete(own);
      return reading;
    });
  } finally {
    server.close();
  }
}

/** Each text is all that its connection answers before it is closed; only the first final answer is read. */
export async function readResponsesWithNode(texts: readonly string[]): Promise<Reading[]> {
  const server = createNetServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', (request) => {
      const index = Number(/\d+/.exec(request.toString('latin1'))?.[0]);
      socket.end(texts[index] ?? '', 'latin1');
    });
  });
  const port = await listening(server);
  try {
    return await inBatches(texts, async (_text, index) => {
      const reading: Reading = { messages: [], refusal: '' };
      const request = get({ port, host: '127.0.0.1', path: `/${index}`, agent: false });
      const stop = (error: Error): void => {
        reading.refusal ||= codeOf(error);
        request.destroy();
      };
      request.on('error', stop);
      request.on('response', (response) => {
        collected(response, [String(response.statusCode)], (message) => {
          if (response.complete) reading.messages.push(message);
        });
        response.on('error', stop);
      });
      await once(request, 'close').catch(() => {});
      return reading;
    });
  } finally {
    server.close();
  }
}

const batchSize = 32;

async function inBatches(
  texts: readonly string[],
  read: (text: string, index: number) => Promise<Reading>,
): Promise<Reading[]> {
  const readings: Reading[] = [];
  for (let at = 0; at < texts.length; at += batchSize) {
    const batch = texts.slice(at, at + batchSize);
    readings.push(...(await Promise.all(batch.map((text, i) => read(text, at + i)))));
  }
  return readings;
}
