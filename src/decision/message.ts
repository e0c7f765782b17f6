import { setTimeout as sleep } from 'node:timers/promises';
import type { TenantConfig } from '../config/schema.ts';
import {
  AdmittedCall,
  type AgentStatus,
  type CallAdmission,
  ClassifiedCall,
  DecidedCall,
  type OpenedCall,
  type Operation,
  plainAdmission,
  type ReceivedCall,
  receivedCall,
  type UnadmittedCall,
} from '../core/call.ts';
import { GatewayError, toGatewayError } from '../core/errors.ts';
import { noHistory } from '../core/history.ts';
import { newTraceId } from '../core/ids.ts';
import {
  type FieldEnds,
  isDocument,
  lastBytes,
  lastFieldEnds,
  noFieldEnds,
} from '../inspect/message-boundary.ts';
import { scopeViolationsOf } from '../state/rules/admission.ts';
import { wasLetOut } from '../state/rules/destinations.ts';
import type { KeyRecord, Store } from '../state/store.ts';
import type { Catalogues } from '../tenants/catalogues.ts';
import type { Tenants } from '../tenants/tenants.ts';
import { recallMs } from './degraded.ts';
import type { OpenCall } from './open-call.ts';
import { createPipeline, type Recorder, Stages } from './pipeline.ts';
import { type CallerSources, reauthorize } from './reauthorize.ts';
import { doneBy } from './stages/admit.ts';
import { type AssessOptions, assessRiskStage } from './stages/assess-risk.ts';
import { classifyOperation } from './stages/classify.ts';
import { type DecideMessageOptions, decideMessage } from './stages/decide-message.ts';
import { type InspectOptions, inspect } from './stages/inspect.ts';

/*
 * Judges what follows on a call that was let out and stays open, such as frames of a WebSocket. Each message
 * is read, weighed and decided as a call of its own would be. What is known of the call that opened the way
 * counts for it. It is not admitted again, and so counts against no quota, no rate and no budget.
 */

interface MessageContent {
  readonly contentType: string;
  /** The coding of the message itself; none by default. */
  readonly contentEncoding?: string;
  /**
   * Classifies the message, for entrances that know the tool, whatever the host. By default the catalogue
   * does it.
   */
  readonly classify?: ((message: ReceivedCall) => ClassifiedCall | undefined) | undefined;
}

/**
 * Judges one further message of an open call whose verdict was ALLOW or SANITIZE. Messages must come one at a
 * time, in their order, since what went before counts. The verdict is never REQUIRE_APPROVAL, since nobody
 * could wait for it. Rejects with a `GatewayError` when the message could not be judged, or the key may not
 * be used any more. Then the call must end.
 */
export type InspectMessage = (
  opening: OpenedCall,
  bytes: Buffer,
  content: MessageContent,
) => Promise<DecidedCall>;

/**
 * Rejects when the caller of an open call may not go on. It is for calls that are silent on the caller's
 * side.
 */
export type CheckOpen = (opening: OpenedCall) => Promise<void>;

interface MessageOptions extends InspectOptions, AssessOptions, DecideMessageOptions {
  readonly catalogues: Catalogues;
  readonly open?: OpenCall;
  readonly store: Pick<Store, 'identify' | 'agentById' | 'recall'>;
  readonly tenants: Tenants;
  readonly keyless?: CallerSources['keyless'];
}

/** The time after which a revoked key or a suspended agent is noticed at the latest. */
export const recheckMs = 1_000;
/**
 * The most traces that the messages of one open call may leave in a second. Whoever wants to leave more
 * waits.
 */
const tracesPerSecondMax = 50;

/** The memory of an open call from message to message. It lasts across configuration generations. */
interface Conversation {
  before: Buffer;
  fieldEnds: FieldEnds;
  /** The names of signals that a trace of this conversation has already. */
  readonly toldSignals: Set<string>;
  checkedAtMs: number;
  key: KeyRecord | undefined;
  agentStatus: AgentStatus;
  isDegraded: boolean;
  tracesSinceMs: number;
  traces: number;
}

const conversations = new WeakMap<OpenedCall, Conversation>();

