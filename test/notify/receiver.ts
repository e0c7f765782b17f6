import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';

interface Test {
  teardown(close: () => void | Promise<void>): void;
}

/** One request as a destination has received it. */
export interface Received {
  readonly id: string;
  readonly type: string;
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: payloads are looked into field by field
  readonly body: any;
}

/** What a destination does with a request: a status, perhaps with headers, or it never answers, or closes the connection. */
export type Answer =
  | number
  | 'hang'
  | 'close'
  | { readonly status: number; readonly headers: http.OutgoingHttpHeaders };

export interface Receiver {
  readonly url: string;
  /** In the order in which they came. */
  readonly received: readonly Received[];
  /** Those that were answered with success. */
  taken(): readonly Received[];
  /** From now on. */
  answer(next: (nth: number, received: Omit<Received, 'status'>) => Answer): void;
  /** Nobody listens there any more. */
  die(): Promise<void>;
  /** On the same port again. */
  comeBack(): Promise<void>;
}

/** A real HTTP server on loopback; it ends with the test. */
export async function startReceiver(t: Test): Promise<Receiver> {
  const received: Received[] = [];
  let answerWith: Parameters<Receiver['answer']>[0] = () => 204;
  let port = 0;
  let server = http.createServer();

  async function open(): Promise<void> {
    server = http.createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const body = JSON.parse(Buffer.concat(chunks).toString());
        const base = { id: String(request.headers['webhook-id'] ?? ''), type: body.type ?? '', body };
        const answer = answerWith(received.length + 1, base);
        const status = typeof answer === 'number' ? answer : typeof answer === 'object' ? answer.status : 0;
        received.push({ ...base, status });
        if (answer === 'close') request.socket.destroy();
        if (status > 0) response.writeHead(status, typeof answer === 'object' ? answer.headers : {}).end();
      });
    });
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    port = (server.address() as AddressInfo).port;
  }

  async function die(): Promise<void> {
    if (!server.listening) return;
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
  }

  await open();
  t.teardown(die);
  return {
    url: `http://127.0.0.1:${port}/hook`,
    received,
    taken: () => received.filter((it) => it.status >= 200 && it.status < 300),
    answer(next) {
      answerWith = next;
    },
    die,
    comeBack: open,
  };
}
