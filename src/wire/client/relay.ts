import type { Duplex } from 'node:stream';
import { type GatewayError, toGatewayError } from '../../core/errors.ts';
import { isEnvelopedText, isGrpcType } from '../grpc/grpc-type.ts';
import type { Answer } from '../http1/answer.ts';
import type { ResponseHead } from '../http1/head.ts';
import { fieldOf, toClientHeaders, toClientTrailers, withoutField } from '../http1/headers.ts';
import type { TurnEnd, TurnEndListener } from '../http1/turn-end.ts';
import type { Carrier, Origin, Outgoing, ResponseHandler, StreamedBody, Waiting } from './carrier.ts';
import type { Deadlines, Timed } from './deadlines.ts';
import type { Decoding, OpenDecoding } from './decoding.ts';
import { timedOut, toExchangeFailure } from './failures.ts';
import { EnvelopeCheck } from './scrub/envelope-check.ts';
import { MessageScrub } from './scrub/message-scrub.ts';
import type { Scrub, ScrubbedBody } from './scrub/scrub.ts';
import { isLinewise, notDecodable, stillCoded, tooFarExpanded, toScrubbable } from './scrub/scrubbable.ts';

export interface RelayOptions {
  readonly response: Answer;
  /**
   * Flat fields that are appended to the head of the answer, and win over upstream fields of the same names.
   */
  readonly extraHeaders: readonly string[];
  /** Takes our credential out of the answer. The request must ask for one without content coding. */
  readonly scrub?: Scrub | undefined;
  /** Tells whether the answer may be a part, or be stored with a coding. It is then searched as it comes. */
  readonly mayBeStored?: boolean;
  /**
   * Opens the decoding of an answer that must be searched and has an unwanted coding. By default no coding is
   * known.
   */
  readonly openDecoding?: OpenDecoding | undefined;
  /**
   * Hears that the call failed before a head was sent: the entrance answers. It may be called before
   * `forward` returns.
   */
  onError(error: GatewayError): void;
  /** Hears why the answer is about to be cut off, after its head was sent. `onEnd` follows. */
  onCut?(error: GatewayError): void;
  /**
   * Hears that the answer ended, whole or cut by either side. `status` is 0 where the client left before
   * the head.
   */
  readonly onEnd?: ((outcome: RelayOutcome) => void) | undefined;
  /**
   * Takes over the connection when the upstream goes on in WebSocket. Then neither `onError` nor `onEnd` is
   * called. The connection keeps its place among those to its origin until it closes.
   */
  readonly onSwitch?: ((head: ResponseHead, connection: Duplex) => void) | undefined;
  /**
   * Returns a reason to cut the answer off, of which `onCut` is told. It is asked at every tick while the
   * answer comes.
   */
  whyEnded?(): GatewayError | undefined;
  /**
   * Hears each chunk of the body after it was handed on. No chunk is held back for it, and whoever keeps
   * chunks sets the bound.
   */
  onData?(chunk: Buffer): void;
}

export interface RelayOutcome {
  readonly status: number;
  readonly receivedBytes: number;
  readonly aborted: boolean;
}

/**
 * A request that is being forwarded. Exactly one of `onError`, `onEnd` and `onSwitch` is called, once,
 * whatever happens.
 */
export interface Forwarding {
  /**
   * Ends the request, and after a head the client's connection, too. It does nothing once the exchange has
   * ended.
   */
  abort(): void;
}

/**
 * Hears once of each request that was sent, but for one that the client gives up before its answer. Must not
 * throw.
 */
export interface UpstreamWatch {
  /** Notes that the head of the answer has come, and the milliseconds since the request was forwarded. */
  answered(status: number, ms: number): void;
  failed(error: GatewayError): void;
}

/** State that the exchanges of one gateway share. */
export interface RelayContext {
  readonly deadlines: Deadlines;
  readonly turnEnd: TurnEnd;
  readonly responseTicks: number;
  readonly idleTicks: number;
  readonly ownPrefix: string;
  readonly watch: UpstreamWatch | undefined;
}

/** Methods of requests that mean the same when they are sent twice (RFC 9110, 9.2.2). */
const idempotentMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE', 'PUT', 'DELETE']);

const noFields: string[] = [];

/** Bytes of a scrubbed body that wait for the end of a turn. Beyond them no more is read. */
const collectedBytesMax = 65_536;
/** Decoded bytes above which the ratio to the received ones is bounded. */
const expandedBytesMax = 16 * 1024 * 1024;
const expansionMax = 200;

