import type { Finding, Meaning, Threat, ToolConcern } from './finding.ts';
import {
  type Habits,
  noHabits,
  noSightings,
  type SensitiveRead,
  type Sightings,
  type TrustMark,
} from './history.ts';
import { type BodyValue, noPrivileges, type Operation, type Privileges } from './operation.ts';
import { type NameReader, type SafeName, unreadName } from './safe-name.ts';
import type { Target } from './target.ts';
import type { Band, IncidentCause, RiskPart, Signal, Verdict } from './verdict.ts';

export * from './finding.ts';
export * from './operation.ts';
export * from './verdict.ts';

/*
 * The nouns that everybody shares. An agent makes a call through an entrance; stages fill in what is known of it; the last of
 * them gives a verdict. Types that one module alone needs live with that module.
 */

export type Entrance = 'forward' | 'inbound' | 'scan' | 'a2a';

/** The tenant, agent and key record that a presented key belongs to; the key itself is never in here. */
export interface Identity {
  readonly keyId: string;
  readonly keyPrefix: string;
  readonly tenantId: string;
  readonly envName: string;
  /** The agent that makes the call: the key's own, or another one of the tenant that the call names. */
  readonly agentId: string;
  readonly agentName: string;
  /** The agent of the key. Nothing that a call claims changes it: stored credentials are chosen by it. */
  readonly ownAgent: OwnAgent;
  readonly permissions: ReadonlySet<string>;
}

/** The agent that a key was made for, as it is registered. */
export interface OwnAgent {
  readonly agentId: string;
  readonly name: string;
  readonly runtimeType: string | null;
}

/** Something that an agent was answered, and that a call carries out of the organisation. */
export interface CarriedRead {
  readonly read: SensitiveRead;
  /** `content`: a good part of it, word for word; `class`: data of the same class. */
  readonly by: 'content' | 'class';
}

/** An agent is suspended by itself, or with all agents of its tenant. */
export type AgentStatus = 'active' | 'suspended' | 'tenant-suspended';

/**
 * The state's answer to a call: admitted and counted, blocked by the allowlist of its key, over a rate, or refused
 * for anything else.
 */
type Outcome = 'call' | 'blocked' | 'limited' | 'refused';

/** An amount that a call has charged to a budget, in whole numbers so that sums are exact. */
export interface Charge {
  readonly name: string;
  /** `2026-11-21`, in the budget's zone. */
  readonly day: string;
  readonly amount: number;
}

const noBytes = Buffer.alloc(0);
const none: readonly never[] = Object.freeze([]);

/** See `Facts.wordsFound` of the policies. */
export interface FoundInBody {
  readonly list: readonly string[];
  readonly found: Uint8Array;
  readonly hidesNames: boolean;
}

/** One intended or actual outbound call. Entrances fill the first half, stages the second. */
export class Call {
  readonly traceId: string;
  readonly entrance: Entrance;
  readonly receivedAtMs: number;
  /** The address of the caller at the socket, or as a trusted proxy before it says. */
  readonly clientAddress: string;
  /** The presented key; `undefined` where none was presented. Only its hash is kept. */
  readonly key: PresentedKey | undefined;
  readonly method: string;
  readonly target: Target;
  /** Flat [name, value, …] as received, without the gateway's own fields; what is forwarded is made of these. */
  readonly headers: readonly string[];
  /** As received; empty where there is none. */
  readonly body: Buffer;
  readonly contentType: string;
  readonly contentEncoding: string;
  /** From the proxy user name, a header or the scan request; UUIDs override the key's agent. */
  readonly claimed: Claimed;
  /** The last head that was read on this connection; undefined where calls share no connection. */
  readonly lastHead: ReadHead | undefined;
  /** Tells whether the caller is still there to get an answer. */
  readonly isAwaited: () => boolean;
  /** The credential that the route names, or null for none. Undefined: the configuration chooses. */
  readonly wayCredential: string | null | undefined;
  /** It asks to go on as a WebSocket: what follows is judged message by message. */
  readonly opensWebSocket: boolean;
  /** It came by a route that asks nobody who he is: what strangers do is not held against its agent. */
  readonly isAnonymous: boolean;
  /** The limit of the body where the route or tool sets one; else the limit of the tenant counts. */
  readonly bodyBytesMax: number | undefined;
  /** The open call that this call is a further message of. */
  readonly message: MessageOf | undefined;

