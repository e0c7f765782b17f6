import type { ClassifiedCall, DecidedCall, ReceivedCall, Verdict } from '../core/call.ts';
import { type GatewayError, toGatewayError } from '../core/errors.ts';
import type { Log } from '../core/log.ts';
import type { EntranceGate } from '../decision/gate.ts';
import type { ResponseInspector } from '../response/inspector.ts';
import { mayComeIn, messagePiece, messageType } from '../response/websocket.ts';
import type { Scrub } from '../wire/client/scrub/scrub.ts';
import { controlBytesMax, type Incoming, type Peer, reasonBytesMax } from '../wire/websocket/peer.ts';

interface WebSocketRelayOptions {
  /** Returns the present gate, so that messages are judged by the rules that hold when they come. */
  readonly gate: () => EntranceGate;
  /** Call that has opened the connection. */
  readonly call: DecidedCall;
  readonly classify: ((message: ReceivedCall) => ClassifiedCall | undefined) | undefined;
  /** Rejects where the route by which the call came does not stand any more. */
  readonly checkWay: (() => Promise<void>) | undefined;
  readonly inspector: ResponseInspector;
  readonly scrub: Scrub | undefined;
  readonly agent: Peer;
  readonly upstream: Peer;
  readonly log: Log;
}

const goingAway = 1001;
const policyViolation = 1008;
const internalError = 1011;
const tryAgainLater = 1013;
/** Milliseconds for the other side to answer a close frame, and to close its connection. */
const closeTimeoutMs = 5_000;
const noBytes = Buffer.alloc(0);

/**
 * Passes messages both ways, in order: the next one is read when the one before was judged and taken. A
 * message that must not pass closes both ends.
 */
export class WebSocketRelay {
  readonly #options: WebSocketRelayOptions;
  readonly #idle: NodeJS.Timeout;
  #isEnding = false;

