import { type ClientHttp2Session, connect } from 'node:http2';
import type { Socket } from 'node:net';
import { fieldsMax } from '../http1/response-head-reader.ts';
import type { OriginContext } from './carrier.ts';
import { ConnectionEnded } from './failures.ts';
import { StreamCarrier } from './stream-carrier.ts';

/** Streams that one session has at most, whatever the upstream would take. */
const streamsMax = 100;
const sessionMegabytesMax = 16;
/** Bytes of each stream's window: no more of an answer is read ahead. */
const windowBytes = 1024 * 1024;

interface SessionEvents {
  onRoom(): void;
  /** Notes that the session is gone. It is called once, for whatever reason. */
  onGone(error: unknown): void;
}

const sessionOptions = {
  maxSessionMemory: sessionMegabytesMax,
  maxHeaderListPairs: fieldsMax,
  // A doubled field is sent as it was judged; by default Node throws.
  strictSingleValueFields: false,
  settings: { enablePush: false, initialWindowSize: windowBytes },
};

/** Keeps one HTTP/2 session with an upstream and counts its streams (RFC 9113). */
export class Session {
  /** Tells whether the session has heard from the upstream in HTTP/2. */
  wasReady = false;
  /** Tick since which the session carries nothing; infinite while it carries something. */
  idleTick: number;
  readonly #session: ClientHttp2Session;
  readonly #socket: Socket;
  readonly #context: OriginContext;
  readonly #events: SessionEvents;
  #streams = 0;
  #hasCarried = false;
  #failure: unknown = new ConnectionEnded();

  constructor(socket: Socket, context: OriginContext, events: SessionEvents) {
    this.#socket = socket;
    this.#context = context;
    this.#events = events;
    this.idleTick = context.deadlines.tick;
    const options = { ...sessionOptions, createConnection: () => socket };
    // Each request says its authority itself.
    this.#session = connect('https://upstream', options);
    this.#session.on('remoteSettings', () => {
      this.wasReady = true;
      events.onRoom();
    });
    this.#session.on('error', (error) => {
      this.#failure = error;
    });
    this.#session.once('close', () => events.onGone(this.#failure));
  }

  get hasRoom(): boolean {
    return this.#isOpen && this.#isKnown && this.#streams < Math.min(streamsMax, this.#streamsTaken);
  }

  get isIdle(): boolean {
    return this.#streams === 0;
  }

  /**
   * Tells whether the session stands and takes no streams for now: the upstream has said so (RFC 9113, 5.1.2),
   * or has not said yet what it takes.
   */
  get takesNone(): boolean {
    return this.#isOpen && (!this.#isKnown || this.#streamsTaken === 0);
  }

  get #isKnown(): boolean {
    return this.wasReady || !this.#context.awaitsSettings;
  }

  get #isOpen(): boolean {
    return !this.#session.closed && !this.#session.destroyed;
  }

  get #streamsTaken(): number {
    return (this.wasReady ? this.#session.remoteSettings.maxConcurrentStreams : undefined) ?? streamsMax;
  }

  /** Tells whether the session has carried a request, and heard from the upstream. */
  get wasOfUse(): boolean {
    return this.wasReady && this.#hasCarried;
  }

  carrier(): StreamCarrier {
    this.#streams++;
    this.#hasCarried = true;
    this.idleTick = Number.POSITIVE_INFINITY;
    return new StreamCarrier(this.#session, () => this.#streamEnded());
  }

  /** Closes the session when its last stream has ended. */
  close(): void {
    this.#session.close();
    this.#leaveIfDone();
  }

  #streamEnded(): void {
    this.#streams--;
    if (this.#streams === 0) this.idleTick = this.#context.deadlines.tick;
    this.#leaveIfDone();
    if (this.hasRoom) this.#events.onRoom();
  }

  /**
   * Closes the connection once the session is closed and has no stream. Node would wait without end for the
   * upstream to close its side.
   */
  #leaveIfDone(): void {
    if (this.#streams > 0 || !this.#session.closed) return;
    this.#session.destroy();
    this.#socket.destroy();
  }
}
