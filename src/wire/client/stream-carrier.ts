import { type ClientHttp2Session, type ClientHttp2Stream, constants } from 'node:http2';
import { toAuthority } from '../../core/target.ts';
import type { ResponseHead } from '../http1/head.ts';
import { interimMax } from '../http1/response-head-reader.ts';
import type { Carrier, Outgoing, ResponseHandler, StreamedBody } from './carrier.ts';
import { ConnectionEnded, MalformedStream } from './failures.ts';
import { pieceBytesMax } from './request-sender.ts';

/** Says that the upstream does not take WebSocket over HTTP/2 (RFC 8441, 3). */
export class NoWebSocket extends MalformedStream {
  constructor() {
    super('It does not take WebSocket over HTTP/2.');
  }
}

/** Carries one request on a stream of HTTP/2 (RFC 9113, 8.1). */
export class StreamCarrier implements Carrier {
  /** Number of pieces of the body that have left. Other streams of the session do not count. */
  moves = 0;
  readonly #session: ClientHttp2Session;
  readonly #onClosed: () => void;
  #stream: ClientHttp2Stream | undefined;
  #exchange: ResponseHandler | undefined;
  #hasBegun = false;
  #interimHeads = 0;
  /** Tells whether the upstream has said that nothing follows. */
  #isWhole = false;
  #trailers: readonly string[] = [];
  #maySwitch = false;

  /** Calls `onClosed` once, when the session has room for another stream. */
  constructor(session: ClientHttp2Session, onClosed: () => void) {
    this.#session = session;
    this.#onClosed = onClosed;
  }

  ask(outgoing: Outgoing, exchange: ResponseHandler): void {
    this.#exchange = exchange;
    try {
      this.#send(outgoing);
    } catch (error) {
      this.#fail(error);
      this.#onClosed();
    }
  }

