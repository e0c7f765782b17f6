import type { Socket } from 'node:net';
import { GatewayError, toGatewayError } from '../../core/errors.ts';
import type { OriginContext, Waiting } from './carrier.ts';
import { toExchangeFailure } from './failures.ts';
import { Session } from './session.ts';

/** Places for sessions that all agents at one origin share. */
interface SharedPlaces {
  dial(): Promise<Socket>;
  /** Takes a place; false where none is free. Then `openAsNeeded` is called when one is. */
  take(): boolean;
  /** Gives a place back. */
  free(): void;
  /** Notes that a session carries nothing any more: another agent may want its place. */
  idled(): void;
}

/**
 * Keeps the HTTP/2 sessions of one agent with one origin. All requests share one session. While it is full or
 * says goodbye, another one is opened beside it, as long as there are places.
 */
export class AgentSessions {
  readonly #context: OriginContext;
  readonly #places: SharedPlaces;
  readonly #sessions = new Set<Session>();
  readonly #waiting: Waiting[] = [];
  #isOpening = false;
  #isRetired = false;

  constructor(context: OriginContext, places: SharedPlaces) {
    this.#context = context;
    this.#places = places;
  }

  /** Tells whether there is no session, and no request that waits for one. */
  get isEmpty(): boolean {
    return this.#sessions.size === 0 && this.#waiting.length === 0 && !this.#isOpening;
  }

  /** Returns the session that has been idle longest; undefined where none is idle. */
  get idlest(): Session | undefined {
    const idle = [...this.#sessions].filter((it) => it.isIdle);
    return idle.toSorted((a, b) => a.idleTick - b.idleTick)[0];
  }

  send(request: Waiting): void {
    const session = [...this.#sessions].find((it) => it.hasRoom);
    if (session) request.sendOn(session.carrier());
    else {
      this.#waiting.push(request);
      this.openAsNeeded();
    }
  }

  /** Notes that the request waits no longer. */
  forget(request: Waiting): void {
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

  /** Opens one session at a time: it may carry all that wait, and another one would get no streams either. */
  openAsNeeded(): void {
    if (this.#waiting.length === 0 || this.#isOpening) return;
    if ([...this.#sessions].some((it) => it.takesNone)) return;
    if (!this.#places.take()) return;
    this.#isOpening = true;
    this.#places.dial().then(
      (socket) => this.#opened(socket),
      (error: unknown) => this.#notOpened(toGatewayError(error)),
    );
  }

  #opened(socket: Socket): void {
    // TLS without the protocol is HTTP/1.1; what it would make of our first bytes nobody knows.
    if ('alpnProtocol' in socket && socket.alpnProtocol !== 'h2') {
      socket.destroy();
      this.#notOpened(new GatewayError('UPSTREAM_PROTOCOL', 'The upstream does not speak HTTP/2.'));
      return;
    }
    this.#isOpening = false;
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
      if (!next) break;
      next.sendOn(session.carrier());
    }
    this.openAsNeeded();
    if (session.isIdle) this.#places.idled();
  }

  #gone(session: Session, error: unknown): void {
    this.#sessions.delete(session);
    // The next one would be of no more use, and so without end.
    if (!session.wasOfUse) this.#fail(toExchangeFailure(error, false));
    this.#places.free();
  }

  #notOpened(error: GatewayError): void {
    this.#isOpening = false;
    this.#fail(error);
    this.#places.free();
  }

  /** Fails all that wait: they would have gone the same way. */
  #fail(error: GatewayError): void {
    for (const request of this.#waiting.splice(0)) request.fail(error);
  }
}