/**
 * Gives the answer to one request, which a carrier brings, to the client. The head waits for the first chunk
 * of the same turn. So a small answer is one write and one TLS record, and server-sent events are never held
 * back.
 */
export class Relay implements ResponseHandler, Waiting, Forwarding, Timed, TurnEndListener {
  slot = 0;
  needsFresh = false;
  readonly agentId: string;
  readonly #options: RelayOptions;
  readonly #context: RelayContext;
  readonly #origin: Origin;
  readonly #response: Answer;
  /**
   * Request, until its answer begins. A stream may go on for hours, and the entrance may keep the relay for
   * longer.
   */
  #outgoing: Outgoing | undefined;
  readonly #messages: StreamedBody | undefined;
  readonly #isGrpcAsked: boolean;
  #moves = 0;
  #carrier: Carrier | undefined;
  #onDrain: (() => void) | undefined;
  #needsDrain = false;
  #head = noFields;
  #status = 0;
  #contentLength = -1;
  #scrubbed: ScrubbedBody | undefined;
  /** Bytes of a scrubbed body that wait for the end of the turn. */
  #collected: Buffer[] = [];
  #collectedBytes = 0;
  #receivedBytes = 0;
  #decoding: Decoding | undefined;
  #decodedBytes = 0;
  /** Trailers that wait for the end of what is decoded. */
  #trailers: readonly string[] = noFields;
  #isHeadSent = false;
  #isWaiting = false;
  #isEnded = false;
  #isSettled = false;
  /** Tick at which something moved last. */
  #activeTick: number;
  readonly #sentMs = performance.now();