  #send(outgoing: Outgoing): void {
    const { body, messages, isWebSocket } = outgoing;
    if (isWebSocket && !this.#session.remoteSettings.enableConnectProtocol) throw new NoWebSocket();
    const isWhole = body === undefined && messages === undefined && !isWebSocket;
    const stream = this.#session.request(toStreamFields(outgoing), { endStream: isWhole });
    this.#stream = stream;
    this.#watchEnd(stream);
    this.#maySwitch = isWebSocket;
    stream.on('headers', () => this.#guarded(() => this.#countInterim()));
    stream.on('response', (_headers, _flags, raw) => this.#guarded(() => this.#begin(raw)));
    stream.on('data', (chunk: Buffer) => this.#guarded(() => this.#exchange?.onData(chunk)));
    stream.on('trailers', (headers) => {
      this.#trailers = Object.entries(headers).flatMap(([name, value]) => [name, String(value)]);
    });
    stream.on('end', () => this.#guarded(() => this.#end()));
    stream.on('error', (error) => this.#fail(error));
    stream.on('close', () => {
      this.#fail(new ConnectionEnded());
      this.#onClosed();
    });
    if (messages) sendMessages(stream, messages);
    else if (body !== undefined) this.#sendFrom(stream, body, 0);
  }

  /** Writes a body from `from` on, each piece once the one before it has left. */
  #sendFrom(stream: ClientHttp2Stream, body: Buffer, from: number): void {
    const to = from + pieceBytesMax;
    if (to >= body.length) {
      stream.end(body.subarray(from));
      return;
    }
    stream.write(body.subarray(from, to), (error) => {
      this.moves++;
      if (!error && isOpen(stream)) this.#sendFrom(stream, body, to);
    });
  }

  pause(): void {
    this.#stream?.pause();
  }

  resume(): void {
    this.#stream?.resume();
  }

  destroy(): void {
    this.#exchange = undefined;
    this.#cancel();
  }

  /**
   * Notes when the upstream says that nothing follows. A reset without an error ends the reading just as
   * END_STREAM does, and no event tells the two apart. They differ in one thing: a reset closes the stream
   * before it ends it.
   */
  #watchEnd(stream: ClientHttp2Stream): void {
    const push = stream.push.bind(stream);
    stream.push = (chunk: unknown, encoding?: BufferEncoding): boolean => {
      if (chunk === null && !stream.closed) this.#isWhole = true;
      return push(chunk, encoding);
    };
  }

  #countInterim(): void {
    if (++this.#interimHeads > interimMax) throw new MalformedStream('There are too many interim answers.');
  }

  #begin(raw: readonly string[]): void {
    this.#hasBegun = true;
    const fields: string[] = [];
    let status = 0;
    let contentLength = -1;
    for (let i = 0; i + 1 < raw.length; i += 2) {
      const name = raw[i] as string;
      const value = raw[i + 1] as string;
      if (name === ':status') status = Number(value);
      else fields.push(name, value);
      if (name === 'content-length') contentLength = Number(value);
    }
    // Nobody asks for another protocol by 101 here; HTTP/2 has no such answer (RFC 9113, 8.6).
    if (status < 200 || status > 999) throw new MalformedStream('Its answer has no status.');
    const head = { status, fields, contentLength, isHttp10: false, isChunked: false, connection: '' };
    if (this.#maySwitch && status < 300) this.#handOver(head);
    else this.#exchange?.onHead(head);
  }

  /** Hands the stream over. A status of 2xx says what 101 says in HTTP/1.1 (RFC 8441, 4). */
  #handOver(head: ResponseHead): void {
    const exchange = this.#exchange;
    const stream = this.#stream;
    if (!exchange || !stream) return;
    this.#exchange = undefined;
    stream.pause();
    for (const event of ['data', 'end', 'trailers', 'error']) stream.removeAllListeners(event);
    exchange.onSwitch(head, stream);
  }

  #end(): void {
    const exchange = this.#exchange;
    // A stream that was reset ends too, and its `close` tells the exchange.
    if (!exchange || !this.#isWhole || this.#stream?.rstCode !== constants.NGHTTP2_NO_ERROR) return;
    if (!this.#hasBegun) throw new MalformedStream('It ended without an answer.');
    this.#exchange = undefined;
    // The rest of a request that was answered early goes nowhere (RFC 9113, 8.1).
    if (!this.#stream.writableEnded) this.#cancel();
    exchange.onEnd(this.#trailers);
  }

  #guarded(act: () => void): void {
    try {
      act();
    } catch (error) {
      this.#fail(error);
    }
  }

  #fail(error: unknown): void {
    const exchange = this.#exchange;
    if (!exchange) return;
    this.#exchange = undefined;
    const isRefused = this.#stream?.rstCode === constants.NGHTTP2_REFUSED_STREAM;
    this.#cancel();
    exchange.onFailure(error, !this.#hasBegun && isRefused);
  }

  #cancel(): void {
    if (this.#stream && !this.#stream.destroyed) this.#stream.close(constants.NGHTTP2_CANCEL);
  }
}

const isOpen = (stream: ClientHttp2Stream): boolean =>
  !stream.destroyed && !stream.closed && !stream.writableEnded;

function sendMessages(stream: ClientHttp2Stream, messages: StreamedBody): void {
  stream.on('drain', () => messages.drained());
  messages.start({
    write: (chunk) => isOpen(stream) && stream.write(chunk),
    end: () => {
      if (isOpen(stream)) stream.end();
    },
  });
}

/** Fields by which HTTP/1.1 asks for an upgrade, and HTTP/2 does not (RFC 8441, 5). */
const ofUpgrade: ReadonlySet<string> = new Set(['connection', 'upgrade', 'sec-websocket-key']);

/**
 * Returns the head of a request on a stream, flat (RFC 9113, 8.2 and 8.3.1). It has no forbidden characters,
 * since `toRequestHead` has taken it. It has nothing about a connection, since `toUpstreamHeaders` has left
 * nothing of that.
 */
function toStreamFields({ method, target, headers, body, isWebSocket }: Outgoing): string[] {
  const { scheme, host, port, path } = target;
  const fields = [
    ...(isWebSocket ? [':method', 'CONNECT', ':protocol', 'websocket'] : [':method', method]),
    ...[':scheme', scheme],
    ...[':authority', toAuthority(scheme, host, port), ':path', path],
  ];
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const name = (headers[i] as string).toLowerCase();
    if (name !== 'host' && !(isWebSocket && ofUpgrade.has(name))) fields.push(name, headers[i + 1] as string);
  }
  if (body !== undefined) fields.push('content-length', String(body.length));
  return fields;
}
