import { type GatewayError, toGatewayError } from '../core/errors.ts';
import type { BodySink, StreamedBody } from '../wire/client/carrier.ts';
import { frameOf } from '../wire/grpc/grpc-prefix.ts';
import type { BodyRoom } from '../wire/server/body-ledger.ts';
import type { Exchange, Flow, Receiver } from '../wire/server/exchange.ts';
import type { GrpcMessage } from '../wire/server/grpc/messages.ts';
import { cutShort } from '../wire/server/request-problems.ts';
import { CodedMessages, type CodedMessagesOptions, identity } from './grpc-messages.ts';
import { MessagePump, type Passage } from './grpc-pump.ts';

/*
 * The body of a call of gRPC, message by message. The first one is judged together with the call's head. Each
 * of the others is judged before it is sent, one at a time. While one is judged, or the upstream takes no
 * more, nothing is read from the agent.
 */

/** The part of a gRPC call that is judged first. */
interface Opening {
  /** First message; empty where the head is judged alone. */
  readonly body: Buffer;
  /** Coding of this message. */
  readonly contentEncoding: string;
}

interface GrpcBodyEvents {
  /** Takes what is judged first. It is called once, unless `failed` is. */
  opened(opening: Opening): void;
  /** Hears that the body failed before there was anything to judge. */
  failed(error: GatewayError): void;
}

/**
 * Milliseconds to wait for the first message, after which the head is judged by itself. A client may send its
 * head alone and wait for the server's first word without end. Others send their first message at once behind
 * the head.
 */
const headAloneMs = 200;
const noBytes = Buffer.alloc(0);
const nothing = { frame: noBytes, payload: noBytes };

interface GrpcBodyOptions extends CodedMessagesOptions {
  /** Room for what is held of the messages. */
  readonly room: Pick<BodyRoom, 'keep'>;
}

export class GrpcBody implements Receiver, StreamedBody {
  moves = 0;
  isEnded = false;
  readonly #events: GrpcBodyEvents;
  readonly #room: GrpcBodyOptions['room'];
  readonly #messages: CodedMessages;
  #phase: 'opening' | 'judging' | 'open' | 'over' = 'opening';
  #flow: Flow | undefined;
  #patience: NodeJS.Timeout | undefined;
  /** First message: as it came, and from `release` on as it is sent. */
  #first: Pick<GrpcMessage, 'frame' | 'payload'> = nothing;
  #hasArrived = false;
  #pump: MessagePump | undefined;

  constructor(options: GrpcBodyOptions, events: GrpcBodyEvents) {
    this.#events = events;
    this.#room = options.room;
    this.#messages = new CodedMessages(options);
  }

  get messages(): number {
    return this.#messages.count;
  }

  readFrom(exchange: Exchange): void {
    this.#patience = setTimeout(() => this.#judge(undefined, identity), headAloneMs);
    this.#flow = exchange.receive(this);
  }

  get isMidway(): boolean {
    return this.#messages.isMidway;
  }

  data(chunk: Buffer): void {
    if (this.#phase === 'over') return;
    this.moves++;
    this.#messages.push(chunk);
    // While the first message is judged nothing else comes in than this chunk.
    const refusal = this.#phase === 'judging' ? undefined : this.#room.keep(this.#messages.heldBytes);
    if (refusal) this.failed(refusal);
    else if (this.#phase === 'opening') this.#open();
    else {
      void this.#pump?.run();
      if (this.#pump?.isRunning || this.#phase !== 'open') this.#flow?.pause();
    }
  }

  ended(): void {
    this.#hasArrived = true;
    this.moves++;
    if (this.#phase === 'opening') this.#open();
    else void this.#pump?.run();
  }

  failed(error: GatewayError): void {
    const phase = this.#phase;
    this.stop();
    if (phase === 'opening') this.#events.failed(error);
    else if (phase === 'open') this.#pump?.passage.broken(error);
  }

  /** Stops reading and sending, where nobody wants the body any more. */
  stop(): void {
    clearTimeout(this.#patience);
    this.#phase = 'over';
    this.#flow?.pause();
    this.#pump?.stop();
  }

  /**
   * Returns how the first message is sent, which was let out: as it came, or with `judged` in its place.
   * `passage` is for the messages behind it.
   */
  release(
    judged: Buffer,
    passage: Passage,
  ): { readonly body: Buffer | undefined; readonly messages?: StreamedBody } {
    const { frame: asItCame, payload } = this.#first;
    const isAsItCame = judged === payload || (judged.length === 0 && payload.length === 0);
    const frame = isAsItCame ? asItCame : frameOf(judged);
    if (this.#hasArrived && this.#messages.isUsedUp) return { body: frame.length > 0 ? frame : undefined };
    this.#first = { frame, payload: judged };
    this.#pump = new MessagePump(this.#messages, passage, {
      moved: () => this.moves++,
      sent: () => this.#sent(),
      failed: (error) => this.failed(error),
    });
    return { body: undefined, messages: this };
  }

  start(sink: BodySink): void {
    if (this.#phase !== 'judging') return;
    this.#phase = 'open';
    this.#pump?.start(sink, this.#first.frame);
    this.#first = nothing;
  }

  drained(): void {
    this.moves++;
    this.#pump?.drained();
  }

  #open(): void {
    clearTimeout(this.#patience);
    try {
      const message = this.#messages.next();
      if (!message && !this.#hasArrived) return;
      if (!message && this.isMidway) throw cutShort();
      this.#judge(message, message ? this.#messages.codingOf(message) : identity);
    } catch (error) {
      this.failed(toGatewayError(error));
    }
  }

  #judge(message: GrpcMessage | undefined, contentEncoding: string): void {
    this.#phase = 'judging';
    this.#first = message ?? nothing;
    this.#events.opened({ body: this.#first.payload, contentEncoding });
  }

  #sent(): void {
    const refusal = this.#room.keep(this.#messages.heldBytes);
    if (refusal) throw refusal;
    if (!this.#hasArrived) this.#flow?.resume();
    else if (this.isMidway) throw cutShort();
    else {
      this.isEnded = true;
      this.#pump?.end();
    }
  }
}
