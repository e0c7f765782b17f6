import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { BodyCollector, tooLarge } from './collect.ts';
import type { Collected, Exchange, Flow, Receiver } from './exchange.ts';
import { cutShort } from './request-problems.ts';
import { switchingHead } from './switching-head.ts';

const noBytes = Buffer.alloc(0);

/** A connection that asks for an upgrade, and of which Node's server has let go. */
export interface Upgrading {
  /** What came behind the request. */
  readonly early: Buffer;
  /** To be called before the connection is read. */
  letAlone(): void;
}

/** A request and its answer where Node's server speaks HTTP. */
export class NodeExchange implements Exchange {
  readonly request: IncomingMessage;
  readonly answer: ServerResponse;
  readonly method: string;
  readonly target: string;
  readonly fields: readonly string[];
  readonly hasBody: boolean;
  readonly #contentLength: number;
  readonly #awaitsContinue: boolean;
  readonly #upgrading: Upgrading | undefined;

  /** `awaitsContinue`: the client holds its body back until it is asked for it (RFC 9110, 10.1.1). */
  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    awaitsContinue: boolean,
    upgrading?: Upgrading,
  ) {
    this.request = request;
    this.answer = response;
    this.method = request.method ?? 'GET';
    this.target = request.url ?? '/';
    this.fields = request.rawHeaders;
    this.#contentLength = Number(request.headers['content-length'] ?? -1);
    this.hasBody = this.#contentLength > 0 || request.headers['transfer-encoding'] !== undefined;
    this.#awaitsContinue = awaitsContinue;
    this.#upgrading = upgrading;
    request.on('error', () => response.destroy());
  }

  /**
   * Whether the parser of the tunnels would read it as Node's does: as HTTP/1.0 or 1.1, which Node takes for 0.9 and 2.0 too, and its body
   * in one `chunked`, which HTTP/1.0 does not have.
   */
  get isFramedAlike(): boolean {
    const { headers, httpVersionMajor, httpVersionMinor } = this.request;
    if (httpVersionMajor !== 1) return false;
    const coding = headers['transfer-encoding'];
    return coding === undefined || (coding.toLowerCase() === 'chunked' && httpVersionMinor === 1);
  }

  get socket(): Socket {
    return this.request.socket;
  }

  collect(bytesMax: number, { done, failed }: Collected): void {
    const { request } = this;
    if (this.#contentLength > bytesMax) {
      request.pause();
      failed(tooLarge(this.#contentLength, bytesMax));
      return;
    }
    if (this.#awaitsContinue) this.answer.writeContinue();
    const body = new BodyCollector(bytesMax, this.#contentLength);
    const onData = (chunk: Buffer): void => {
      body.add(chunk);
      if (!body.isOver) return;
      request.off('data', onData);
      request.off('end', onEnd);
      request.pause();
      failed(body.tooLarge());
    };
    const onEnd = (): void => done(body.take());
    request.on('data', onData);
    request.on('end', onEnd);
  }

  /** How long all of the body may take is the server's affair (`requestTimeout`), and so no message has a time of its own. */
  receive(into: Receiver): Flow {
    const { request, answer } = this;
    if (this.#awaitsContinue) answer.writeContinue();
    let isOver = false;
    const end = (then: () => void): void => {
      if (isOver) return;
      isOver = true;
      then();
    };
    request.on('data', (chunk: Buffer) => into.data(chunk));
    request.on('end', () => end(() => into.ended()));
    request.on('close', () => end(() => into.failed(cutShort())));
    // What is not read any more would keep the connection for ever.
    answer.once('finish', () => {
      if (!request.complete) request.destroy();
    });
    return request;
  }

  get maySwitch(): boolean {
    return this.#upgrading !== undefined;
  }

  switchProtocols(fields: readonly string[]): Duplex {
    const { socket } = this;
    const head = switchingHead(this.fields, fields);
    const { early = noBytes } = this.#upgrading ?? {};
    this.#upgrading?.letAlone();
    socket.pause();
    if (early.length > 0) socket.unshift(early);
    socket.write(head, 'latin1');
    return socket;
  }

  refuse(status: number, fields: string[], body: Buffer): void {
    const { request, answer } = this;
    // While a handler runs, even a request without a body is not `complete` yet.
    if (this.hasBody && !request.complete) {
      answer.shouldKeepAlive = false;
      answer.once('finish', () => request.destroy());
    }
    answer.writeHead(status, fields);
    answer.end(body);
  }
}