  /** The names by which traces and approvals speak of the agent: as claimed, save what must not be kept. Undefined until they are read. */
  agentName: SafeName | undefined;
  runtimeType: SafeName | undefined;
  /** Makes names of the call safe to keep and show, as the tenant's detectors read them. Until its tenant is known none is. */
  safeName: NameReader = unreadName;
  identity: Identity | undefined;
  operation: Operation | undefined;
  agentStatus: AgentStatus = 'active';
  outcome: Outcome = 'refused';
  /** Sentences that say how the call leaves the scope of its key; empty where it does not. */
  scopeViolations: readonly SafeName[] = none;
  /** The state is away, and the call goes on with what was known of its key and tenant. */
  isDegraded = false;
  /** The resource or host that the call touches, as `is_new_destination` counts it. */
  destination = '';
  isNewDestination = false;
  isNewHost = false;
  /** The agent knows the tool, but has never done this with it. */
  isNewOperation = false;
  /** Names of these that the agent has touched with this call, where it is let out. */
  newNames: readonly string[] = none;
  habits: Habits = noHabits;
  /** 0 to 1, and the last that was held against the agent. */
  trustScore = 1;
  trustMarks: readonly TrustMark[] = none;
  sightings: Sightings = noSightings;
  /** Budgets that were used up before this call. */
  exceededBudgets: readonly string[] = none;
  /** Amounts charged to budgets; they are given back unless the call is let out. */
  charges: readonly Charge[] = none;
  /** Known concerns about the tools of an MCP server that the call uses. */
  toolConcerns: readonly ToolConcern[] = none;
  /** The body without its content coding, once it was asked for: what is read, what findings count their bytes in. */
  plain: Buffer | undefined;
  /** The body parsed, once it was asked for. */
  parsed: BodyValue | undefined;
  /** Texts that were looked for in the body, and whether they stand there. */
  mentioned: Map<string, boolean> | undefined;
  #bodyTexts: readonly Buffer[] | (() => readonly Buffer[]) = [];
  /** Words of the policy set that were found in `bodyTexts`, by the list of its words. */
  wordsFound: FoundInBody | undefined;
  /** URLs in those, each in the ways in which it may end; undefined where nobody has looked for them. */
  bodyUrls: readonly (readonly string[])[] | undefined;
  /** URL and headers as one text, which findings in them count their bytes in; empty where it was not read. */
  head: Buffer = noBytes;
  findings: Finding[] = [];
  /** Credentials without a vendor that get their home, or keep it, where the call is let out. Undefined: there are none. */
  homing: Homing | undefined;
  /** Credentials at home that are known from there: to send one is not to carry out what was read. */
  knownCredentials: readonly string[] = none;
  /** How surely it gives orders to the agent that reads it, 0 to 1: a message between agents, or the context of any call. */
  injection = 0;
  /** What the text of the context and the body asks for. */
  meanings: readonly Meaning[] = none;
  /** Places that could not be read, such as `image at body:$.file`. */
  opaque: readonly string[] = none;
  /** Classes of which only the first findings are listed: they cannot be cut out. */
  uncounted: readonly Finding['class'][] = none;
  /** Reads another body as the call's own was read, and answers what is in it; undefined where that cannot be read to its end. */
  readAgain: ((body: Buffer) => readonly Finding[] | undefined) | undefined;
  /** Cuts these findings out of a large body and reads what is left, in a thread; undefined where that cannot be done. Absent for small ones. */
  cutApart: ((body: Buffer, cuts: readonly Finding[]) => Promise<CutBody | undefined>) | undefined;
  /** Bodies that were cut so, by the classes that were to be cut. */
  cutBodies: Map<string, Buffer | undefined> | undefined;
  /** Notes in findings of a body that was cut what is at home; absent where nothing is. */
  markAgain: ((body: Buffer, findings: readonly Finding[]) => readonly Finding[]) | undefined;
  /** Why the call could not be read to its end; undefined where it could. */
  unreadable: string | undefined;
  /** It could not be read, or read again, because the time was over: the gateway was too slow, or the call too dear. */
  isOutOfTime = false;
  threats: readonly Threat[] = none;
  /** It addresses somebody outside the organisation. */
  isExternal = false;
  /** The first thing it does that makes somebody who may be given rights, and the first that gives rights. */
  privileges: Privileges = noPrivileges;
  /** Contents of earlier answers that the call carries out of the organisation. */
  carriedReads: readonly CarriedRead[] = none;
  /** Keyed hashes of the credentials that it carries where none of them belongs. */
  secretHashes: readonly string[] = none;
  signals: Signal[] = [];
  riskScore = 0;
  riskBand: Band = 'LOW';
  /** The band that is left when what SANITIZE cuts is gone. */
  residualBand: Band = 'LOW';
  /** How the score has come about: what each engine adds, what the trust in the agent adds, and what it is at least for what was found. */
  riskParts: readonly RiskPart[] = none;
  trustModifier = 0;
  riskFloor = 0;
  /** In monitor mode: everything passes, and nothing follows from it. */
  isMonitored = false;
  /** What the call costs the trust in its agent. */
  trustLoss: readonly TrustMark[] = none;
  incidents: readonly IncidentCause[] = none;
  verdict: Verdict | undefined;

