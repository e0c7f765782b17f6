import type { CallAdmission } from './call-facts.ts';
import type { Finding } from './finding.ts';
import { newTraceId } from './ids.ts';
import type { BodyValue, Operation } from './operation.ts';
import type { NameReader } from './safe-name.ts';
import type { Target } from './target.ts';
import type { Risk, Verdict } from './verdict.ts';

/* A call as an entrance makes it of a request, before anything is known of its caller. */

export type Entrance = 'forward' | 'inbound' | 'scan' | 'a2a';

/** A key as it may be held in memory: its prefix to name it, its hash to find it. */
export interface PresentedKey {
  readonly prefix: string;
  readonly hash: string;
}

/** The caller's own statements. All are recorded; none is believed beyond the tenant of its key. */
export interface Claimed {
  readonly agentId?: string;
  readonly agentName?: string;
  readonly runtimeType?: string;
  readonly context?: string;
  readonly envName?: string;
}

/** A head that was read, what was found in it, and by whom: another reader may know more. */
export interface ReadHead {
  /** The call that it was last the head of, as it stood on the wire. */
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

/** A call whose names can be shown. It knows what was found in it; every inspected call is one. */
export interface NamedCall {
  readonly received: ReceivedCall;
  readonly operation?: Operation | undefined;
  /** Empty where nobody knows what the call does. */
  readonly destination: string;
  /** URL and headers as one text; empty where they were not read. */
  readonly head: Buffer;
  readonly findings: readonly Finding[];
  readonly safeName: NameReader;
}

/** The part of a decided call that its later messages are judged by. */
export interface OpenedCall extends NamedCall {
  readonly admission: CallAdmission;
  readonly risk: Risk;
  readonly verdict: Verdict;
}

/** The open call that a message belongs to, and the bytes that went out before it. */
export interface MessageOf {
  readonly opening: OpenedCall;
  /** The last bytes that went out before it: what begins there may end in it. */
  readonly before: Buffer;
  /** The same of each field of protobuf, by its path. */
  readonly fieldEnds: ReadonlyMap<string, Buffer>;
}

/** The fields of a call that an entrance must say, and those that it may. */
export interface ReceivedFields {
  readonly traceId: string;
  readonly entrance: Entrance;
  readonly receivedAtMs: number;
  /** The address of the caller at the socket, or as a trusted proxy before it says. */
  readonly clientAddress: string;
  /** The presented key; `undefined` where none was presented. Only its hash is kept. */
  readonly key: PresentedKey | undefined;
  readonly method: string;
  readonly target: Target;
  /** Flat [name, value, …] as received, without the gateway's own fields; a forwarded head is made of it. */
  readonly headers: readonly string[];
  /** As received; empty where there is none. */
  readonly body: Buffer;
  readonly contentType: string;
  readonly contentEncoding: string;
  /** From the proxy user name, a header or the scan request; UUIDs override the key's agent. */
  readonly claimed: Claimed;
  /** The last head that was read on this connection; undefined where calls share no connection. */
  readonly lastHead: ReadHead | undefined;
  /** The limit of the body where the route or tool sets one; else the limit of the tenant counts. */
  readonly bodyBytesMax?: number | undefined;
  /** The open call that this call is a further message of. */
  readonly message?: MessageOf | undefined;
  /** The credential that the route names, or null for none. Undefined: the configuration chooses. */
  readonly wayCredential?: string | null | undefined;
  /** It asks to go on as a WebSocket: what follows is judged message by message. */
  readonly opensWebSocket?: boolean;
  /** It came by a route that asks nobody who he is: what strangers do is not held against its agent. */
  readonly isAnonymous?: boolean;
  /** Tells whether the caller is still there to get an answer. Default: always. */
  readonly isAwaited?: () => boolean;
}

/**
 * The readings of a body, each made once, by whoever asks first: classification, budgets and rules ask for
 * the same ones. The only part of a call that changes; it holds no judgement.
 */
export class BodyReadings {
  /** The body without its content coding: what is inspected, and what findings count their bytes in. */
  plain: Buffer | undefined;
  parsed: BodyValue | undefined;
  /** Texts that were looked for in the body, and whether they stand there. */
  mentioned: Map<string, boolean> | undefined;
  /** Why the call could not be read to its end; undefined where it could. */
  unreadable: string | undefined;
  /**
   * It could not be read, or read again, because the time was over or a reader thread has ended: that proves
   * nothing about the content.
   */
  isOutOfTime = false;

  /** Notes why the call cannot be read to its end. The first reason stands. */
  noteUnreadable(reason: string | undefined, isOutOfTime: boolean): void {
    if (this.unreadable !== undefined || reason === undefined) return;
    this.unreadable = reason;
    this.isOutOfTime = isOutOfTime;
  }
}

/** A request as it came, the first state of every call: see `call.ts`. */
export interface ReceivedCall extends ReceivedFields {
  readonly isAwaited: () => boolean;
  readonly opensWebSocket: boolean;
  readonly isAnonymous: boolean;
  readonly readings: BodyReadings;
}

/** Makes a call of its fields, one by one: all calls have one shape, for which readers are compiled. */
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

/** Makes a call without head or body: a refused tunnel, a described call, a recorded one. */
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

/** Tells whether the call is a tunnel that nobody reads. No other forwarded call has this method. */
export const isTunnel = ({
  entrance,
  method,
}: {
  readonly entrance?: Entrance;
  readonly method: string;
}): boolean => method === 'CONNECT' && entrance === 'forward';
