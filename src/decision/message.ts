import { setTimeout as sleep } from 'node:timers/promises';
import { type AgentStatus, Call, type Verdict } from '../core/call.ts';
import { GatewayError, toGatewayError } from '../core/errors.ts';
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
import { after } from '../util/maybe-promise.ts';
import { type CallerSources, callerNow } from './caller-now.ts';
import { recallMs } from './degraded.ts';
import type { OpenCall } from './open-call.ts';
import { createPipeline, type Recorder, type Stage } from './pipeline.ts';
import { doneBy } from './stages/admit.ts';
import { type DecideMessageOptions, decideMessage } from './stages/decide-message.ts';
import { type ReadOptions, read } from './stages/read.ts';
import { understandCall } from './stages/understand.ts';
import { assessRiskStage, type WeighOptions } from './stages/weigh.ts';

/*
 * The judging of what follows on a call that was let out and stays open: the frames of a WebSocket, the messages that a client streams.
 * Each is read, weighed and decided as a call of its own would be, by what is known of the call that opened the way. It is not admitted
 * again, and so counts against no quota, no rate and no budget.
 */

export interface MessageContent {
  readonly contentType: string;
  /** The coding of the message itself; by default none. */
  readonly contentEncoding?: string;
  /** For entrances that know the tool, whatever the host. By default the catalogue tells what the message does. */
  readonly understand?: ((message: Call) => void) | undefined;
}

/**
 * Judges one further message of an open call whose verdict was ALLOW or SANITIZE. One at a time, in their order: what went before it
 * counts. The verdict is never REQUIRE_APPROVAL, since nobody could wait for it. Rejects with a `GatewayError` when the message could not
 * be judged, or when the key may not be used any more: then the call must end.
 */
export type InspectMessage = (opening: Call, bytes: Buffer, content: MessageContent) => Promise<Verdict>;

/** Rejects when the caller of an open call may not go on: for calls that are silent on the caller's side. */
export type CheckOpen = (opening: Call) => Promise<void>;

export interface MessageOptions extends ReadOptions, WeighOptions, DecideMessageOptions {
  readonly catalogues: Catalogues;
  readonly open?: OpenCall;
  readonly store: Pick<Store, 'identify' | 'agentById' | 'keyById' | 'recall'>;
  readonly tenants: Tenants;
  readonly keyless?: CallerSources['keyless'];
}

/** A key that was revoked, and an agent that was suspended, are noticed so much later at most. */
export const recheckMs = 1_000;
/** Traces that the messages of one open call may leave in a second; whoever wants to leave more waits. */
export const tracesPerSecondMax = 50;

/** The memory of an open call from message to message, across configuration generations. */
interface Conversation {
  before: Buffer;
  fieldEnds: FieldEnds;
  /** That a trace of this conversation names already. */
  readonly toldSignals: Set<string>;
  checkedAtMs: number;
  key: KeyRecord | undefined;
  agentStatus: AgentStatus;
  isDegraded: boolean;
  tracesSinceMs: number;
  traces: number;
}

const conversations = new WeakMap<Call, Conversation>();

function conversationOf(opening: Call): Conversation {
  const known = conversations.get(opening);
  if (known) return known;
  const conversation: Conversation = {
    before: lastBytes(noBytes, sentOf(opening)),
    fieldEnds: hasFields(opening, sentOf(opening))
      ? lastFieldEnds(noFieldEnds, sentOf(opening))
      : noFieldEnds,
    toldSignals: new Set(opening.signals.map((it) => it.name)),
    checkedAtMs: opening.receivedAtMs,
    key: undefined,
    agentStatus: opening.agentStatus,
    isDegraded: opening.isDegraded,
    tracesSinceMs: 0,
    traces: 0,
  };
  conversations.set(opening, conversation);
  return conversation;
}

