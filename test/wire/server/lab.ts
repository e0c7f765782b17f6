import { once } from 'node:events';
import net, { type AddressInfo } from 'node:net';
import { type AgentConnections, createAgentConnections } from '../../../src/wire/server/agent-connections.ts';
import type { Exchange } from '../../../src/wire/server/exchange.ts';
import { answerProblem } from '../../../src/wire/server/problem.ts';
import type { ConnectionLimits } from '../../../src/wire/server/serving-context.ts';

/* Agent connections behind a bare listener, and clients that write bytes. */

interface Test {
  teardown(close: () => void): void;
}

export interface SeenRequest {
  readonly method: string;
  readonly target: string;
  readonly fields: readonly string[];
  readonly body: Buffer;
}

export type Handler = (exchange: Exchange, body: Buffer) => void;

/** Exchanges that a test answers when it wants to. */
export interface Held {
  readonly hold: Handler;
  /** The next one; waits for it. */
  next(): Promise<Exchange>;
  /** Those that nobody has asked for. */
  readonly waiting: readonly Exchange[];
}

export function createHeld(): Held {
  const waiting: Exchange[] = [];
  const asked: ((exchange: Exchange) => void)[] = [];
  return {
    waiting,
    hold(exchange) {
      const ask = asked.shift();
      if (ask) ask(exchange);
      else waiting.push(exchange);
    },
    async next() {
      return waiting.shift() ?? (await new Promise((resolve) => asked.push(resolve)));
    },
  };
}

export interface Lab {
  readonly connections: AgentConnections;
  /** Those whose body was read to its end. */
  readonly requests: SeenRequest[];
  connect(): Client;
  /** The same, once it is served. */
  connected(): Promise<Client>;
  /** Our end of the connection that was opened last. */
  serverSocket(): net.Socket;
}

export interface LabOptions {
  readonly limits?: Partial<ConnectionLimits>;
  readonly bodyBytesMax?: number;
  /** Called when the body is there; answers with its size unless told otherwise. */
  readonly onRequest?: Handler;
  /** Instead of all that: called when the head is there. */
  readonly onHead?: (exchange: Exchange) => void;
}

export const roomyLimits: ConnectionLimits = {
  maxHeaderBytes: 16_384,
  maxHeaders: 50,
  headerTimeoutMs: 60_000,
  bodyTimeoutMs: 60_000,
  idleTimeoutMs: 60_000,
};

export const answerText = (exchange: Exchange, text: string): void => {
  exchange.answer.writeHead(200, ['Content-Length', String(Buffer.byteLength(text))]);
  exchange.answer.end(Buffer.from(text));
};

const answerSize: Handler = (exchange, body) =>
  answerText(exchange, `${exchange.method} ${exchange.target} ${body.length}`);

