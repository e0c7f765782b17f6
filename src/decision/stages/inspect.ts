import { hash } from 'node:crypto';
import type { TenantConfig } from '../../config/schema.ts';
import {
  type AdmittedCall,
  type Finding,
  InspectedCall,
  type Inspection,
  isTunnel,
  operationAndParts,
  type ReceivedCall,
} from '../../core/call.ts';
import { toGatewayError } from '../../core/errors.ts';
import { bodyFormat } from '../../inspect/decode/body-format.ts';
import type { DetectorEngine } from '../../inspect/match/engine.ts';
import { headText } from '../../inspect/parts/head-text.ts';
import { scanTimeMs } from '../../inspect/parts/scan-time.ts';
import { type BodyJob, besideBody, bodyTextsOf, partOf, type ReadingTools } from '../../inspect/read-body.ts';
import { readPart } from '../../inspect/read-part.ts';
import {
  loopBytesMax,
  lostReading,
  onTheLoop,
  type Readers,
  type Task,
} from '../../inspect/threads/readers.ts';
import type { PolicySet } from '../../policy/index.ts';
import { createCache } from '../../state/cache.ts';
import type { MaybePromise } from '../../state/store.ts';
import type { Rules, TenantRules } from '../../tenants/policy-book.ts';
import { after, orElse } from '../../util/maybe-promise.ts';
import { messageCodingFields } from '../../wire/grpc/grpc-type.ts';
import { fieldOf } from '../../wire/http1/headers.ts';
import { RefusedCall, type Stage } from '../pipeline.ts';
import { safeNamesOf } from '../trace/safe-names.ts';
import { isAlike, keepHead, noteHead, takeHead } from './last-heads.ts';
import { microBatch } from './micro-batch.ts';
import { Reading } from './reading.ts';

export interface InspectOptions {
  readonly policies: Rules;
  /** Returns the time that was worked, in milliseconds (`workedMs`). */
  readonly clock: () => number;
  readonly injections: ReadingTools['injections'];
  readonly meanings: ReadingTools['meanings'];
  readonly beginnings?: ReadingTools['beginnings'];
  /** The reader threads. By default all is read on the event loop. */
  readonly readers?: Readers;
  /** Tells whether URLs in bodies will be looked up. By default they are not. */
  readonly wantsUrls?: () => boolean;
}

/**
 * The size above which a body is cut in a thread. It is read once more for that, and others must not wait
 * meanwhile.
 */
const cutBytesMax = 8_192;
/**
 * The size above which a body is read at once. It gains nothing by waiting for others, and those behind it
 * would wait for long.
 */
const turnBytesMax = 16_384;
/** The number of heads that are remembered, and the most findings that each may have. */
const knownHeadsMax = 4_096;
const headFindingsMax = 8;

/** The findings of one engine in a head. Mostly there are none, or the agent's own credential. */
interface KnownHead {
  readonly engine: DetectorEngine;
  readonly findings: readonly Finding[];
}

type Admitted = AdmittedCall<TenantConfig>;
type Inspected = InspectedCall<TenantConfig>;

/**
 * Creates the stage that finds data in URL, headers and body, and in their decoded forms. It never decides. A
 * call that exceeds the bounds is `unreadable`, and later stages deny it.
 */
export const inspect = (options: InspectOptions): Stage<Admitted, Inspected> => new InspectStage(options);

class InspectStage implements Stage<Admitted, Inspected> {
  readonly name = 'inspect';
  readonly #policies;
  readonly #clock;
  readonly #injections;
  readonly #meanings;
  readonly #beginnings;
  readonly #readers;
  readonly #wantsUrls;
  // The key is the digest of the head, so that no head stays in memory.
  readonly #knownHeads = createCache<KnownHead>(knownHeadsMax);
  readonly #runInBatch = microBatch<Inspected | RefusedCall>();

  constructor(options: InspectOptions) {
    const { policies, clock, injections, meanings, beginnings } = options;
    this.#policies = policies;
    this.#clock = clock;
    this.#injections = injections;
    this.#meanings = meanings;
    this.#beginnings = beginnings;
    const { readers = onTheLoop, wantsUrls = never } = options;
    this.#readers = readers;
    this.#wantsUrls = wantsUrls;
  }

