import { type ClientHttp2Session, connect } from 'node:http2';
import type { Socket } from 'node:net';
import { GatewayError, toGatewayError } from '../../core/errors.ts';
import { fieldsMax } from '../http1/response-head-reader.ts';
import type { Origin, OriginContext, Waiting } from './carrier.ts';
import type { TlsSessionStore } from './connect.ts';
import { ConnectionEnded, toExchangeFailure } from './failures.ts';
import { StreamCarrier } from './stream-carrier.ts';

/** Streams that one session has at most, whatever the upstream would take. */
const streamsMax = 100;
const sessionMegabytesMax = 16;
/** Bytes of each stream's window: no more of an answer is read ahead. */
const windowBytes = 1024 * 1024;

/**
 * Sends requests over HTTP/2 sessions with one scheme, host and port (RFC 9113). All requests share one
 * session. While it is full or says goodbye, another one is opened beside it, up to the limit.
 */
export class SessionOrigin implements Origin {
  running = 0;
  usedTick = 0;
  readonly #context: OriginContext;
  readonly #dial: (session: TlsSessionStore) => Promise<Socket>;
  readonly #tlsSession: TlsSessionStore = { session: undefined };
  readonly #sessions = new Set<Session>();
  readonly #waiting: Waiting[] = [];
  #opening = 0;
  #isRetired = false;

  constructor(context: OriginContext, dial: (session: TlsSessionStore) => Promise<Socket>) {
    this.#context = context;
    this.#dial = dial;
  }

  dispatch(request: Waiting): void {
    this.running++;
    this.#send(request);
  }

  repeat(request: Waiting): void {
    this.#send(request);
  }

  release(request: Waiting, tick: number): void {
    this.running--;
    this.usedTick = tick;
    const at = this.#waiting.indexOf(request);
    if (at >= 0) this.#waiting.splice(at, 1);
  }

  retire(): void {
    this.#isRetired = true;
    for (const session of this.#sessions) session.close();
  }

  sweep(tick: number): void {
    const keptTicks = this.#context.deadlines.toTicksWithin(this.#context.keptMs);
    for (const session of this.#sessions) if (tick - session.idleTick >= keptTicks) session.close();
  }

  #send(request: Waiting): void {
    const session = [...this.#sessions].find((it) => it.hasRoom);
    if (session) request.sendOn(session.carrier());
    else {
      this.#waiting.push(request);
      this.#openAsNeeded();
    }
  }

  /**
   * Opens a session where requests wait. One is opened at a time, since it may carry all of them. None is
   * opened while the upstream takes no streams, since another one would get none either.
   */
  #openAsNeeded(): void {
    if (this.#waiting.length === 0 || this.#opening > 0) return;
    if (this.#sessions.size >= this.#context.connectionsMax) return;
    if ([...this.#sessions].some((it) => it.takesNone)) return;
    this.#opening++;
    this.#dial(this.#tlsSession).then(
      (socket) => this.#opened(socket),
      (error: unknown) => this.#notOpened(toGatewayError(error)),
    );
  }

  #opened(socket: Socket): void {
    this.#opening--;
    // TLS without the protocol is HTTP/1.1, and nobody knows what that would make of our first bytes.
    if ('alpnProtocol' in socket && socket.alpnProtocol !== 'h2') {
      socket.destroy();
      this.#fail(new GatewayError('UPSTREAM_PROTOCOL', 'The upstream does not speak HTTP/2.'));
      return;
    }
    const session = new Session(socket, this.#context, {
      onRoom: () => this.#serve(session),
      onGone: (error) => this.#gone(session, error),
    });
    this.#sessions.add(session);
    this.#serve(session);
    if (this.#isRetired) session.close();
  }

  #serve(session: Session): void {
    while (session.hasRoom) {
      const next = this.#waiting.shift();
      if (!next) return;
      next.sendOn(session.carrier());
    }
    this.#openAsNeeded();
  }

  #gone(session: Session, error: unknown): void {
    this.#sessions.delete(session);
    if (session.wasReady) this.#openAsNeeded();
    else this.#fail(toExchangeFailure(error, false));
  }

  #notOpened(error: GatewayError): void {
    this.#opening--;
    this.#fail(error);
  }

  /** Fails all requests that wait: they would have gone the same way. */
  #fail(error: GatewayError): void {
    for (const request of this.#waiting.splice(0)) request.fail(error);
  }
}

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

/** Keeps one session and counts its streams. */
class Session {
  /** Tells whether the session has heard from the upstream in HTTP/2. */
  wasReady = false;
  /** Tick since which the session carries nothing; infinite while it carries something. */
  idleTick: number;
  readonly #session: ClientHttp2Session;
  readonly #socket: Socket;
  readonly #context: OriginContext;
  readonly #events: SessionEvents;
  #streams = 0;
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
    const isKnown = this.wasReady || !this.#context.awaitsSettings;
    return this.#isOpen && isKnown && this.#streams < Math.min(streamsMax, this.#streamsTaken);
  }

  /**
   * Tells whether the session stands, and the upstream has said that it takes no streams for now (RFC 9113,
   * 5.1.2).
   */
  get takesNone(): boolean {
    return this.#isOpen && this.#streamsTaken === 0;
  }

  get #isOpen(): boolean {
    return !this.#session.closed && !this.#session.destroyed;
  }

  get #streamsTaken(): number {
    return (this.wasReady ? this.#session.remoteSettings.maxConcurrentStreams : undefined) ?? streamsMax;
  }

  carrier(): StreamCarrier {
    this.#streams++;
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
