import type { ServerResponse } from 'node:http';
import type { Dispatcher } from 'undici';
import { GatewayError } from '../errors.ts';
import type { Deadlines, Timed } from './deadlines.ts';
import { isClosedByPeer, toExchangeFailure } from './failures.ts';
import { toClientHeaders, toClientTrailers, withoutField } from './headers.ts';
import type { HeldHeads } from './held-heads.ts';
import type { Origin } from './pools.ts';

export interface RelayOptions {
  readonly response: ServerResponse;
  /** Flat; appended to the head of the answer, and wins over upstream fields of the same names. */
  readonly extraHeaders: readonly string[];
  /** The call failed and no head was sent: the entrance answers. Possibly before `forward` returns. */
  onError(error: GatewayError): void;
  /** The answer ended: whole, or cut off by either side. `status` is 0 where the client left before there was one. */
  onEnd?(outcome: Outcome): void;
  /** Each chunk of the body, after it was handed on. Never held back; whoever keeps them sets the bound. */
  onData?(chunk: Buffer): void;
}

export interface Outcome {
  readonly status: number;
  readonly receivedBytes: number;
  readonly aborted: boolean;
}

/** Exactly one of `onError` and `onEnd` is called, once, whatever happens. */
export interface Forwarding {
  /** Ends the upstream request, and the client's connection too where a head was sent. Without effect at the end. */
  abort(): void;
}

/** What the exchanges of one gateway share. */
export interface RelayContext {
  readonly deadlines: Deadlines;
  readonly heldHeads: HeldHeads;
  readonly responseTicks: number;
  readonly idleTicks: number;
  readonly ownPrefix: string;
}

const aborted = new Error('The exchange is over.');

/** RFC 9110, 9.2.2. Sent twice they mean what they mean sent once. */
const idempotentMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE', 'PUT', 'DELETE']);

/**
 * One exchange: takes an answer from undici and gives it to the client. The head waits for the first chunk, so that a small
 * answer is one write and one TLS record; an answer without a chunk in the same turn of the event loop is not kept waiting
 * (`HeldHeads`), so that server-sent events are never held back.
 */
export class Relay implements Dispatcher.DispatchHandler, Forwarding, Timed {
  slot = 0;
  readonly #request: Dispatcher.DispatchOptions;
  readonly #options: RelayOptions;
  readonly #context: RelayContext;
  readonly #origin: Origin;
  readonly #response: ServerResponse;
  #controller: Dispatcher.DispatchController | undefined;
  #onDrain: (() => void) | undefined;
  #head: string[] | undefined;
  #status = 0;
  #contentLength = -1;
  #receivedBytes = 0;
  #isHeadSent = false;
  #isRetried = false;
  #isAnswering = false;
  #isSettled = false;
  /** undici holds the request and has not begun with it: there is nothing to abort, and it still takes a place. */
  #isQueued = true;
  /** When something moved last. */
  #activeTick: number;

  constructor(
    request: Dispatcher.DispatchOptions,
    options: RelayOptions,
    context: RelayContext,
    origin: Origin,
  ) {
    this.#request = request;
    this.#options = options;
    this.#context = context;
    this.#origin = origin;
    this.#response = options.response;
    this.#activeTick = context.deadlines.tick;
    this.#response.once('close', () => this.abort());
    context.deadlines.add(this);
  }