  run(call: Admitted): MaybePromise<Inspected | RefusedCall> {
    const page = this.#policies.rulesFor(call.identity.tenantId);
    if (page instanceof Promise) return page.then((it) => this.#inspectCall(call, it));
    return call.body.length > turnBytesMax
      ? this.#inspectCall(call, page)
      : this.#runInBatch(() => this.#inspectCall(call, page));
  }

  /**
   * Reads the head of a call. Heads of one connection, or of one program on many, are mostly the same. What
   * was read a moment ago is not read again.
   */
  #readHead(call: ReceivedCall, reading: Reading, task: Task): MaybePromise<void> {
    const { engine } = task.tools;
    const { lastHead, method, target, headers, readings } = call;
    const mayBeKnown = lastHead?.reader === engine;
    if (mayBeKnown && isAlike(lastHead, call)) {
      takeHead(reading, lastHead);
      return;
    }
    const text = headText(call);
    if (mayBeKnown && lastHead.text === text) {
      takeHead(reading, lastHead);
      noteHead(lastHead, call);
      return;
    }
    const bytes = Buffer.from(text, 'latin1');
    reading.head = bytes;
    // Only a described call has a fragment or user information. Its text may be that of another head.
    const isShared = target.fragment === '' && target.userInfo === '';
    const digest = hash('sha256', bytes, 'base64');
    const known = isShared ? this.#knownHeads.get(digest) : undefined;
    if (known?.engine === engine) {
      reading.findings = [...known.findings];
      if (lastHead) keepHead(lastHead, call, reading, { text, engine });
      return;
    }
    const input = { method, target, headers, bytes };
    return after(this.#readers.run('head', input, { ...task, bytes: bytes.length }), (it) => {
      if ('lost' in it) {
        const { unreadable, isOutOfTime } = lostReading(it);
        readings.noteUnreadable(unreadable, isOutOfTime);
        reading.head = noBytes;
        return;
      }
      reading.add(it);
      readings.noteUnreadable(it.unreadable, it.isOutOfTime);
      // The rest of an unreadable head may hold findings that nobody cut, so its trace has only the origin.
      if (readings.unreadable !== undefined) reading.head = noBytes;
      // Heads with opaque or uncounted parts are rare, and are read again.
      if (readings.unreadable !== undefined || it.opaque.length > 0 || it.uncounted.length > 0) return;
      if (isShared && it.findings.length <= headFindingsMax)
        this.#knownHeads.set(digest, { engine, findings: it.findings });
      if (lastHead) keepHead(lastHead, call, reading, { text, engine });
    });
  }

  #readContent(call: Admitted, reading: Reading, task: Task, rules: PolicySet): MaybePromise<void> {
    const { received, readings } = call;
    const { body, contentEncoding, message, claimed } = received;
    const { plain } = readings;
    if (body.length === 0 && !message && !claimed.context) return;
    const contentBytes = Math.max(body.length, plain?.length ?? 0);
    // Words are looked for in advance only in a thread. Otherwise rules look for them, if one of them asks.
    const mayGoToThread = this.#readers.hasThreads && contentBytes > loopBytesMax;
    const input = bodyJob(call, { wantsTexts: !mayGoToThread, wantsUrls: this.#wantsUrls() });
    const words = mayGoToThread && rules.words.length > 0 ? rules.words : undefined;
    const bytes = contentBytes + (input.context?.length ?? 0);
    const soon = contentEncoding === '' ? body : plain;
    const isPacked = contentEncoding !== '' && !plain;
    const { bounds, timeoutMs } = this.#timeFor(call.tenant, contentBytes, isPacked);
    const tools = { ...task.tools, words };
    const { owner } = task;
    return after(
      this.#readers.run('body', input, { tools, bounds, timeoutMs, owner, bytes, plain: soon }),
      (it) => {
        if ('lost' in it) {
          const { unreadable, isOutOfTime } = lostReading(it);
          readings.noteUnreadable(unreadable, isOutOfTime);
          return;
        }
        reading.add(it);
        readings.noteUnreadable(it.unreadable, it.isOutOfTime);
        if (it.plain) readings.plain = it.plain;
        reading.bodyTexts = it.texts ?? textsLater(received, it.decoded);
        reading.bodyUrls = it.urls;
        if (it.wordsFound) reading.wordsFound = { ...it.wordsFound, list: rules.words };
        reading.injection = it.injection;
        reading.meanings = it.meanings;
      },
    );
  }

  /**
   * Inspects a call. A call that cannot be read for lack of room is refused, and its record has what was read
   * so far.
   */
  #inspectCall(call: Admitted, page: TenantRules): MaybePromise<Inspected | RefusedCall> {
    const reading = new Reading(safeNamesOf(page.engine), call.received.claimed);
    return orElse(
      () => this.#readInto(reading, call, page),
      (error) => new RefusedCall({ ...call, inspection: reading }, toGatewayError(error)),
    );
  }

  #readInto(reading: Reading, call: Admitted, { engine, rules }: TenantRules): MaybePromise<Inspected> {
    const { received, identity, tenant } = call;
    const tools = {
      engine,
      injections: this.#injections,
      meanings: this.#meanings,
      beginnings: this.#beginnings,
    };
    const task: Task = { ...this.#timeFor(tenant, 0), tools, owner: identity, bytes: 0 };
    // The head of an open call was read when it was opened.
    const head = received.message ? undefined : this.#readHead(received, reading, task);
    return after(head, () =>
      after(this.#readContent(call, reading, task, rules), () => {
        if (isTunnel(received)) reading.opaque = [...reading.opaque, 'a tunnel that is not read'];
        if (reading.findings.length > 0) {
          reading.readAgain = this.#readerOf(call, engine);
          const isLong = call.plainBody.length > cutBytesMax;
          if (this.#readers.hasThreads && isLong) reading.cutApart = this.#cutterOf(call, task);
        }
        return new InspectedCall(call, reading);
      }),
    );
  }

  /**
   * Returns the function that reads a body again. It is made here for the sake of V8, which puts a function
   * written in an assignment to a property into the old generation. The whole call would stay with it until
   * the next full collection.
   */
  #readerOf(
    { contentType, readings, identity, target, tenant }: Admitted,
    engine: DetectorEngine,
  ): NonNullable<Inspection['readAgain']> {
    return (body) => {
      const part = partOf({ contentType, host: target.host, tenantId: identity.tenantId }, body);
      const { findings, unreadable, isOutOfTime } = readPart(
        part,
        engine,
        besideBody(this.#timeFor(tenant, body.length).bounds, body),
      );
      if (isOutOfTime) readings.isOutOfTime = true;
      return unreadable === undefined ? findings : undefined;
    };
  }

  #cutterOf(call: Admitted, task: Task): NonNullable<Inspection['cutApart']> {
    return async (body, cuts) => {
      const { contentType } = call;
      const input = { ...sentOf(call), contentType, body, cuts, format: bodyFormat(contentType, body) };
      const answer = await this.#readers.run('cut', input, {
        ...task,
        ...this.#timeFor(call.tenant, body.length),
        bytes: body.length,
      });
      if ('lost' in answer || answer.isOutOfTime) call.readings.isOutOfTime = true;
      return 'lost' in answer ? undefined : answer.left;
    };
  }

  /** Returns the time for a content, from now on. */
  #timeFor(tenant: TenantConfig, bytes: number, isPacked?: boolean): Pick<Task, 'bounds' | 'timeoutMs'> {
    const timeoutMs = scanTimeMs(tenant.scanTimeoutMs, bytes, isPacked);
    const endsAt = this.#clock() + timeoutMs;
    return {
      bounds: { maxDecodedBytes: tenant.maxDecodedBytes, isOver: () => this.#clock() > endsAt },
      timeoutMs,
    };
  }
}