export async function startLab(t: Test, options: LabOptions = {}): Promise<Lab> {
  const { bodyBytesMax = 1 << 20, onRequest = answerSize } = options;
  const limits = { ...roomyLimits, ...options.limits };
  const connections = createAgentConnections(() => limits);
  const requests: SeenRequest[] = [];
  const sockets = new Set<net.Socket>();
  let last: net.Socket | undefined;
  const collect = (exchange: Exchange): void =>
    exchange.collect(
      { bytesMax: bodyBytesMax },
      {
        done(body) {
          const { method, target, fields } = exchange;
          requests.push({ method, target, fields, body });
          onRequest(exchange, body);
        },
        failed: (error) => answerProblem(exchange, error, []),
      },
    );
  // As the proxy's own listener, which leaves it to HTTP when a side is closed.
  const server = net.createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    last = socket;
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    connections.serve(socket, options.onHead ?? collect);
  });
  server.listen(0, '127.0.0.1');
  t.teardown(() => {
    connections.close();
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const connect = (): Client => {
    const client = new Client(port);
    t.teardown(() => client.socket.destroy());
    return client;
  };
  return {
    connections,
    requests,
    connect,
    async connected() {
      const served = once(server, 'connection');
      const client = connect();
      await served;
      return client;
    },
    serverSocket() {
      if (!last) throw new Error('nobody has connected yet');
      return last;
    },
  };
}

/** A client that writes bytes and keeps what comes back. It does not close its side because the server does. */
export class Client {
  readonly socket: net.Socket;
  /** In latin1. */
  received = '';
  /** The server's side is closed, cleanly or not. */
  readonly ended: Promise<void>;
  #waiting: (() => void)[] = [];

  constructor(port: number) {
    this.socket = net.connect({ port, host: '127.0.0.1', allowHalfOpen: true, noDelay: true });
    this.socket.on('data', (chunk) => {
      this.received += chunk.toString('latin1');
      this.#wake();
    });
    // A reset is one way for a server to close.
    this.socket.on('error', () => this.socket.destroy());
    this.ended = new Promise((resolve) => {
      this.socket.once('end', resolve);
      this.socket.once('close', () => resolve());
    });
    this.ended.then(
      () => this.#wake(),
      () => undefined,
    );
  }

  write(bytes: string | Buffer): this {
    this.socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes);
    return this;
  }

  /** Writes byte by byte, each in a packet of its own as far as the kernel allows. */
  async trickle(bytes: string): Promise<void> {
    for (const byte of Buffer.from(bytes, 'latin1')) {
      await new Promise((resolve) => this.socket.write(Buffer.of(byte), resolve));
    }
  }

  /** All that came when it contains `text`; rejects where the server closes before. */
  async until(text: string): Promise<string> {
    let isOver = false;
    this.ended.then(
      () => {
        isOver = true;
      },
      () => undefined,
    );
    while (!this.received.includes(text)) {
      if (isOver) throw new Error(`the server closed after ${JSON.stringify(this.received)}`);
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
    return this.received;
  }

  /** All that came when the server has closed its side. */
  async all(): Promise<string> {
    await this.ended;
    return this.received;
  }

  #wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

export interface ReadAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Whole answers that follow each other, by their lengths or chunks; throws where they do not come out even. */
export function readAnswers(text: string): ReadAnswer[] {
  const answers: ReadAnswer[] = [];
  for (let rest = text; rest !== ''; ) {
    const end = rest.indexOf('\r\n\r\n');
    const [line = '', ...lines] = rest.slice(0, end).split('\r\n');
    const status = Number(/^HTTP\/1\.1 (\d{3})(?: |$)/.exec(line)?.[1]);
    if (end < 0 || !status) throw new Error(`no answer begins with ${JSON.stringify(rest.slice(0, 40))}`);
    const headers = Object.fromEntries(
      lines.map((it) => [it.slice(0, it.indexOf(':')).toLowerCase(), it.slice(it.indexOf(':') + 2)]),
    );
    rest = rest.slice(end + 4);
    const isChunked = headers['transfer-encoding'] === 'chunked';
    const size = isChunked ? chunksSize(rest) : Number(headers['content-length'] ?? 0);
    if (rest.length < size) throw new Error('the last answer is cut');
    const body = rest.slice(0, size);
    answers.push({ status, headers, body: isChunked ? joinChunks(body) : body });
    rest = rest.slice(size);
  }
  return answers;
}

function chunksSize(text: string): number {
  const last = /(?:^|\r\n)0\r\n(?:[^\r\n]+\r\n)*\r\n/.exec(text);
  if (!last) throw new Error('the last chunk is missing');
  return last.index + last[0].length;
}

function joinChunks(text: string): string {
  let body = '';
  for (let at = 0; ; ) {
    const lineEnd = text.indexOf('\r\n', at);
    const size = Number.parseInt(text.slice(at, lineEnd), 16);
    if (size === 0) return body;
    body += text.slice(lineEnd + 2, lineEnd + 2 + size);
    at = lineEnd + 2 + size + 2;
  }
}