  start(): void {
    this.#origin.dispatch(this.#request, this);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    this.#leaveQueue();
    // It was settled while it waited for a connection, where undici gives nothing to abort.
    if (this.#isSettled) controller.abort(aborted);
  }

  onResponseStarted(): void {
    this.#isAnswering = true;
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    fields: Record<string, string | string[] | undefined>,
  ): void {
    if (status < 100)
      throw new GatewayError('UPSTREAM_PROTOCOL', 'The upstream answered with a status that is none.');
    if (status === 101) {
      throw new GatewayError('UPSTREAM_PROTOCOL', 'The upstream switched protocols unasked.');
    }
    // Other interim answers are about the hop to us, or hints that a client can do without (RFC 9110, 15.2).
    if (status < 200 || this.#isSettled) return;
    const raw = (controller.rawHeaders ?? []) as Buffer[];
    this.#status = status;
    this.#head = toClientHeaders(raw, this.#options.extraHeaders, this.#context.ownPrefix);
    this.#activeTick = this.#context.deadlines.tick;
    const length = fields['content-length'];
    if (length !== undefined) this.#contentLength = Number(length);
    // RFC 9110, 8.6: a 204 has none; a client that believed it would wait for a body.
    if (status === 204 && length !== undefined) this.#head = withoutField(this.#head, 'content-length');
    this.#context.heldHeads.hold(this);
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#isSettled) return;
    const response = this.#response;
    this.#receivedBytes += chunk.length;
    this.#activeTick = this.#context.deadlines.tick;
    if (!this.#isHeadSent) {
      this.#sendHead();
      if (this.#receivedBytes === this.#contentLength) {
        response.end(chunk);
        this.#options.onData?.(chunk);
        return;
      }
    }
    if (!response.write(chunk)) this.#waitForDrain(controller);
    this.#options.onData?.(chunk);
  }

  onResponseEnd(controller: Dispatcher.DispatchController): void {
    if (this.#isSettled) return;
    if (!this.#isHeadSent) this.#sendHead();
    const response = this.#response;
    if (!response.writableEnded) {
      const raw = controller.rawTrailers as Buffer[] | null | undefined;
      if (raw?.length && response.chunkedEncoding) {
        response.addTrailers(toClientTrailers(raw, this.#options.extraHeaders, this.#context.ownPrefix));
      }
      response.end();
    }
    this.#end(false);
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#leaveQueue();
    if (this.#isSettled) return;
    if (this.#mayRetry(error)) {
      this.#isRetried = true;
      this.#controller = undefined;
      this.#isQueued = true;
      this.#origin.dispatchAlone(this.#request, this);
      return;
    }
    this.fail(toExchangeFailure(error));
  }

  checkDeadline(tick: number): void {
    const idleTicks = tick - this.#activeTick;
    if (this.#status === 0) {
      if (idleTicks < this.#context.responseTicks) return;
      this.fail(new GatewayError('UPSTREAM_TIMEOUT', 'The upstream did not begin to answer in time.'));
    } else if (idleTicks >= this.#context.idleTicks) {
      this.fail(new GatewayError('UPSTREAM_TIMEOUT', 'The upstream stopped in the middle of its answer.'));
    }
  }

  /** Lets go of a head that no body followed in the same turn. */
  flushHead(): void {
    if (this.#isHeadSent || this.#isSettled) return;
    try {
      this.#sendHead();
      this.#response.flushHeaders();
    } catch (error) {
      this.fail(toExchangeFailure(error));
    }
  }

  abort(): void {
    if (this.#isSettled) return;
    if (this.#isHeadSent) this.#response.destroy();
    this.#end(true);
    this.#controller?.abort(aborted);
  }

  /**
   * Ends the exchange for a reason. Once a head was sent there is no other way to tell the client than to cut its connection: a
   * clean end would make half an answer look whole.
   */
  fail(error: GatewayError): void {
    if (this.#isHeadSent || this.#response.headersSent) {
      this.abort();
      return;
    }
    this.#settle();
    this.#controller?.abort(aborted);
    this.#options.onError(error);
  }

  #sendHead(): void {
    this.#response.writeHead(this.#status, this.#head);
    this.#isHeadSent = true;
    this.#head = undefined;
  }

  #waitForDrain(controller: Dispatcher.DispatchController): void {
    controller.pause();
    if (this.#onDrain) return;
    this.#onDrain = () => {
      this.#activeTick = this.#context.deadlines.tick;
      this.#controller?.resume();
    };
    this.#response.on('drain', this.#onDrain);
  }

  #mayRetry(error: Error): boolean {
    return (
      !this.#isRetried &&
      !this.#isAnswering &&
      this.#controller !== undefined &&
      idempotentMethods.has(this.#request.method) &&
      isClosedByPeer(error)
    );
  }

  #end(isAborted: boolean): void {
    this.#settle();
    const outcome = { status: this.#status, receivedBytes: this.#receivedBytes, aborted: isAborted };
    this.#options.onEnd?.(outcome);
  }

  #settle(): void {
    this.#isSettled = true;
    this.#context.deadlines.delete(this);
    if (this.#onDrain) this.#response.off('drain', this.#onDrain);
    // A request that undici still holds keeps its place until undici lets go of it; what it holds shall be little.
    if (this.#isQueued) this.#request.body = null;
    else this.#release();
  }

  #leaveQueue(): void {
    if (!this.#isQueued) return;
    this.#isQueued = false;
    if (this.#isSettled) this.#release();
  }

  #release(): void {
    this.#origin.release(this.#context.deadlines.tick);
  }
}