const never = (): boolean => false;
const noBytes = Buffer.alloc(0);

function bodyJob(call: AdmittedCall, wanted: Pick<BodyJob, 'wantsTexts' | 'wantsUrls'>): BodyJob {
  const { body, contentType, contentEncoding, message, claimed, entrance, headers } = call.received;
  const { plain, unreadable } = call.readings;
  return {
    ...sentOf(call),
    body,
    contentType,
    contentEncoding,
    plain,
    wantsTexts: wanted.wantsTexts,
    wantsUrls: wanted.wantsUrls,
    isBroken: unreadable !== undefined,
    context: claimed.context ? Buffer.from(claimed.context) : undefined,
    // The proxies themselves take messages of gRPC out of their envelopes, and take off their coding.
    messages: message
      ? undefined
      : {
          messageCodings: messageCodingFields.map((it) => fieldOf(headers, it)),
          isUnwrapped: entrance === 'forward' || entrance === 'inbound',
        },
    boundary: message && { before: message.before, fieldEnds: message.fieldEnds },
    isForAgents: isForAgents(call),
  };
}

const isForAgents = ({ operation }: AdmittedCall): boolean =>
  operationAndParts(operation).some(({ toolName }) => toolName === 'a2a' || toolName === 'mcp');

/** Returns a function that makes the texts. It stands apart from the assignment, as `readerOf` does. */
const textsLater =
  ({ readings, body, contentType }: ReceivedCall, decoded: readonly Buffer[]) =>
  (): readonly Buffer[] =>
    bodyTextsOf(readings.plain ?? body, contentType, decoded);

/** Returns the fields that both jobs have. */
const sentOf = ({ identity, target }: AdmittedCall) => ({
  host: target.host,
  tenantId: identity.tenantId,
});