function conversationOf(opening: OpenedCall): Conversation {
  const known = conversations.get(opening);
  if (known) return known;
  const conversation: Conversation = {
    before: lastBytes(noBytes, sentOf(opening)),
    fieldEnds: hasFields(opening.received, sentOf(opening))
      ? lastFieldEnds(noFieldEnds, sentOf(opening))
      : noFieldEnds,
    toldSignals: new Set(opening.risk.signals.map((it) => it.name)),
    checkedAtMs: opening.received.receivedAtMs,
    key: undefined,
    agentStatus: opening.admission.agentStatus,
    isDegraded: opening.admission.isDegraded,
    tracesSinceMs: 0,
    traces: 0,
  };
  conversations.set(opening, conversation);
  return conversation;
}

/** Judges the messages of open calls, each as a call of its own. */
export class MessageInspector {
  readonly #options: MessageOptions;
  readonly #record: Recorder;
  readonly #judge;

  constructor(options: MessageOptions, record: Recorder) {
    this.#options = options;
    this.#record = record;
    const stages = Stages.first<UnadmittedCall, AdmittedCall<TenantConfig>>({
      name: 'admit-message',
      run: (call) => this.#admit(call),
    })
      .andThen(inspect(options))
      .andThen(assessRiskStage(options))
      .andThen(decideMessage(options));
    this.#judge = createPipeline(stages, (message, refusal) => this.#recordTelling(message, refusal));
  }

  async inspectMessage(
    opening: OpenedCall,
    bytes: Buffer,
    { contentType, contentEncoding = '', classify }: MessageContent,
  ): Promise<DecidedCall> {
    const conversation = conversationOf(opening);
    await waitForTraces(conversation);
    const message = toMessage(opening, bytes, { contentType, contentEncoding }, conversation);
    const decided = await this.#judge(classify?.(message) ?? message);
    if (wasLetOut(decided.verdict)) {
      const sent = sentOf(decided);
      conversation.before = lastBytes(conversation.before, sent);
      if (hasFields(message, sent)) conversation.fieldEnds = lastFieldEnds(conversation.fieldEnds, sent);
    }
    return decided;
  }

  async checkOpen(opening: OpenedCall): Promise<void> {
    const conversation = conversationOf(opening);
    await this.#whoNow(opening, conversation);
    if (conversation.agentStatus !== 'active') throw new GatewayError('FORBIDDEN', 'The agent is suspended.');
  }

  /**
   * Asks the state whether the caller may go on. While it is away, what was known of the key holds where the
   * tenant wants that.
   */
  async #recheck(opening: OpenedCall, conversation: Conversation): Promise<void> {
    try {
      const { key: presented, clientAddress } = opening.received;
      const { identity } = opening.admission;
      const caller = { key: presented, identity, clientAddress };
      const { key, agentStatus } = await reauthorize(this.#options, caller);
      conversation.key = key;
      conversation.agentStatus = agentStatus;
      conversation.isDegraded = false;
    } catch (error) {
      const isAway = toGatewayError(error).code === 'STATE_UNAVAILABLE';
      const { key } = opening.received;
      const { identity } = opening.admission;
      const known = isAway && key ? this.#options.store.recall(key.hash, Date.now(), recallMs) : undefined;
      const isOpen = this.#options.tenants.find(identity.tenantId)?.onFailure === 'open';
      if (!known?.ok || !isOpen) throw error;
      conversation.isDegraded = true;
    }
    conversation.checkedAtMs = Date.now();
  }