  /** The body and its decoded forms; made when they are asked for where that can be done at little cost. */
  get bodyTexts(): readonly Buffer[] {
    if (typeof this.#bodyTexts === 'function') this.#bodyTexts = this.#bodyTexts();
    return this.#bodyTexts;
  }

  set bodyTexts(texts: readonly Buffer[] | (() => readonly Buffer[])) {
    this.#bodyTexts = texts;
  }

  constructor(from: CallFields) {
    this.traceId = from.traceId;
    this.entrance = from.entrance;
    this.receivedAtMs = from.receivedAtMs;
    this.clientAddress = from.clientAddress;
    this.key = from.key;
    this.method = from.method;
    this.target = from.target;
    this.headers = from.headers;
    this.body = from.body;
    this.contentType = from.contentType;
    this.contentEncoding = from.contentEncoding;
    this.claimed = from.claimed;
    this.lastHead = from.lastHead;
    this.isAwaited = from.isAwaited ?? always;
    this.bodyBytesMax = from.bodyBytesMax;
    this.message = from.message;
    this.wayCredential = from.wayCredential;
    this.opensWebSocket = from.opensWebSocket ?? false;
    this.isAnonymous = from.isAnonymous ?? false;
  }
}

export interface CallFields {
  traceId: string;
  entrance: Entrance;
  receivedAtMs: number;
  clientAddress: string;
  key: PresentedKey | undefined;
  method: string;
  target: Target;
  headers: readonly string[];
  body: Buffer;
  contentType: string;
  contentEncoding: string;
  claimed: Claimed;
  lastHead: ReadHead | undefined;
  bodyBytesMax?: number | undefined;
  message?: MessageOf;
  wayCredential?: string | null | undefined;
  opensWebSocket?: boolean;
  isAnonymous?: boolean;
  /** Default: always. Entrances that can hold a call open say it. */
  isAwaited?: () => boolean;
}

const always = (): boolean => true;

/** A body of which something was cut, and what is in it still. */
export interface CutBody {
  readonly body: Buffer;
  readonly findings: readonly Finding[];
}

/** The home that the call's credentials get where it is let out. All are keyed hashes. */
export interface Homing {
  readonly home: string;
  readonly credentials: readonly { readonly credential: string; readonly keptMs: number }[];
}

/** The open call that a message belongs to, and the bytes that went out before it. */
export interface MessageOf {
  readonly opening: Call;
  /** The last bytes that went out before it: what begins there may end in it. */
  readonly before: Buffer;
  /** The same of each field of protobuf, by its path. */
  readonly fieldEnds: ReadonlyMap<string, Buffer>;
}

/** Tells whether the call itself is a tunnel that nobody will read. No other forwarded call has this method. */
export const isTunnel = ({
  entrance,
  method,
}: {
  readonly entrance?: Entrance;
  readonly method: string;
}): boolean => method === 'CONNECT' && entrance === 'forward';

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

export const noHead = (): ReadHead => ({
  ...{ method: '', target: undefined, headers: [] },
  ...{ text: '', bytes: noBytes, findings: [], reader: undefined },
});

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
