import { setImmediate as turn } from 'node:timers/promises';
import { type GatewayError, toGatewayError } from '../core/errors.ts';
import { codingsOf } from '../inspect/decode/packed/inflate.ts';
import type { BodySink, StreamedBody } from '../wire/client/carrier.ts';
import { frameOf } from '../wire/grpc/grpc-prefix.ts';
import type { Exchange, Flow, Receiver } from '../wire/server/exchange.ts';
import { type GrpcMessage, MessageReader, malformedGrpc } from '../wire/server/grpc/messages.ts';
import { cutShort } from '../wire/server/request-problems.ts';

/*
 * The body of a call of gRPC, message by message. The first one is judged together with the call's head. Each of the
 * others is judged before it is sent, one at a time: while it is judged, or the upstream takes no more, nothing is read
 * from the agent.
 */

/** Is the part of a gRPC call that is judged first. */
interface Opening {
  /** Is the first message; empty where the head is judged alone. */
  readonly body: Buffer;
  /** Is the coding of this message. */
  readonly contentEncoding: string;
}

interface GrpcBodyEvents {
  /** Is called once, unless `failed` is. */
  opened(opening: Opening): void;
  /** Is called where it failed before there was anything to judge. */
  failed(error: GatewayError): void;
}

interface GrpcBodyOptions {
  /** Limits a message, and a body that is collected whole. */
  readonly bytesMax: number;
  /** Is the value of the field `grpc-encoding`. */
  readonly encoding: string;
}

/** Handles the messages behind the first. */
interface Passage {
  /** Judges a message that is not empty. Resolves to what goes in its place; rejects with why it does not go. */
  inspect(message: GrpcMessage, contentEncoding: string): Promise<Buffer>;
  /** Ends the call, since nothing more will be sent. Is called once at most, never from within `release`. */
  broken(error: GatewayError): void;
}

/**
 * Limits the wait for the first message before the head is judged by itself. A client may send its head alone and wait
 * for the server's first word without end; others send their first message at once behind it.
 */
const headAloneMs = 200;
/** Limits the time for which messages are judged before other work has its turn. */
const turnMsMax = 5;
const noBytes = Buffer.alloc(0);
const nothing = { frame: noBytes, payload: noBytes };
const identity = '';

export class GrpcBody implements Receiver, StreamedBody {
  messages = 0;
  moves = 0;
  isEnded = false;
  readonly #events: GrpcBodyEvents;
  readonly #options: GrpcBodyOptions;
  readonly #reader: MessageReader;
  #phase: 'opening' | 'judging' | 'open' | 'over' = 'opening';
  #flow: Flow | undefined;
  #patience: NodeJS.Timeout | undefined;
  #first: GrpcMessage | undefined;
  #hasArrived = false;
  #firstFrame: Buffer = noBytes;
  #passage: Passage | undefined;
  #sink: BodySink | undefined;
  #isPumping = false;
  #onRoom: (() => void) | undefined;

  constructor(options: GrpcBodyOptions, events: GrpcBodyEvents) {
    this.#options = options;
    this.#events = events;
    this.#reader = new MessageReader(options.bytesMax);
  }

  readFrom(exchange: Exchange): void {
    this.#patience = setTimeout(() => this.#judge(undefined, identity), headAloneMs);
    this.#flow = exchange.receive(this);
  }

  get isMidway(): boolean {
    return this.#reader.isMidway;
  }

