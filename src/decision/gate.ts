import type { Config, InboundRoute } from '../config/schema.ts';
import type { PresentedKey } from '../core/call.ts';
import type { Log } from '../core/log.ts';
import type { SafeName } from '../core/safe-name.ts';
import type { Credentials } from '../credentials/credentials.ts';
import type { Keyless } from '../credentials/keyless.ts';
import type { IsOwnUpstream } from '../credentials/own-upstream.ts';
import type { RouteBook } from '../credentials/route-book.ts';
import type { Vault } from '../credentials/vault.ts';
import type { Transport } from '../notify/channel.ts';
import type { NotificationDesk } from '../notify/notifications.ts';
import type { Feeds } from '../risk/feeds/feeds.ts';
import type { Store } from '../state/store.ts';
import type { Catalogues } from '../tenants/catalogues.ts';
import type { PolicyBook } from '../tenants/policy-book.ts';
import type { Tenants } from '../tenants/tenants.ts';
import type { ToolSettings } from '../tenants/tool-settings.ts';
import type { Guard } from '../wire/client/reach/guard.ts';
import type { Upstream } from '../wire/client/upstream.ts';
import type { HeaderNames } from '../wire/server/decision-headers.ts';
import type { AnswerMemory } from './answers/answer-memory.ts';
import type { AnswerReader } from './answers/read-answer.ts';
import type { AnswerDesk } from './approvals/answer-desk.ts';
import type { ApprovalDesk } from './approvals/approval-desk.ts';
import type { AuthThrottles } from './auth-throttle.ts';
import type { CallWatch } from './call-watch.ts';
import type { ToolMemory } from './facts/tool-memory.ts';
import type { CheckOpen, InspectMessage } from './message.ts';
import type { OpenCall } from './open-call.ts';
import type { Inspect, Recorder } from './pipeline.ts';
import type { Simulator } from './simulation/simulate.ts';
import type { Events } from './trace/events.ts';
import type { TraceFeed } from './trace/trace-feed.ts';

/*
 * The services of one configuration generation, as ports. Each port has what one kind of user needs. A reload
 * makes a new gate and swaps it in one assignment. A running request keeps the gate that it began with.
 */

/** The settings and names that all users of a generation share. */
interface Settings {
  readonly config: Config;
  readonly tenants: Tenants;
  /** The catalogues that classify calls. */
  readonly catalogues: Catalogues;
  /** The ids of all detectors. */
  readonly detectorIds: readonly string[];
  /** The settings of tools in the configuration. */
  readonly toolSettings: ToolSettings;
  readonly routes: RouteBook;
  readonly names: HeaderNames;
  readonly log: Log;
  /** The URL of the control plane, without a trailing slash. */
  readonly controlUrl: string;
  /** Makes a name that a caller of the tenant chose safe to keep and show, outside of any call. */
  safeName(tenantId: string, name: string): SafeName;
}

/** Tells entrances who calls. */
interface IdentifyPort {
  /** Returns the presented key; undefined where the text is none. */
  readKey(text: string): PresentedKey | undefined;
  /**
   * Returns a key that stands for callers of an inbound route that show none. Its agent is the route's own.
   */
  routeKey(route: Pick<InboundRoute, 'tenantId' | 'prefix' | 'keyId'>): PresentedKey;
  /**
   * The caller that stands for those of the forward proxy who bring no key; undefined where every call needs
   * one.
   */
  readonly keyless: Keyless | undefined;
  /** The throttles of failed authentication by address, for all keys and secrets. They outlive reloads. */
  readonly throttles: AuthThrottles;
  readonly store: Store;
}

/** Decides what becomes of a call, for entrances. */
interface DecidePort {
  /** Takes the coding off the body of a call, for entrances that look into it before it is inspected. */
  readonly open: OpenCall;
  readonly inspect: Inspect;
  /** Judges what follows on a call that was let out and stays open. */
  readonly inspectMessage: InspectMessage;
  /** Tells whether the caller of an open call may go on. */
  readonly checkOpen: CheckOpen;
  /** Records a call that was refused before it was inspected. Its `identity` must be known. */
  readonly record: Recorder;
  readonly guard: Guard;
  readonly isOwnUpstream: IsOwnUpstream;
  /** Tells whether tunnels to a host are passed through unread. */
  isPassedThrough(host: string): boolean;
  /** Tells whether clients reach the daemon under this host, which is in its normal form. */
  isOwnName(host: string): boolean;
}

/** Sends a call that was let out, and reads what comes back. */
interface RespondPort {
  readonly upstream: Upstream;
  readonly credentials: Credentials;
  /** Reads what came back. */
  readonly answerReader: AnswerReader;
  /** Follows calls on their way out; undefined where nobody wants to know. */
  readonly watch: CallWatch | undefined;
  /** Keeps what was found in answers with the traces of their calls. */
  readonly answers: AnswerDesk;
  /** Remembers sensitive answers by marks that recognise their content. */
  readonly answerMemory: AnswerMemory;
  /** Remembers what MCP servers list. */
  readonly toolMemory: ToolMemory;
  /** Returns a fingerprint by which a tenant's content is recognised, not guessed (`contentFingerprint`). */
  fingerprint(tenantId: string, content: Buffer): string;
}

/** Tells the numbers that the daemon counts of itself. */
export interface MetricsPort {
  /** Returns all numbers as Prometheus reads them. Calls while one is under way share its answer. */
  text(): Promise<string>;
}

/** Serves the control plane, where people and programs administer tenants. */
interface AdministerPort {
  readonly store: Store;
  readonly policies: PolicyBook;
  /** Judges calls without any consequence. */
  readonly simulator: Simulator;
  readonly approvals: ApprovalDesk;
  readonly feeds: Pick<Feeds, 'health' | 'refresh'>;
  /** The traces as they become findable. It outlives reloads. */
  readonly traceFeed: TraceFeed;
  /** Seals and opens stored credentials. */
  readonly vault: Vault;
  readonly events: Events;
  /** Tells how the notification channels do. */
  readonly notifications: NotificationDesk;
  readonly metrics: MetricsPort;
  /** Sends notices, and answers to what people do with them. */
  readonly transport: Transport;
  /** Returns the stored form of a key's digest. */
  hashKey(digestHex: string): string;
}

/** Follows the life of a generation: requests begin and end with it, and it retires. */
export interface LifecyclePort {
  status(): GateStatus;
  /**
   * Notes that a request begins that will use this gate. Returns what must be called once when it is over.
   */
  enter(): () => void;
  /**
   * Notes that no request begins with this gate any more. It closes what is its own when the last running one
   * is over.
   */
  retire(): void;
}

/** The gate as proxies need it. They identify and decide, send, and tell of each request's begin and end. */
export interface EntranceGate
  extends Settings,
    IdentifyPort,
    DecidePort,
    RespondPort,
    Pick<LifecyclePort, 'enter'> {}

/** The gate as those who read answers need it. */
export interface AnswerGate extends Settings, RespondPort {}

/** All ports of one generation. */
export interface Gate extends EntranceGate, AdministerPort, LifecyclePort {}

export interface GateStatus {
  /** The number of the generation: 1 at the start, one more with each reload that was taken. */
  readonly generation: number;
  readonly loadedAtMs: number;
  /** The reason why the last reload was refused; null when it was taken. */
  readonly lastError: string | null;
  readonly isDraining: boolean;
}
