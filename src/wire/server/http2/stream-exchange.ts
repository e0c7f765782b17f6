import { constants, type ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { type GatewayError, toGatewayError } from '../../../core/errors.ts';
import { acceptOf, isKey, keyIn } from '../../websocket/handshake.ts';
import { type BodyBounds, BodyCollector } from '../collect.ts';
import type { Collected, Exchange, Flow, Receiver } from '../exchange.ts';
import { cutShort, tooSlow } from '../request-problems.ts';
import type { AllowedTicks } from '../serving-context.ts';
import { StreamAnswer } from './stream-answer.ts';
import type { StreamRequest } from './stream-request.ts';

/** Reads a request on a stream of HTTP/2, and answers it. */
export class StreamExchange implements Exchange {
  readonly method: string;
  readonly target: string;
  readonly fields: readonly string[];
  readonly hasBody: boolean;
  readonly socket: Socket;
  readonly answer: StreamAnswer;
  readonly stream: ServerHttp2Stream;
  readonly #request: StreamRequest;
  readonly #clock: { readonly tick: number };
  /** Tick at which the stream began, or its answer was whole. */
  #sinceTick: number;
  #failBody: ((error: GatewayError) => void) | undefined;
  #bodyTimeoutMs: number | undefined;
  #receiver: Receiver | undefined;
  #isReceived = false;
  /** Tells whether the rest of a refused body is read and dropped. */
  #isDropping = false;
  /** Tick since which the receiver has waited for the end of the same message. */
  #midwayTick = 0;
  /** Messages that were whole at `#midwayTick`. */
  #messages = 0;

  constructor(
    stream: ServerHttp2Stream,
    request: StreamRequest,
    socket: Socket,
    clock: { readonly tick: number },
  ) {
    this.method = request.method;
    this.target = request.target;
    this.fields = request.fields;
    this.hasBody = !request.isConnect && !stream.endAfterHeaders;
    this.socket = socket;
    this.answer = new StreamAnswer(stream, request.method === 'HEAD');
    this.stream = stream;
    this.#request = request;
    this.#clock = clock;
    this.#sinceTick = clock.tick;
    stream.once('finish', () => {
      this.#sinceTick = clock.tick;
    });
  }

  /**
   * Ends what is late; it is called at every tick. Times are those of a body or of each message, and of a
   * client that does not take its answer.
   */
  checkDeadline({ request, idle, lingerInAll }: AllowedTicks): void {
    // Node keeps a closed stream, and its connection with it, until the rest of the stream is read. Nobody
    // reads it any more, so it is destroyed.
    if (this.stream.closed) {
      this.stream.destroy();
      return;
    }
    const ticks = this.#clock.tick - this.#sinceTick;
    if (this.#receiver) this.#checkMessage(this.#receiver, request());
    if (this.#failBody && ticks >= request(this.#bodyTimeoutMs)) this.#failBody(tooSlow());
    else if (!this.answer.writableEnded) return;
    else if (this.#isDropping && !this.stream.readableEnded && ticks < lingerInAll) return;
    else if (this.#isAnsweredEarly) this.stream.close(constants.NGHTTP2_NO_ERROR);
    else if (ticks >= idle) this.stream.close(constants.NGHTTP2_CANCEL);
  }

  /** Collects the body. An empty one has ended by itself where its end came before the turn of the stream. */
  collect(bounds: BodyBounds, { done, failed }: Collected): void {
    const stream = this.stream;
    const { contentLength, expectsContinue } = this.#request;
    let body: BodyCollector;
    try {
      body = new BodyCollector(bounds, contentLength);
    } catch (error) {
      failed(toGatewayError(error));
      return;
    }
    if (expectsContinue) stream.additionalHeaders({ ':status': 100 });
    const stop = (): void => {
      this.#failBody = undefined;
      stream.off('data', onData).off('end', onEnd).off('aborted', onAborted);
    };
    const fail = (error: GatewayError): void => {
      stop();
      // Nothing of it is kept, though the stream may go on for a while.
      bounds.room?.keep(0);
      failed(error);
    };
    const onData = (chunk: Buffer): void => {
      const problem = body.add(chunk);
      if (problem) fail(problem);
    };
    const onEnd = (): void => {
      stop();
      done(body.take());
    };
    const onAborted = (): void => fail(cutShort());
    this.#failBody = fail;
    this.#bodyTimeoutMs = bounds.timeoutMs;
    stream.on('data', onData).on('end', onEnd).on('aborted', onAborted);
    if (stream.readableEnded) process.nextTick(onEnd);
  }

  get maySwitch(): boolean {
    return this.#request.isConnect;
  }

  /**
   * Answers with status 200 and hands over the stream. The key and its answer are for connections that have
   * spoken HTTP/1.1 (RFC 8441, 5). But the WebSocket of Node 26 sends a key on a stream, too, and waits for
   * its answer.
   */
  switchProtocols(fields: readonly string[]): Duplex {
    const key = keyIn(this.fields);
    this.answer.writeHead(200, isKey(key) ? [...fields, 'sec-websocket-accept', acceptOf(key)] : [...fields]);
    this.answer.flushHeaders();
    return this.stream;
  }

  receive(into: Receiver): Flow {
    const stream = this.stream;
    if (this.#request.expectsContinue) stream.additionalHeaders({ ':status': 100 });
    const stop = (): void => {
      this.#receiver = undefined;
      stream.off('data', onData).off('end', onEnd).off('aborted', onAborted);
    };
    const onData = (chunk: Buffer): void => into.data(chunk);
    const onEnd = (): void => {
      stop();
      into.ended();
    };
    const onAborted = (): void => {
      stop();
      into.failed(cutShort());
    };
    this.#receiver = into;
    this.#isReceived = true;
    this.#midwayTick = this.#clock.tick;
    stream.on('data', onData).on('end', onEnd).on('aborted', onAborted);
    if (stream.readableEnded) process.nextTick(onEnd);
    return stream;
  }

  #checkMessage(receiver: Receiver, allowedTicks: number): void {
    const { messages, isMidway } = receiver;
    if (!isMidway || messages !== this.#messages) {
      this.#messages = messages;
      this.#midwayTick = this.#clock.tick;
    } else if (this.#clock.tick - this.#midwayTick >= allowedTicks) {
      this.#receiver = undefined;
      receiver.failed(tooSlow());
    }
  }

  /**
   * Tells whether the client need not send the rest of its request, since its answer has gone out (RFC 9113,
   * 8.1). It is asked at a tick, and not at once, because a reset drops what waits to be written.
   */
  get #isAnsweredEarly(): boolean {
    const { stream } = this;
    const isSent = this.answer.endsWithHead || stream.sentTrailers !== undefined;
    return isSent && !stream.readableEnded && stream.session?.state.outboundQueueSize === 0;
  }

  refuse(status: number, fields: string[], body: Buffer): void {
    this.answer.writeHead(status, fields);
    this.answer.end(body);
    // A client of gRPC stops sending when its stream is reset.
    if (this.#isReceived) return;
    // Clients that wait for room to send (httpx, the client of Java) do not read the answer before.
    this.#isDropping = true;
    this.stream.resume();
  }
}