  data(chunk: Buffer): void {
    if (this.#phase === 'over') return;
    this.moves++;
    this.#reader.push(chunk);
    if (this.#phase === 'opening') this.#open();
    else {
      void this.#pump();
      if (this.#isPumping || this.#phase !== 'open') this.#flow?.pause();
    }
  }

  ended(): void {
    this.#hasArrived = true;
    this.moves++;
    if (this.#phase === 'opening') this.#open();
    else void this.#pump();
  }

  failed(error: GatewayError): void {
    const phase = this.#phase;
    this.stop();
    if (phase === 'opening') this.#events.failed(error);
    else if (phase === 'open') this.#passage?.broken(error);
  }

  /** Stops it, where nobody wants it any more. */
  stop(): void {
    clearTimeout(this.#patience);
    this.#phase = 'over';
    this.#flow?.pause();
    this.#onRoom?.();
  }

  /** Sends the first message, which was let out: as it came, or `judged` in its place. */
  release(
    judged: Buffer,
    passage: Passage,
  ): { readonly body: Buffer | undefined; readonly messages?: StreamedBody } {
    const { frame: asItCame, payload } = this.#first ?? nothing;
    const isAsItCame = judged === payload || (judged.length === 0 && payload.length === 0);
    const frame = isAsItCame ? asItCame : frameOf(judged);
    if (this.#hasArrived && !this.#reader.hasUnread && !this.isMidway)
      return { body: frame.length > 0 ? frame : undefined };
    this.#firstFrame = frame;
    this.#passage = passage;
    return { body: undefined, messages: this };
  }

  start(sink: BodySink): void {
    if (this.#phase !== 'judging') return;
    this.#phase = 'open';
    this.#sink = sink;
    if (this.#firstFrame.length > 0) sink.write(this.#firstFrame);
    this.#firstFrame = noBytes;
    this.#first = undefined;
    queueMicrotask(() => void this.#pump());
  }

  drained(): void {
    this.moves++;
    this.#onRoom?.();
  }

  #open(): void {
    clearTimeout(this.#patience);
    try {
      const message = this.#next();
      if (!message && !this.#hasArrived) return;
      if (!message && this.isMidway) throw cutShort();
      this.#judge(message, message ? this.#codingOf(message) : identity);
    } catch (error) {
      this.failed(toGatewayError(error));
    }
  }

  #judge(message: GrpcMessage | undefined, contentEncoding: string): void {
    this.#phase = 'judging';
    this.#first = message;
    this.#events.opened({ body: message?.payload ?? noBytes, contentEncoding });
  }

  #next(): GrpcMessage | undefined {
    const message = this.#reader.next();
    if (message) this.messages++;
    return message;
  }

  /** Throws where a message says that it is compressed, and the call does not say how. */
  #codingOf({ isCompressed, payload }: GrpcMessage): string {
    if (!isCompressed || payload.length === 0) return identity;
    const { encoding } = this.#options;
    if (codingsOf(encoding).length !== 1)
      throw malformedGrpc('A message is compressed in a way that is not said.');
    return encoding;
  }

  /** Sends all that may go and is there. */
  async #pump(): Promise<void> {
    if (this.#isPumping || this.#phase !== 'open') return;
    this.#isPumping = true;
    try {
      if (await this.#sendAll()) this.#sent();
    } catch (error) {
      this.failed(toGatewayError(error));
    } finally {
      this.#isPumping = false;
    }
  }

  /** Resolves to false where it was stopped. */
  async #sendAll(): Promise<boolean> {
    let turnEndsMs = performance.now() + turnMsMax;
    for (let message = this.#next(); message; message = this.#next()) {
      const frame =
        message.payload.length === 0
          ? message.frame
          : await this.#passage?.inspect(message, this.#codingOf(message));
      if (this.#phase !== 'open' || !frame) return false;
      this.moves++;
      if (!this.#sink?.write(frame)) await this.#room();
      if (performance.now() > turnEndsMs) {
        await turn();
        turnEndsMs = performance.now() + turnMsMax;
      }
      if (this.#phase !== 'open') return false;
    }
    return true;
  }

  #sent(): void {
    if (!this.#hasArrived) this.#flow?.resume();
    else if (this.isMidway) throw cutShort();
    else {
      this.isEnded = true;
      this.#sink?.end();
    }
  }

  #room(): Promise<void> {
    return new Promise((resolve) => {
      this.#onRoom = () => {
        this.#onRoom = undefined;
        resolve();
      };
    });
  }
}