  /** Looks up the key for its scope when the first message comes, then once in `recheckMs`. */
  async #whoNow(opening: OpenedCall, conversation: Conversation): Promise<void> {
    const isFresh = Math.abs(Date.now() - conversation.checkedAtMs) < recheckMs;
    if (!isFresh || (!conversation.key && !conversation.isDegraded))
      await this.#recheck(opening, conversation);
  }

  /**
   * Admits a message as its opening was, and counts nothing. It asks the state whether the caller may go on.
   * The tenant's settings are those of now.
   */
  async #admit(call: UnadmittedCall): Promise<AdmittedCall<TenantConfig>> {
    const received = call instanceof ClassifiedCall ? call.received : call;
    const { opening } = received.message ?? {};
    if (!opening) throw new Error('only messages of an open call are judged here');
    const conversation = conversationOf(opening);
    await this.#whoNow(opening, conversation);
    const { identity } = opening.admission;
    const tenant = this.#options.tenants.find(identity.tenantId);
    if (!tenant) throw new GatewayError('INVALID_KEY', 'The key is not valid.');
    await this.#options.open?.(received, identity);
    const classified =
      call instanceof ClassifiedCall
        ? call
        : classifyOperation(this.#options.catalogues.of(tenant.id), received, tenant.maxDecodedBytes);
    return new AdmittedCall(classified, admissionOf(opening, tenant, conversation, classified.operation));
  }

  /**
   * Records a message, unless it adds nothing to the trace of its call. There may be thousands of such
   * messages in a second.
   */
  #recordTelling(...[message, refusal]: Parameters<Recorder>): Promise<void> {
    const { opening } = message.received.message ?? {};
    if (!opening) return this.#record(message, refusal);
    const conversation = conversationOf(opening);
    if (message instanceof DecidedCall && isClean(message, conversation)) return nothingToRecord;
    for (const { name } of message.risk?.signals ?? []) conversation.toldSignals.add(name);
    conversation.traces += 1;
    return this.#record(message, refusal);
  }
}

const noBytes = Buffer.alloc(0);
const hasFields = ({ contentType }: ReceivedCall, sent: Buffer): boolean =>
  isDocument(sent) || /^application\/grpc(?!\+json)/i.test(contentType);

/** Returns the bytes of a call that have gone out, without its coding. */
function sentOf({ received: { body, readings }, verdict }: OpenedCall): Buffer {
  const { sanitizedBody = body } = verdict;
  return sanitizedBody === body ? (readings.plain ?? body) : sanitizedBody;
}

const nothingToRecord = Promise.resolve();

/** Slows an agent whose every message leaves a trace, so that the journal fills no faster than by calls. */
async function waitForTraces(conversation: Conversation): Promise<void> {
  const sinceMs = performance.now() - conversation.tracesSinceMs;
  if (sinceMs < 1_000 && conversation.traces >= tracesPerSecondMax) await sleep(1_000 - sinceMs);
  else if (sinceMs < 1_000) return;
  conversation.tracesSinceMs = performance.now();
  conversation.traces = 0;
}

function isClean({ verdict, signals, incidents }: DecidedCall, { toldSignals }: Conversation): boolean {
  return (
    verdict.decision === 'ALLOW' &&
    verdict.wouldBe === undefined &&
    verdict.classifications.length === 0 &&
    verdict.tags.length === 0 &&
    incidents.length === 0 &&
    signals.every((it) => toldSignals.has(it.name))
  );
}

/**
 * Returns the admission of a message. The destination of the opening call is no longer new. The rate of an
 * agent counts only its calls, not its messages.
 */
function admissionOf(
  { admission }: OpenedCall,
  tenant: TenantConfig,
  { key, agentStatus, isDegraded }: Conversation,
  operation: Operation,
): CallAdmission<TenantConfig> {
  const { identity, exceededBudgets, toolConcerns, history } = admission;
  const { habits, trustScore, trustMarks, sightings } = history;
  return {
    ...plainAdmission(tenant, identity, agentStatus),
    isDegraded,
    scopeViolations: key ? scopeViolationsOf(key, doneBy(operation)) : [],
    exceededBudgets,
    toolConcerns,
    history: {
      ...noHistory,
      ...{ trustScore, trustMarks, sightings },
      habits: { ...habits, lately: 0, mutations: 0 },
    },
  };
}

/**
 * Returns a message as a call. It is understood as a POST to the same place where a GET has opened the way,
 * because it sends something.
 */
function toMessage(
  opening: OpenedCall,
  body: Buffer,
  { contentType, contentEncoding }: Required<Pick<MessageContent, 'contentType' | 'contentEncoding'>>,
  { before, fieldEnds }: Conversation,
): ReceivedCall {
  const receivedAtMs = Date.now();
  const { entrance, clientAddress, key, method, target, headers, claimed, isAwaited, isAnonymous } =
    opening.received;
  return receivedCall({
    traceId: newTraceId(receivedAtMs),
    ...{ entrance, receivedAtMs, clientAddress, key, target, headers, claimed, isAwaited, isAnonymous },
    method: method === 'GET' ? 'POST' : method,
    ...{ body, contentType, contentEncoding },
    lastHead: undefined,
    message: { opening, before, fieldEnds },
  });
}
