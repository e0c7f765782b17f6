import { hash } from 'node:crypto';
import type { TenantConfig } from '../../config/schema.ts';
import { type Call, isTunnel, operationAndParts, type ReadHead } from '../../core/call.ts';
import { GatewayError } from '../../core/errors.ts';
import { bodyFormat } from '../../inspect/decode/body-format.ts';
import type { DetectorEngine } from '../../inspect/match/engine.ts';
import { headText } from '../../inspect/parts/head-text.ts';
import { scanTimeMs } from '../../inspect/parts/scan-time.ts';
import { type BodyJob, besideBody, bodyTextsOf, partOf, type ReadingTools } from '../../inspect/read-body.ts';
import { type PartResult, readPart } from '../../inspect/read-part.ts';
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
import { type Rules, rulesForCall, type TenantRules } from '../../tenants/policy-book.ts';
import type { Tenants } from '../../tenants/tenants.ts';
import { after } from '../../util/maybe-promise.ts';
import { messageCodingFields } from '../../wire/grpc/grpc-type.ts';
import { fieldOf } from '../../wire/http1/headers.ts';
import { inTurn } from '../in-turn.ts';
import type { Stage } from '../pipeline.ts';
import { safeNamesOf } from '../trace/safe-names.ts';

export interface ReadOptions {
  readonly policies: Rules;
  /** Whose bounds count. */
  readonly tenants: Pick<Tenants, 'find'>;
  /** How long was worked, in milliseconds: see `workedMs`. */
  readonly clock: () => number;
  readonly injections: ReadingTools['injections'];
  readonly meanings: ReadingTools['meanings'];
  readonly beginnings?: ReadingTools['beginnings'];
  /** Reader threads; by default all is read on the event loop. */
  readonly readers?: Readers;
  /** Tells whether URLs in bodies will be looked up; by default they are not. */
  readonly wantsUrls?: () => boolean;
}

/** A body to be cut is read once more, so longer ones are cut where others do not wait. */
const cutBytesMax = 8_192;
/** A longer body gains nothing by waiting for others, and what is behind it would wait for long. */
const turnBytesMax = 16_384;
/** Heads in which nothing was found, and which are known again. */
const cleanHeadsMax = 4_096;

/**
 * The inspection stage: finds data in URL, headers and body, and in their decoded forms. It never decides. A call
 * that exceeds the bounds is `unreadable`, and later stages deny it.
 */