  constructor(options: WebSocketRelayOptions) {
    this.#options = options;
    this.#idle = setTimeout(
      () => this.#endWith(goingAway, 'idle'),
      options.gate().config.limits.idleTimeoutMs,
    );
    this.#idle.unref();
  }

  /** Resolves when both connections are closed. Never rejects. */
  async run(): Promise<void> {
    const { agent, upstream } = this.#options;
    const closed = [agent, upstream].map((it) => new Promise<void>((resolve) => it.onceClosed(resolve)));
    await Promise.all([
      this.#pump(agent, (it) => this.#fromAgent(it)),
      this.#pump(upstream, (it) => this.#fromUpstream(it)),
    ]);
    agent.end();
    upstream.end();
    const cut = setTimeout(() => this.#destroy(), closeTimeoutMs);
    await Promise.all(closed);
    clearTimeout(cut);
    clearTimeout(this.#idle);
  }

  drain(): void {
    this.#endWith(goingAway, 'SHUTTING_DOWN');
  }

  /** Takes what comes from one end until nothing follows. */
  async #pump(peer: Peer, take: (incoming: Incoming) => Promise<void>): Promise<void> {
    for (;;) {
      const incoming = await peer.next();
      this.#idle.refresh();
      if (this.#isEnding && !isLast(incoming)) continue;
      try {
        await take(incoming);
      } catch (error) {
        this.#fail(toGatewayError(error));
      }
      if (isLast(incoming)) return;
    }
  }

  async #fromAgent(incoming: Incoming): Promise<void> {
    const { upstream } = this.#options;
    switch (incoming.kind) {
      case 'message': {
        const { data, isBinary } = incoming;
        const judged = await this.#judged(data, isBinary);
        if (judged) await upstream.send(judged, isBinary);
        return;
      }
      case 'ping':
      case 'pong': {
        const { data, kind } = incoming;
        const judged = data.length === 0 ? data : await this.#judged(data, true);
        if (judged) await upstream[kind](judged === data ? data : noBytes);
        return;
      }
      case 'close': {
        const { code, reason } = incoming;
        const judged = reason.length === 0 ? reason : await this.#judged(reason, false);
        if (judged) this.#passClose(upstream, code, judged === reason ? reason : noBytes);
        return;
      }
      default:
        this.#ended(incoming);
    }
  }

  async #fromUpstream(incoming: Incoming): Promise<void> {
    const { gate, agent, inspector, call, checkWay } = this.#options;
    switch (incoming.kind) {
      case 'message': {
        await checkWay?.();
        await gate().checkOpen(call);
        const { isBinary } = incoming;
        const data = this.#scrubbed(incoming.data);
        const isHeld = inspector.rules?.isEnforced ?? false;
        if (!isHeld && !this.#isEnding) await agent.send(data, isBinary);
        const { reasons, bytes } = await inspector.inspect(messagePiece(data, isBinary));
        if (reasons.length > 0) this.#endWith(policyViolation, reasons[0] ?? '');
        else if (isHeld && !this.#isEnding) await agent.send(bytes, isBinary);
        return;
      }
      case 'ping':
      case 'pong': {
        const data = this.#scrubbed(incoming.data).subarray(0, controlBytesMax);
        const mayPass = await mayComeIn(inspector, data);
        if (!this.#isEnding) await agent[incoming.kind](mayPass ? data : noBytes);
        return;
      }
      case 'close': {
        const reason = this.#scrubbed(incoming.reason);
        const mayPass = reason.length <= reasonBytesMax && (await mayComeIn(inspector, reason));
        this.#passClose(agent, incoming.code, mayPass ? reason : noBytes);
        return;
      }
      default:
        this.#ended(incoming);
    }
  }

  /** Resolves to the part of the agent's message that may go; undefined while both ends are closing. */
  async #judged(data: Buffer, isBinary: boolean): Promise<Buffer | undefined> {
    const { gate, call, classify, checkWay } = this.#options;
    await checkWay?.();
    const contentType = messageType(data, isBinary);
    const { verdict } = await gate().inspectMessage(call, data, { contentType, classify });
    if (this.#isEnding) return undefined;
    if (verdict.decision === 'ALLOW') return data;
    if (verdict.decision === 'SANITIZE') return verdict.sanitizedBody ?? data;
    this.#endWith(policyViolation, reasonOf(verdict));
    return undefined;
  }

  #scrubbed(data: Buffer): Buffer {
    const body = this.#options.scrub?.body(false);
    if (!body || data.length === 0) return data;
    return Buffer.concat([body.push(data), body.end()]);
  }

  /** Passes a close frame on. The other end may answer within a short while. */
  #passClose(to: Peer, code: number, reason: Buffer): void {
    to.close(code, reason);
    this.#cutOff();
  }

  /** Closes the other end, where one broke off or broke the protocol. */
  #ended(incoming: Incoming): void {
    if (incoming.kind === 'broken') this.#endWith(incoming.code, '');
    else if (!this.#isEnding) this.#endWith(goingAway, '');
  }

  #fail(error: GatewayError): void {
    const { call, log } = this.#options;
    if (error.code === 'INTERNAL')
      log.error({ trace_id: call.traceId, err: error.cause }, 'a message could not be judged');
    const code = error.code === 'INTERNAL' ? internalError : codeOf[error.code];
    this.#endWith(code ?? policyViolation, error.code);
  }

  /** Closes both ends. Nothing more passes. */
  #endWith(code: number, reason: string): void {
    if (this.#isEnding) return;
    this.#isEnding = true;
    const { agent, upstream } = this.#options;
    const said = Buffer.from(reason).subarray(0, reasonBytesMax);
    agent.close(code, said);
    upstream.close(code, said);
    this.#cutOff();
  }

  #cutOff(): void {
    setTimeout(() => this.#destroy(), closeTimeoutMs).unref();
  }

  #destroy(): void {
    this.#options.agent.destroy();
    this.#options.upstream.destroy();
  }
}

/** Tells whether nothing comes behind what came. */
const isLast = ({ kind }: Incoming): boolean => kind === 'close' || kind === 'broken' || kind === 'gone';

const codeOf: Readonly<Partial<Record<GatewayError['code'], number>>> = {
  STATE_UNAVAILABLE: tryAgainLater,
  GATEWAY_BUSY: tryAgainLater,
  SHUTTING_DOWN: goingAway,
};

const reasonOf = ({ reasonCodes, decision }: Verdict): string => reasonCodes[0] ?? decision;
