import type { CallAdmission } from './call-facts.ts';
import type { Finding } from './finding.ts';
import { newTraceId } from './ids.ts';
import type { BodyValue, Operation } from './operation.ts';
import type { NameReader } from './safe-name.ts';
import type { Target } from './target.ts';
import type { Risk, Verdict } from './verdict.ts';

/* A call as an entrance makes it of a request, before anything is known of its caller. */

export type Entrance = 'forward' | 'inbound' | 'scan' | 'a2a';

/** A key as it may be held in memory: a prefix to name it by, and a hash to find it by. */
export interface PresentedKey {
  readonly prefix: string;
  readonly hash: string;
}

/** The caller's own statements. All are recorded. None is believed beyond the tenant of the caller's key. */
export interface Claimed {
  readonly agentId?: string;
  readonly agentName?: string;
  readonly runtimeType?: string;
  readonly context?: string;
  readonly envName?: string;
}

/** A head that was read, its findings, and its reader. Another reader may know more detectors. */
export interface ReadHead {
  /** The request that had this head last, as it stood on the wire. */
  method: string;
  target: Target | undefined;
  headers: readonly string[];
  text: string;
  bytes: Buffer;
  findings: readonly Finding[];
  reader: unknown;
}

const noBytes = Buffer.alloc(0);

export const noHead = (): ReadHead => ({
  ...{ method: '', target: undefined, headers: [] },
  ...{ text: '', bytes: noBytes, findings: [], reader: undefined },
});

/** A call whose names can be shown, because its findings are known. Every inspected call is one. */
export interface NamedCall {
  readonly received: ReceivedCall;
  readonly operation?: Operation | undefined;
  /** The resource or host that the call touches; empty where nobody knows what the call does. */
  readonly destination: string;
  /** The URL and the headers as one text; empty where they were not read. */
  readonly head: Buffer;
  readonly findings: readonly Finding[];
  readonly safeName: NameReader;
}

/** The part of a decided call by which its later messages are judged. */
export interface OpenedCall extends NamedCall {
  readonly admission: CallAdmission;
  readonly risk: Risk;
  readonly verdict: Verdict;
}

/** The open call that a message belongs to, and the bytes that went out before it. */
export interface MessageOf {
  readonly opening: OpenedCall;
  /** The last bytes that went out before the message. A secret may begin there and end in the message. */
  readonly before: Buffer;
  /** The last bytes that went out in each field of a protobuf message, by the path of the field. */
  readonly fieldEnds: ReadonlyMap<string, Buffer>;
}

/** The fields that an entrance must give of a call, and those that it may. */
export interface ReceivedFields {
  readonly traceId: string;
  readonly entrance: Entrance;
  readonly receivedAtMs: number;
  /** The address of the caller: that of the socket, or what a trusted proxy says. */
  readonly clientAddress: string;
  /** The presented key; undefined where there was none. Only its hash is kept. */
  readonly key: PresentedKey | undefined;
  readonly method: string;
  readonly target: Target;
  /**
   * Names and values in turn, as received, without the gateway's own fields. A forwarded head is made of
   * them.
   */
  readonly headers: readonly string[];
  /** The body as received; empty where there is none. */
  readonly body: Buffer;
  readonly contentType: string;
  readonly contentEncoding: string;
  /** Statements from the proxy user name, a header or the scan request. A UUID overrides the key's agent. */
  readonly claimed: Claimed;
  /** The last head that was read on this connection; undefined where calls share no connection. */
  readonly lastHead: ReadHead | undefined;
  /** The limit of the body where the route or tool sets one. Otherwise the limit of the tenant counts. */
  readonly bodyBytesMax?: number | undefined;
  /** The open call of which this call is a further message. */
  readonly message?: MessageOf | undefined;
  /**
   * The credential that the route names, or null for none. Where it is undefined, the configuration chooses.
   */
  readonly wayCredential?: string | null | undefined;
  /** The call asks to go on as a WebSocket. Each message after it is judged by itself. */
  readonly opensWebSocket?: boolean;
  /**
   * The call came by a route that anybody may call (auth `none`). What strangers do there is not held against
   * its agent.
   */
  readonly isAnonymous?: boolean;
  /** Tells whether the caller still waits for an answer. The default is that it always does. */
  readonly isAwaited?: () => boolean;
}

/**
 * Holds the readings of a body. Each is made once, by whoever asks first, and is shared by classification,
 * budgets and rules. They are the only part of a call that changes, and hold no judgement.
 */
export class BodyReadings {
  /** The body without its content coding. It is what is inspected, and findings count bytes in it. */
  plain: Buffer | undefined;
  parsed: BodyValue | undefined;
  /** Texts that were looked for in the body, and whether each stands there. */
  mentioned: Map<string, boolean> | undefined;
  /** The reason why the call could not be read to its end; undefined where it could. */
  unreadable: string | undefined;
  /**
   * The call could not be read, or read again, because the time was over or a reader thread had ended. That
   * proves nothing about the content.
   */
  isOutOfTime = false;

  /** Notes why the call cannot be read to its end. A first reason is kept. */
  noteUnreadable(reason: string | undefined, isOutOfTime: boolean): void {
    if (this.unreadable !== undefined || reason === undefined) return;
    this.unreadable = reason;
    this.isOutOfTime = isOutOfTime;
  }
}

/** A request as it came, in the first state of every call (`call.ts`). */
export interface ReceivedCall extends ReceivedFields {
  readonly isAwaited: () => boolean;
  readonly opensWebSocket: boolean;
  readonly isAnonymous: boolean;
  readonly readings: BodyReadings;
}

/**
 * Makes a call of its fields. It names each, so that all calls have one shape for the compiler of the engine.
 */
export const receivedCall = (from: ReceivedFields): ReceivedCall => ({
  traceId: from.traceId,
  entrance: from.entrance,
  receivedAtMs: from.receivedAtMs,
  clientAddress: from.clientAddress,
  key: from.key,
  method: from.method,
  target: from.target,
  headers: from.headers,
  body: from.body,
  contentType: from.contentType,
  contentEncoding: from.contentEncoding,
  claimed: from.claimed,
  lastHead: from.lastHead,
  isAwaited: from.isAwaited ?? always,
  bodyBytesMax: from.bodyBytesMax,
  message: from.message,
  wayCredential: from.wayCredential,
  opensWebSocket: from.opensWebSocket ?? false,
  isAnonymous: from.isAnonymous ?? false,
  readings: new BodyReadings(),
});

const always = (): boolean => true;

type BareFields = Pick<
  ReceivedFields,
  'entrance' | 'receivedAtMs' | 'clientAddress' | 'key' | 'method' | 'target'
> &
  Partial<ReceivedFields>;

/** Makes a call without head or body, such as a refused tunnel, a described call or a recorded one. */
export const bareCall = (fields: BareFields): ReceivedCall =>
  receivedCall({
    traceId: fields.traceId ?? newTraceId(fields.receivedAtMs),
    headers: [],
    body: noBytes,
    contentType: '',
    contentEncoding: '',
    claimed: {},
    lastHead: undefined,
    ...fields,
  });

/** Tells whether the call is a tunnel that nobody reads. No other forwarded call has the method CONNECT. */
export const isTunnel = ({
  entrance,
  method,
}: {
  readonly entrance?: Entrance;
  readonly method: string;
}): boolean => method === 'CONNECT' && entrance === 'forward';
