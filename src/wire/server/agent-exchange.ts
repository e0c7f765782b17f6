import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Answer } from '../http1/answer.ts';
import { fieldOf } from '../http1/field.ts';
import type { ParsedRequestHead } from '../http1/head.ts';
import type { BodyBounds } from './collect.ts';
import type { Collected, Exchange, Flow, Receiver } from './exchange.ts';
import { switchingHead } from './switching-head.ts';

/** The parts of a connection that an exchange needs. */
export interface RequestLine {
  readonly socket: Socket;
  /** Collects the body of the request. It does nothing where `head` is not the one that is being answered. */
  collect(head: ParsedRequestHead, bounds: BodyBounds, into: Collected): void;
  /** Hands the body on as it comes. It does nothing where `head` is not the one that is being answered. */
  receive(head: ParsedRequestHead, into: Receiver): Flow;
  /** Writes the head of the last answer and lets go of the connection, for another protocol. */
  handOver(head: string): Duplex;
}

/** Reads a request on an `AgentConnection`, and answers it. */
export class AgentExchange implements Exchange {
  readonly answer: Answer;
  readonly #line: RequestLine;
  readonly #head: ParsedRequestHead;

  constructor(line: RequestLine, head: ParsedRequestHead, answer: Answer) {
    this.#line = line;
    this.#head = head;
    this.answer = answer;
  }

  get method(): string {
    return this.#head.method;
  }

  get target(): string {
    return this.#head.target;
  }

  get fields(): readonly string[] {
    return this.#head.fields;
  }

  get hasBody(): boolean {
    return this.#head.isChunked || this.#head.contentLength > 0;
  }

  get socket(): Socket {
    return this.#line.socket;
  }

  collect(bounds: BodyBounds, into: Collected): void {
    this.#line.collect(this.#head, bounds, into);
  }

  receive(into: Receiver): Flow {
    return this.#line.receive(this.#head, into);
  }

  refuse(status: number, fields: string[], body: Buffer): void {
    this.answer.writeHead(status, fields);
    this.answer.end(body);
  }

  /** Tells whether the client may ask for another protocol. Over HTTP/1.0 it may not (RFC 9110, 7.8). */
  get maySwitch(): boolean {
    return !this.#head.isHttp10;
  }

  switchProtocols(fields: readonly string[]): Duplex {
    return this.#line.handOver(switchingHead(this.fields, fields));
  }
}

/** Returns the client's expectation in lower case, or ''. HTTP/1.0 has none (RFC 9110, 10.1.1). */
export const expectation = ({ fields, isHttp10 }: ParsedRequestHead): string =>
  isHttp10 ? '' : fieldOf(fields, 'expect').toLowerCase();