  constructor(outgoing: Outgoing, options: RelayOptions, context: RelayContext, origin: Origin) {
    this.agentId = outgoing.agentId;
    this.#outgoing = outgoing;
    this.#messages = outgoing.messages;
    this.#isGrpcAsked = options.scrub !== undefined && isGrpcType(fieldOf(outgoing.headers, 'content-type'));
    this.#options = options;
    this.#context = context;
    this.#origin = origin;
    this.#response = options.response;
    this.#activeTick = context.deadlines.tick;
    this.#response.once('close', () => {
      // The exchange may be over while its end is still being written.
      if (!this.#isEnded) this.abort();
    });
    context.deadlines.add(this);
  }

  start(): void {
    this.#origin.dispatch(this);
  }

  sendOn(carrier: Carrier): void {
    this.#carrier = carrier;
    carrier.ask(this.#outgoing as Outgoing, this);
  }

  onHead(head: ResponseHead): void {
    const { status } = head;
    const isBodiless = status === 204 || status === 304 || this.#outgoing?.method === 'HEAD';
    this.#outgoing = undefined;
    this.#status = status;
    this.#context.watch?.answered(status, performance.now() - this.#sentMs);
    this.#head = toClientHeaders(head, this.#options.extraHeaders, this.#context.ownPrefix);
    this.#activeTick = this.#context.deadlines.tick;
    this.#contentLength = head.contentLength;
    // A 204 has no length: a client that believed it would wait for a body (RFC 9110, 8.6).
    if (status === 204 && head.contentLength >= 0) this.#head = withoutField(this.#head, 'content-length');
    if (this.#options.scrub && !this.#beginScrub(this.#options.scrub, isBodiless)) return;
    // Decoding a part of the body shows whether it has the coding that it claims.
    if (!this.#decoding) this.#wait();
  }

  onSwitch(head: ResponseHead, connection: Duplex): void {
    this.#carrier = undefined;
    this.#isSettled = true;
    this.#outgoing = undefined;
    this.#context.watch?.answered(head.status, performance.now() - this.#sentMs);
    this.#context.deadlines.delete(this);
    connection.once('close', () => this.#origin.release(this, this.#context.deadlines.tick));
    if (this.#options.onSwitch) this.#options.onSwitch(head, connection);
    else connection.destroy();
  }

  #wait(): void {
    if (this.#isWaiting) return;
    this.#isWaiting = true;
    this.#context.turnEnd.wait(this);
  }

  /**
   * Prepares the search of the answer, whose length is not known before its end. Returns false where the
   * answer cannot be read.
   */
  #beginScrub(scrub: Scrub, isBodiless: boolean): boolean {
    const { mayBeStored } = this.#options;
    let isEnveloped = false;
    try {
      const { status, head, coding, ...of } = toScrubbable(this.#status, this.#head, {
        isBodiless,
        mayBeStored,
      });
      isEnveloped = of.isEnveloped;
      this.#status = status;
      this.#head = scrub.fields(head);
      if (coding !== '') this.#decoding = this.#openDecoding(coding);
    } catch (error) {
      this.fail(toGatewayError(error));
      return false;
    }
    if (isBodiless) return true;
    const type = fieldOf(this.#head, 'content-type');
    // The type of the answer does not suffice. An agent could have its guess of where a credential stands
    // taken for the end of a message.
    const isGrpc = this.#isGrpcAsked && isGrpcType(type);
    const body = isGrpc ? new MessageScrub(scrub.message()) : scrub.body(isLinewise(this.#head));
    this.#scrubbed = isEnveloped ? new EnvelopeCheck(body, { isText: isEnvelopedText(type) }) : body;
    this.#contentLength = -1;
    return true;
  }

  #openDecoding(coding: string): Decoding {
    const decoding = this.#options.openDecoding?.(coding, {
      take: (chunk) => this.#takeDecoded(chunk),
      onFlow: () => this.#carrier?.resume(),
      ended: () => this.#finishSafely(this.#trailers),
      broken: (error) => this.fail(notDecodable(error)),
    });
    if (!decoding) throw stillCoded();
    return decoding;
  }

  #takeDecoded(chunk: Buffer): boolean {
    this.#decodedBytes += chunk.length;
    if (this.#decodedBytes > Math.max(expandedBytesMax, this.#receivedBytes * expansionMax)) {
      this.fail(tooFarExpanded());
      return false;
    }
    this.#activeTick = this.#context.deadlines.tick;
    this.#collect(chunk);
    return this.#collectedBytes < collectedBytesMax && !this.#needsDrain;
  }

  /** Resumes the source of the next bytes. */
  #resumeSource(): void {
    if (this.#decoding) this.#decoding.resume();
    else this.#carrier?.resume();
  }

  /** Pauses the source. A decoder waits by itself. */
  #pauseSource(): void {
    if (!this.#decoding) this.#carrier?.pause();
  }

  onData(received: Buffer): void {
    this.#receivedBytes += received.length;
    this.#activeTick = this.#context.deadlines.tick;
    if (this.#decoding) {
      if (!this.#decoding.write(received)) this.#carrier?.pause();
    } else if (this.#scrubbed) this.#collect(received);
    else this.#send(received);
  }

  /**
   * Keeps bytes until the end of the turn. They are searched once a turn, however small the pieces are.
   * However fast pieces come, others have their turn in between.
   */
  #collect(received: Buffer): void {
    this.#collected.push(received);
    this.#collectedBytes += received.length;
    if (this.#collectedBytes >= collectedBytesMax) this.#pauseSource();
    this.#wait();
  }

  #takeCollected(scrubbed: ScrubbedBody): Buffer {
    const collected = Buffer.concat(this.#collected);
    this.#collected = [];
    this.#collectedBytes = 0;
    return scrubbed.push(collected);
  }

  #sendCollected(scrubbed: ScrubbedBody): void {
    const isFull = this.#collectedBytes >= collectedBytesMax;
    this.#send(this.#takeCollected(scrubbed));
    if (isFull && !this.#needsDrain) this.#resumeSource();
  }

  #send(chunk: Buffer): void {
    const response = this.#response;
    // All of a chunk may be held back. Its head then goes out at the end of the turn.
    if (chunk.length === 0) return;
    if (!this.#isHeadSent) this.#sendHead();
    if (this.#receivedBytes === this.#contentLength) {
      this.#isEnded = true;
      response.end(chunk);
    } else if (!response.write(chunk)) this.#waitForDrain();
    this.#options.onData?.(chunk);
  }

  onEnd(trailers: readonly string[]): void {
    this.#carrier = undefined;
    if (this.#decoding) {
      this.#trailers = trailers;
      this.#decoding.end();
    } else this.#finishSafely(trailers);
  }

  #finishSafely(trailers: readonly string[]): void {
    if (this.#isSettled) return;
    // The carrier has let go of us, so nobody else would hear of an error, such as that of a trailer with
    // forbidden characters.
    try {
      this.#finish(trailers);
    } catch (error) {
      this.fail(toExchangeFailure(error, true));
    }
  }

  #finish(trailers: readonly string[]): void {
    const last = this.#scrubbed && Buffer.concat([this.#takeCollected(this.#scrubbed), this.#scrubbed.end()]);
    if (!this.#isHeadSent) this.#sendHead();
    if (!this.#isEnded) {
      this.#isEnded = true;
      const response = this.#response;
      const fields = this.#options.scrub?.fields(trailers) ?? trailers;
      if (fields.length > 0 && response.chunkedEncoding) {
        response.addTrailers(toClientTrailers(fields, this.#options.extraHeaders, this.#context.ownPrefix));
      }
      response.end(last);
      if (last && last.length > 0) this.#options.onData?.(last);
    }
    this.#end(false);
  }

  onFailure(error: unknown, isLost: boolean): void {
    this.#carrier = undefined;
    if (isLost && this.#mayRepeat) {
      this.needsFresh = true;
      this.#origin.repeat(this);
    } else this.fail(toExchangeFailure(error, this.#status !== 0));
  }

  get #mayRepeat(): boolean {
    return !this.needsFresh && !this.#messages && idempotentMethods.has(this.#outgoing?.method ?? '');
  }

  checkDeadline(tick: number): void {
    const { moves = this.#moves } = this.#messages ?? this.#carrier ?? {};
    if (moves !== this.#moves) {
      this.#moves = moves;
      this.#activeTick = tick;
    }
    const ended = this.#status === 0 ? undefined : this.#options.whyEnded?.();
    if (ended) {
      this.fail(ended);
      return;
    }
    const idleTicks = tick - this.#activeTick;
    // An upstream may wait for the end of what it is sent before it begins to answer.
    const isSending = this.#messages !== undefined && !this.#messages.isEnded && this.#carrier !== undefined;
    if (isSending) {
      if (idleTicks >= this.#context.idleTicks)
        this.fail(timedOut('was sent nothing more, and answered nothing (`upstream.idle_timeout`)'));
    } else if (this.#status === 0) {
      if (idleTicks >= this.#context.responseTicks)
        this.fail(timedOut('did not begin to answer in time (`upstream.response_timeout`)'));
    } else if (idleTicks >= this.#context.idleTicks) {
      this.fail(timedOut('stopped in the middle of its answer (`upstream.idle_timeout`)'));
    }
  }

  /** Sends a head that no body followed in the same turn, and what was collected. */
  onTurnEnd(): void {
    this.#isWaiting = false;
    if (this.#isSettled) return;
    try {
      if (this.#scrubbed && this.#collectedBytes > 0) this.#sendCollected(this.#scrubbed);
      if (this.#isHeadSent) return;
      this.#sendHead();
      this.#response.flushHeaders();
    } catch (error) {
      this.fail(toExchangeFailure(error, true));
    }
  }

  abort(): void {
    if (this.#isSettled) return;
    if (this.#isHeadSent) this.#response.destroy();
    this.#end(true);
  }

  /**
   * Ends the exchange for a reason. Once a head has gone out, only a cut connection tells the client. A clean
   * end would make half an answer look whole.
   */
  fail(error: GatewayError): void {
    if (this.#isSettled) return;
    if (this.#status === 0) this.#context.watch?.failed(error);
    if (this.#response.headersSent) {
      this.#options.onCut?.(error);
      this.abort();
      return;
    }
    this.#settle();
    this.#options.onError(error);
  }

  #sendHead(): void {
    this.#response.writeHead(this.#status, this.#head);
    this.#isHeadSent = true;
    this.#head = noFields;
  }

  #waitForDrain(): void {
    this.#needsDrain = true;
    this.#pauseSource();
    if (this.#onDrain) return;
    // The function is made apart from the assignment: V8 puts a function that is assigned to a property into
    // the old generation at once. The whole exchange would stay with it until the next full collection.
    const onDrain = (): void => {
      this.#needsDrain = false;
      this.#activeTick = this.#context.deadlines.tick;
      this.#resumeSource();
    };
    this.#onDrain = onDrain;
    this.#response.on('drain', onDrain);
  }

  #end(isAborted: boolean): void {
    this.#settle();
    const outcome = { status: this.#status, receivedBytes: this.#receivedBytes, aborted: isAborted };
    this.#options.onEnd?.(outcome);
  }

  /**
   * Lets go of all that the exchange holds. A carrier that is still ours has not brought the whole answer,
   * and can carry no other.
   */
  #settle(): void {
    this.#isSettled = true;
    this.#outgoing = undefined;
    this.#context.deadlines.delete(this);
    if (this.#onDrain) this.#response.off('drain', this.#onDrain);
    this.#origin.release(this, this.#context.deadlines.tick);
    this.#decoding?.close();
    this.#carrier?.destroy();
    this.#carrier = undefined;
  }
}