export function read(options: ReadOptions): Stage {
  const { policies, tenants, clock, injections, meanings, beginnings } = options;
  const { readers = onTheLoop, wantsUrls = never } = options;

  // The engine that found a head clean, by the head's digest, so that no head stays in memory.
  const cleanHeads = createCache<DetectorEngine>(cleanHeadsMax);

  /**
   * Heads of one connection are mostly the same, and so are those of one program on many: what was read a moment ago is not read again.
   */
  function readHead(call: Call, task: Task): MaybePromise<void> {
    const { engine } = task.tools;
    const { lastHead, method, target, headers } = call;
    const mayBeKnown = lastHead?.reader === engine;
    if (mayBeKnown && isAlike(lastHead, call)) {
      takeHead(call, lastHead);
      return;
    }
    const text = headText(call);
    if (mayBeKnown && lastHead.text === text) {
      takeHead(call, lastHead);
      noteHead(lastHead, call);
      return;
    }
    const bytes = Buffer.from(text, 'latin1');
    call.head = bytes;
    const digest = hash('sha256', bytes, 'base64');
    if (cleanHeads.get(digest) === engine) {
      if (lastHead) keepHead(lastHead, call, { text, engine });
      return;
    }
    const input = { method, target, headers, bytes };
    const reading = readers.run('head', input, { ...task, bytes: bytes.length });
    return after(reading, (it) => {
      if ('lost' in it) {
        noteUnreadable(call, lostReading(it));
        call.head = Buffer.alloc(0);
        return;
      }
      note(call, it);
      // The rest of an unreadable head may hold findings that nobody cut, so its trace has only the origin.
      if (call.unreadable !== undefined) call.head = Buffer.alloc(0);
      const isClean = it.findings.length === 0 && it.opaque.length === 0 && it.uncounted.length === 0;
      if (isClean && call.unreadable === undefined) cleanHeads.set(digest, engine);
      // Heads with more than findings are rare, and are read again.
      const hasMore = call.unreadable !== undefined || call.opaque.length > 0;
      if (lastHead && !hasMore) keepHead(lastHead, call, { text, engine });
    });
  }

  function readContent(call: Call, task: Task, tenant: TenantConfig, rules: PolicySet): MaybePromise<void> {
    const { body, plain, message, claimed } = call;
    if (body.length === 0 && !message && !claimed.context) return;
    const contentBytes = Math.max(body.length, plain?.length ?? 0);
    // In a short one the rules look themselves, where one of them asks.
    const isLong = readers.hasThreads && contentBytes > loopBytesMax;
    const input = bodyJob(call, { wantsTexts: !isLong, wantsUrls: wantsUrls() });
    const words = isLong && rules.words.length > 0 ? rules.words : undefined;
    const bytes = contentBytes + (input.context?.length ?? 0);
    const soon = call.contentEncoding === '' ? body : plain;
    const isPacked = call.contentEncoding !== '' && !plain;
    const { bounds, timeoutMs } = timeFor(tenant, contentBytes, isPacked);
    const tools = { ...task.tools, words };
    const { owner } = task;
    return after(
      readers.run('body', input, { tools, bounds, timeoutMs, owner, bytes, plain: soon }),
      (it) => {
        if ('lost' in it) {
          noteUnreadable(call, lostReading(it));
          return;
        }
        note(call, it);
        if (it.plain) call.plain = it.plain;
        call.bodyTexts = it.texts ?? textsLater(call, it.decoded);
        call.bodyUrls = it.urls;
        if (it.wordsFound) call.wordsFound = { ...it.wordsFound, list: rules.words };
        call.injection = it.injection;
        call.meanings = it.meanings;
      },
    );
  }

  function readCall(call: Call, page: TenantRules): MaybePromise<void> {
    const { identity } = call;
    const tenant = identity && tenants.find(identity.tenantId);
    if (!tenant) throw new GatewayError('INVALID_KEY', 'The key is not valid.');
    const { engine } = page;
    const { agentName, runtimeType } = call.claimed;
    call.safeName = safeNamesOf(engine);
    if (agentName) call.agentName = call.safeName(agentName);
    if (runtimeType) call.runtimeType = call.safeName(runtimeType);
    const tools = { engine, injections, meanings, beginnings };
    const task: Task = { ...timeFor(tenant, 0), tools, owner: identity, bytes: 0 };
    // The head of an open call was read when it was opened.
    const head = call.message ? undefined : readHead(call, task);
    return after(head, () =>
      after(readContent(call, task, tenant, page.rules), () => {
        if (isTunnel(call)) call.opaque = [...call.opaque, 'a tunnel that is not read'];
        if (call.findings.length === 0) return;
        call.readAgain = readerOf(call, engine, tenant);
        const { length } = call.plain ?? call.body;
        if (readers.hasThreads && length > cutBytesMax) call.cutApart = cutterOf(call, task, tenant);
      }),
    );
  }

  /**
   * A function of its own: V8 puts one written in an assignment to a property into the old generation, and the whole
   * call would stay with it until the next full collection.
   */
  const readerOf =
    (call: Call, engine: DetectorEngine, tenant: TenantConfig): NonNullable<Call['readAgain']> =>
    (body) => {
      const part = partOf({ contentType: call.contentType, ...sentOf(call) }, body);
      const { findings, unreadable, isOutOfTime } = readPart(
        part,
        engine,
        besideBody(timeFor(tenant, body.length).bounds, body),
      );
      if (isOutOfTime) call.isOutOfTime = true;
      return unreadable === undefined ? findings : undefined;
    };

  const cutterOf =
    (call: Call, task: Task, tenant: TenantConfig): NonNullable<Call['cutApart']> =>
    async (body, cuts) => {
      const { contentType } = call;
      const input = { ...sentOf(call), contentType, body, cuts, format: bodyFormat(contentType, body) };
      const answer = await readers.run('cut', input, {
        ...task,
        ...timeFor(tenant, body.length),
        bytes: body.length,
      });
      if ('lost' in answer || answer.isOutOfTime) call.isOutOfTime = true;
      return 'lost' in answer ? undefined : answer.left;
    };

  /** The time for a content, from now on. */
  function timeFor(
    tenant: TenantConfig,
    bytes: number,
    isPacked?: boolean,
  ): Pick<Task, 'bounds' | 'timeoutMs'> {
    const timeoutMs = scanTimeMs(tenant.scanTimeoutMs, bytes, isPacked);
    const endsAt = clock() + timeoutMs;
    return {
      bounds: { maxDecodedBytes: tenant.maxDecodedBytes, isOver: () => clock() > endsAt },
      timeoutMs,
    };
  }

  const runInTurn = inTurn();
  return {
    name: 'read',
    run(call) {
      const page = rulesForCall(policies, call);
      if (page instanceof Promise) return page.then((it) => readCall(call, it));
      return call.body.length > turnBytesMax ? readCall(call, page) : runInTurn(() => readCall(call, page));
    },
  };
}

