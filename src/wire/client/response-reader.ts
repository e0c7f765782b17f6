import { BodyReader, chunked, untilClose } from '../http1/body.ts';
import { isPersistent, type ResponseHead } from '../http1/head.ts';
import { ResponseHeadReader } from '../http1/response-head-reader.ts';
import type { Outgoing } from './carrier.ts';
import { isUnderway } from './connection-auth.ts';
import { keptMs } from './keep-alive.ts';

/** Reads the answers of one connection, one after the other: each its head, then its body. */
export class ResponseReader {
  /** Milliseconds that the connection may wait for its next request, as the last head says. */
  keptMs: number;
  /** Tells whether another answer may follow this one. */
  isPersistent = true;
  readonly #unhintedKeptMs: number;
  #isHeadRequest = false;
  #maySwitch = false;
  #isLast = false;
  #isAuthenticating = false;
  #headReader = new ResponseHeadReader();
  #body: BodyReader | undefined;

  constructor(unhintedKeptMs: number) {
    this.keptMs = unhintedKeptMs;
    this.#unhintedKeptMs = unhintedKeptMs;
  }

  /** Notes which request the next answer is to. */
  expect({ method, isWebSocket, isAlone, isAuthenticating }: Outgoing): void {
    this.#isHeadRequest = method === 'HEAD';
    this.#maySwitch = isWebSocket;
    this.#isLast = isAlone;
    this.#isAuthenticating = isAuthenticating;
  }

  get isInBody(): boolean {
    return this.#body !== undefined;
  }

  get isDone(): boolean {
    return this.#body?.isDone ?? false;
  }

  /** Tells whether the answer is whole if the connection ends here. */
  get mayEndHere(): boolean {
    return this.#body?.mayEndHere ?? false;
  }

  /** Returns the head once it is whole; `takeRest` gives what came behind it. */
  readHead(bytes: Buffer): ResponseHead | undefined {
    const head = this.#headReader.read(bytes, this.#maySwitch);
    // Behind a switch of protocols stands no body.
    if (!head || head.status === 101) return head;
    const length = bodyLength(head, this.#isHeadRequest);
    const isTaken = this.#isLast || (this.#isAuthenticating && !isUnderway(head));
    this.isPersistent = isPersistent(head) && length !== untilClose && !isTaken;
    this.keptMs = keptMs(head.fields, this.#unhintedKeptMs);
    this.#body = new BodyReader(length);
    return head;
  }

  takeRest(): Buffer {
    const { rest } = this.#headReader;
    // The next answer has a new reader; this one holds on to the bytes that it read.
    this.#headReader = new ResponseHeadReader();
    return rest;
  }

  /** Hands on the content in these bytes. Returns where the answer ends, or their length where it goes on. */
  readBody(bytes: Buffer, handOn: (chunk: Buffer) => void): number {
    return (this.#body as BodyReader).read(bytes, 0, handOn);
  }

  /** Returns the trailers of the answer, and reads the next one from now on. */
  finish(): readonly string[] {
    const trailers = this.#body?.trailers ?? [];
    this.#body = undefined;
    return trailers;
  }
}

/** Returns the length of the body in bytes, or by what it ends (RFC 9112, 6.3). */
function bodyLength(head: ResponseHead, isHeadRequest: boolean): number {
  if (isHeadRequest || head.status === 204 || head.status === 304) return 0;
  if (head.isChunked) return chunked;
  return head.contentLength >= 0 ? head.contentLength : untilClose;
}
