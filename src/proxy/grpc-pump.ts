import { type GatewayError, toGatewayError } from '../core/errors.ts';
import { Pace } from '../util/pace.ts';
import type { BodySink } from '../wire/client/carrier.ts';
import type { GrpcMessage } from '../wire/server/grpc/messages.ts';
import type { CodedMessages } from './grpc-messages.ts';

/** Handles the messages behind the first. */
export interface Passage {
  /**
   * Judges a message that is not empty. Resolves to what goes in its place; rejects with the reason why
   * nothing goes.
   */
  inspect(message: GrpcMessage, contentEncoding: string): Promise<Buffer>;
  /**
   * Ends the call, since nothing more will be sent. It is called once at most, and never from within
   * `release`.
   */
  broken(error: GatewayError): void;
}

interface PumpEvents {
  /** Notes that something was sent. */
  moved(): void;
  /** Notes that all that is there was sent. */
  sent(): void;
  /** Hears why a message does not go. */
  failed(error: GatewayError): void;
}

/** Milliseconds for which messages are judged before other work has its turn. */
const turnMsMax = 5;

/** Sends the messages of a call, one at a time, each once it was judged. */
export class MessagePump {
  readonly passage: Passage;
  readonly #messages: CodedMessages;
  readonly #events: PumpEvents;
  #sink: BodySink | undefined;
  #isRunning = false;
  #isStopped = false;
  #onRoom: (() => void) | undefined;

  constructor(messages: CodedMessages, passage: Passage, events: PumpEvents) {
    this.#messages = messages;
    this.passage = passage;
    this.#events = events;
  }

  get isRunning(): boolean {
    return this.#isRunning;
  }

  /** Sends what was let out already. From now on messages go to `sink`. */
  start(sink: BodySink, firstFrame: Buffer): void {
    this.#sink = sink;
    if (firstFrame.length > 0) sink.write(firstFrame);
    queueMicrotask(() => void this.run());
  }

  /** Goes on, since the sink takes more again. */
  drained(): void {
    this.#onRoom?.();
  }

  end(): void {
    this.#sink?.end();
  }

  stop(): void {
    this.#isStopped = true;
    this.#onRoom?.();
  }

  /**
   * Sends all messages that are there and may go. It does nothing before `start`, while it runs, or once
   * stopped.
   */
  async run(): Promise<void> {
    if (this.#isRunning || this.#isStopped || !this.#sink) return;
    this.#isRunning = true;
    try {
      if (await this.#sendAll(this.#sink)) this.#events.sent();
    } catch (error) {
      this.#events.failed(toGatewayError(error));
    } finally {
      this.#isRunning = false;
    }
  }

  /** Resolves to true once all is sent, and to false where the pump was stopped. */
  async #sendAll(sink: BodySink): Promise<boolean> {
    const messages = this.#messages;
    const pace = new Pace(turnMsMax);
    for (let message = messages.next(); message; message = messages.next()) {
      const frame =
        message.payload.length === 0
          ? message.frame
          : await this.passage.inspect(message, messages.codingOf(message));
      if (this.#isStopped) return false;
      this.#events.moved();
      if (!sink.write(frame)) await this.#room();
      if (pace.isDue()) await pace.turn();
      if (this.#isStopped) return false;
    }
    return true;
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