const never = (): boolean => false;

/** Adds what a part shows to the call. */
function note(
  call: Call,
  reading: Pick<PartResult, 'findings' | 'opaque' | 'uncounted' | 'unreadable' | 'isOutOfTime'>,
): void {
  const { findings, opaque, uncounted } = reading;
  if (uncounted.length > 0) call.uncounted = uncounted;
  call.findings.push(...findings);
  if (opaque.length > 0) call.opaque = [...call.opaque, ...opaque];
  noteUnreadable(call, reading);
}

/** The first reason stands. */
function noteUnreadable(
  call: Call,
  { unreadable, isOutOfTime }: Pick<PartResult, 'unreadable' | 'isOutOfTime'>,
): void {
  if (call.unreadable !== undefined || unreadable === undefined) return;
  call.unreadable = unreadable;
  call.isOutOfTime = isOutOfTime;
}

function bodyJob(call: Call, wanted: Pick<BodyJob, 'wantsTexts' | 'wantsUrls'>): BodyJob {
  const { body, contentType, contentEncoding, plain, message, claimed, entrance, headers } = call;
  return {
    ...sentOf(call),
    body,
    contentType,
    contentEncoding,
    plain,
    wantsTexts: wanted.wantsTexts,
    wantsUrls: wanted.wantsUrls,
    isBroken: call.unreadable !== undefined,
    context: claimed.context ? Buffer.from(claimed.context) : undefined,
    // The proxies take the messages of gRPC out of their envelopes themselves, and their coding with them.
    messages: message
      ? undefined
      : {
          messageCodings: messageCodingFields.map((it) => fieldOf(headers, it)),
          isUnwrapped: entrance === 'forward' || entrance === 'inbound',
        },
    boundary: message && { before: message.before, fieldEnds: message.fieldEnds },
    isBetweenAgents: isBetweenAgents(call),
  };
}

const isBetweenAgents = ({ operation }: Call): boolean =>
  operation !== undefined && operationAndParts(operation).some((it) => it.toolName === 'a2a');

/** Apart from the assignment, as `readerOf` is. */
const textsLater =
  ({ plain, body, contentType }: Call, decoded: readonly Buffer[]) =>
  (): readonly Buffer[] =>
    bodyTextsOf(plain ?? body, contentType, decoded);

/** Tells whether heads are alike down to their unread fields, which spares composing the text. */
function isAlike(last: ReadHead, { method, target, headers }: Call): boolean {
  if (last.method !== method || last.headers.length !== headers.length) return false;
  const { href, fragment, userInfo } = target;
  const { target: before } = last;
  if (before?.href !== href || before.fragment !== fragment || before.userInfo !== userInfo) return false;
  for (let i = 0; i < headers.length; i++) if (headers[i] !== last.headers[i]) return false;
  return true;
}

/** Keeps the head of a call for the next one on its connection, with what `engine` has found in it. */
function keepHead(
  last: ReadHead,
  call: Call,
  { text, engine }: { readonly text: string; readonly engine: DetectorEngine },
): void {
  noteHead(last, call);
  last.text = text;
  last.bytes = call.head;
  last.findings = [...call.findings];
  last.reader = engine;
}

function noteHead(last: ReadHead, { method, target, headers }: Call): void {
  last.method = method;
  last.target = target;
  last.headers = headers;
}

function takeHead(call: Call, { bytes, findings }: ReadHead): void {
  call.head = bytes;
  call.findings = [...findings];
}

/** The fields that both parts share. */
const sentOf = ({ identity, target }: Call) => ({
  host: target.host,
  tenantId: identity?.tenantId ?? '',
});