export function createMessageInspector(
  options: MessageOptions,
  record: Recorder,
): { readonly inspectMessage: InspectMessage; readonly checkOpen: CheckOpen } {
  const { store, tenants, catalogues } = options;

  /** While the state is away, what was known of the key goes on to hold where its tenant wants that. */
  async function recheck(opening: Call, conversation: Conversation): Promise<void> {
    try {
      const { key, agentStatus } = await callerNow(options, opening);
      conversation.key = key;
      conversation.agentStatus = agentStatus;
      conversation.isDegraded = false;
    } catch (error) {
      const isAway = toGatewayError(error).code === 'STATE_UNAVAILABLE';
      const { key, identity } = opening;
      const known = isAway && key ? store.recall(key.hash, Date.now(), recallMs) : undefined;
      const isOpen = identity && tenants.find(identity.tenantId)?.onFailure === 'open';
      if (!known?.ok || !isOpen) throw error;
      conversation.isDegraded = true;
    }
    conversation.checkedAtMs = Date.now();
  }

  /** The key is looked up for its scope when the first message comes, then once in `recheckMs`. */
  async function whoNow(opening: Call, conversation: Conversation): Promise<void> {
    const isFresh = Math.abs(Date.now() - conversation.checkedAtMs) < recheckMs;
    if (!isFresh || (!conversation.key && !conversation.isDegraded)) await recheck(opening, conversation);
  }

  function understandMessage(message: Call): void {
    const { opening } = message.message ?? {};
    const tenant = tenants.find(message.identity?.tenantId ?? '');
    if (!tenant || !opening) return;
    if (!message.operation) understandCall(catalogues.of(tenant.id), message, tenant.maxDecodedBytes);
    const { key } = conversationOf(opening);
    if (key && message.operation) message.scopeViolations = scopeViolationsOf(key, doneBy(message.operation));
  }

  const stages: readonly Stage[] = [
    {
      name: 'caller',
      async run(message) {
        const { opening } = message.message ?? {};
        if (!opening) throw new Error('only messages of an open call are judged here');
        const conversation = conversationOf(opening);
        await whoNow(opening, conversation);
        message.agentStatus = conversation.agentStatus;
        message.isDegraded = conversation.isDegraded;
      },
    },
    {
      name: 'understand',
      run: (message) => after(options.open?.(message), () => understandMessage(message)),
    },
    read(options),
    assessRiskStage(options),
    decideMessage(options),
  ];

  /** A message that adds nothing to its call's trace leaves none: there may be thousands in a second. */
  const recordTelling: Recorder = (message, refusal) => {
    const { opening } = message.message ?? {};
    if (!opening) return record(message, refusal);
    const conversation = conversationOf(opening);
    if (refusal || !isClean(message, conversation)) {
      for (const { name } of message.signals) conversation.toldSignals.add(name);
      conversation.traces += 1;
      return record(message, refusal);
    }
    return nothingToRecord;
  };
  const judge = createPipeline(stages, recordTelling);

  async function inspectMessage(
    opening: Call,
    bytes: Buffer,
    { contentType, contentEncoding = '', understand }: MessageContent,
  ): Promise<Verdict> {
    const conversation = conversationOf(opening);
    await waitForTraces(conversation);
    const message = toMessage(opening, bytes, { contentType, contentEncoding }, conversation);
    understand?.(message);
    const verdict = await judge(message);
    if (wasLetOut(verdict)) {
      const sent = sentOf(message);
      conversation.before = lastBytes(conversation.before, sent);
      if (hasFields(message, sent)) conversation.fieldEnds = lastFieldEnds(conversation.fieldEnds, sent);
    }
    return verdict;
  }

  return {
    inspectMessage,
    async checkOpen(opening) {
      const conversation = conversationOf(opening);
      await whoNow(opening, conversation);
      if (conversation.agentStatus !== 'active')
        throw new GatewayError('FORBIDDEN', 'The agent is suspended.');
    },
  };
}

const noBytes = Buffer.alloc(0);
const hasFields = ({ contentType }: Call, sent: Buffer): boolean =>
  isDocument(sent) || /^application\/grpc(?!\+json)/i.test(contentType);

/** The bytes of it that have gone out, without its coding. */
function sentOf({ body, plain = body, verdict }: Call): Buffer {
  const { sanitizedBody = body } = verdict ?? {};
  return sanitizedBody === body ? plain : sanitizedBody;
}

const nothingToRecord = Promise.resolve();

/** Slows an agent whose every message leaves a trace, so that it fills the journal no faster than calls would. */
async function waitForTraces(conversation: Conversation): Promise<void> {
  const sinceMs = performance.now() - conversation.tracesSinceMs;
  if (sinceMs < 1_000 && conversation.traces >= tracesPerSecondMax) await sleep(1_000 - sinceMs);
  else if (sinceMs < 1_000) return;
  conversation.tracesSinceMs = performance.now();
  conversation.traces = 0;
}

function isClean({ verdict, signals, incidents }: Call, { toldSignals }: Conversation): boolean {
  return (
    verdict?.decision === 'ALLOW' &&
    verdict.wouldBe === undefined &&
    verdict.classifications.length === 0 &&
    verdict.tags.length === 0 &&
    incidents.length === 0 &&
    signals.every((it) => toldSignals.has(it.name))
  );
}

/**
 * A message as a call. To send something over a way that a GET has opened is no GET: it is understood as a POST to the same place. Where
 * the opening call has gone is new no more.
 */
function toMessage(
  opening: Call,
  body: Buffer,
  { contentType, contentEncoding }: Required<Pick<MessageContent, 'contentType' | 'contentEncoding'>>,
  conversation: Conversation,
): Call {
  const receivedAtMs = Date.now();
  const message = new Call({
    traceId: newTraceId(receivedAtMs),
    entrance: opening.entrance,
    receivedAtMs,
    clientAddress: opening.clientAddress,
    key: opening.key,
    method: opening.method === 'GET' ? 'POST' : opening.method,
    target: opening.target,
    headers: opening.headers,
    body,
    contentType,
    contentEncoding,
    claimed: opening.claimed,
    lastHead: undefined,
    isAwaited: opening.isAwaited,
    isAnonymous: opening.isAnonymous,
    message: { opening, before: conversation.before, fieldEnds: conversation.fieldEnds },
  });
  message.identity = opening.identity;
  message.exceededBudgets = opening.exceededBudgets;
  message.toolConcerns = opening.toolConcerns;
  message.trustScore = opening.trustScore;
  message.trustMarks = opening.trustMarks;
  message.sightings = opening.sightings;
  // How often an agent calls is told by its calls alone.
  message.habits = { ...opening.habits, lately: 0, mutations: 0 };
  return message;
}
