import {
  type Call,
  isTunnel,
  type Meaning,
  type MessageOf,
  operationAndParts,
  type ReadHead,
} from '../../call.ts';
import type { TenantConfig } from '../../config/schema.ts';
import type { DetectorEngine } from '../../detectors/engine.ts';
import type { InjectionReader } from '../../detectors/injection/reader.ts';
import type { MeaningReader } from '../../detectors/meaning/reader.ts';
import { GatewayError } from '../../errors.ts';
import { besideContent, fieldBytesMax } from '../../text/coding-room.ts';
import { messageCodingFields } from '../../upstream/grpc-type.ts';
import { fieldOf } from '../../upstream/headers.ts';
import { plainBody } from '../body.ts';
import { headLocator, headText } from '../head-text.ts';
import { inTurn } from '../in-turn.ts';
import type { Stage } from '../pipeline.ts';
import { type Rules, rulesForCall, type TenantRules } from '../policy-book.ts';
import { bodyPart, type Part, type ReadBounds, type Reading, readPart } from '../read-part.ts';
import { namesOf } from '../safe-names.ts';
import { findAcross, findAcrossFields } from '../seam.ts';
import type { Tenants } from '../tenants.ts';
import { hasUnreadCoding } from '../unread-coding.ts';

export interface ReadOptions {
  readonly policies: Rules;
  /** Whose bounds count. */
  readonly tenants: Pick<Tenants, 'find'>;
  /** How long was worked, in milliseconds: see `workedMs`. */
  readonly clock: () => number;
  /** For what agents say to each other, and what they were told. */
  readonly injections: InjectionReader;
  /** For what calls ask for. */
  readonly meanings: MeaningReader;
}

/** Beyond this size a body that grew so much is a bomb: reading it costs the gate far more than sending it cost the agent. */
const expandedBytesMax = 1024 * 1024;
const expansionMax = 100;
/** A longer body gains nothing by waiting for others, and what is behind it would wait for long. */
const turnBytesMax = 16_384;

/**
 * What does it carry? Looks for findings in URL, headers and body, each also decoded. Finds; never decides. What cannot be
 * read within the bounds makes the call `unreadable`, and the next stages deny it.
 */
export function read({ policies, tenants, clock, injections, meanings }: ReadOptions): Stage {
  /** Adds what a part shows to the call; answers its texts, the bytes themselves first. */
  function note(call: Call, reading: Reading): readonly Buffer[] {
    const { findings, texts, tails, opaque, uncounted } = reading;
    if (uncounted.length > 0) call.uncounted = uncounted;
    if (tails.length > 0) call.leftTails = [...call.leftTails, ...tails];
    call.findings.push(...findings);
    if (opaque.length > 0) call.opaque = [...call.opaque, ...opaque];
    noteUnreadable(call, reading);
    return texts;
  }

  /** Heads of one connection are mostly the same: what was read a moment ago is not read again. */
  function readHead(call: Call, engine: DetectorEngine, bounds: ReadBounds): void {
    const { lastHead, openTails } = call;
    const mayBeKnown = lastHead?.reader === engine && openTails.length === 0;
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
    call.head = Buffer.from(text, 'latin1');
    const locator: Part['locator'] = (hidden) => headLocator(call, hidden);
    const part = {
      ...sentOf(call),
      name: 'head',
      bytes: call.head,
      format: 'head',
      locator,
    } as const;
    note(call, readPart(part, engine, bounds));
    // What was not found in the rest of it can be cut out of nothing: traces have no more of it than the origin.
    if (call.unreadable !== undefined) call.head = Buffer.alloc(0);
    // What a head brings besides findings is for its own call, and so rare that it is read again.
    const hasMore = call.unreadable !== undefined || call.leftTails.length > 0 || call.opaque.length > 0;
    if (!lastHead || hasMore) return;
    noteHead(lastHead, call);
    lastHead.text = text;
    lastHead.bytes = call.head;
    lastHead.findings = [...call.findings];
    lastHead.reader = engine;
  }

  function readBody(call: Call, engine: DetectorEngine, bounds: ReadBounds): void {
    const { maxDecodedBytes } = bounds;
    const bytes = plainBody(call, maxDecodedBytes);
    if (bytes.length > expandedBytesMax && bytes.length > call.body.length * expansionMax) {
      call.unreadable ??= `it expands to more than ${expansionMax} times its size`;
      return;
    }
    if (hasUnreadContent(call, bytes)) {
      call.unreadable ??= 'its messages or parts are compressed in a way that the gateway does not know';
      return;
    }
    call.bodyTexts = note(call, readPart(bodyOf(call, bytes), engine, bounds));
    if (bytes !== call.body) readCoding(call, engine, bounds);
  }

  function readSeam(call: Call, from: MessageOf, engine: DetectorEngine, bounds: ReadBounds): void {
    const body = plainBody(call, bounds.maxDecodedBytes);
    const seams = [
      findAcross(from.before, body, engine, bounds),
      findAcrossFields(from.fieldEnds, body, engine, bounds),
    ];
    for (const seam of seams) {
      call.findings.push(...seam.findings);
      noteUnreadable(call, seam);
    }
  }

  /** A coding has room beside the content, and what stands there goes out as it is: so there may be nothing. */
  function readCoding(call: Call, engine: DetectorEngine, bounds: ReadBounds): void {
    if (call.unreadable !== undefined) return;
    const { body, contentEncoding } = call;
    const beside = besideContent(body, contentEncoding, bounds.maxDecodedBytes);
    if (beside === undefined) {
      call.unreadable = `the content coding of the body carries more than ${fieldBytesMax} bytes beside the content`;
      return;
    }
    const locator: Part['locator'] = () => () => 'body';
    const part = { ...sentOf(call), name: 'body', bytes: beside, format: 'text', locator } as const;
    const reading = readPart(part, engine, bounds);
    if (reading.findings.length > 0)
      call.unreadable = 'something is hidden in the content coding of the body';
    else noteUnreadable(call, reading);
  }

  function readCall(call: Call, page: TenantRules): void {
    const tenant = call.identity && tenants.find(call.identity.tenantId);
    if (!tenant) throw new GatewayError('INVALID_KEY', 'The key is not valid.');
    const bounds = boundsFrom(tenant);
    const { agentName, runtimeType } = call.claimed;
    call.safeName = namesOf(page.engine);
    if (agentName) call.agentName = call.safeName(agentName);
    if (runtimeType) call.runtimeType = call.safeName(runtimeType);
    // The head of an open call was read when it was opened.
    if (!call.message) readHead(call, page.engine, bounds);
    if (call.body.length > 0) readBody(call, page.engine, bounds);
    if (call.message) readSeam(call, call.message, page.engine, bounds);
    if (isTunnel(call)) call.opaque = [...call.opaque, 'a tunnel that is not read'];
    const context = contextOf(call);
    const told = isBetweenAgents(call) ? [...call.bodyTexts, ...context] : context;
    for (const text of told)
      call.injection = Math.max(call.injection, injections.read(text, bounds.isOver).score);
    const asked: Meaning[] = [];
    for (const text of context) asked.push(...meanings.read(text, bounds.isOver));
    for (const text of bodyEnds(call)) asked.push(...meanings.read(text, bounds.isOver));
    call.meanings = gravestOf(asked);
    if (call.findings.length > 0) call.readAgain = readerOf(call, page.engine, tenant);
  }

  /**
   * Made apart from the assignment: V8 puts a function that is written down in one to a property into the old generation at once, and the
   * whole call would stay with it until the next full collection.
   */
  const readerOf =
    (call: Call, engine: DetectorEngine, tenant: TenantConfig): NonNullable<Call['readAgain']> =>
    (body) => {
      const { findings, unreadable, isOutOfTime } = readPart(bodyOf(call, body), engine, boundsFrom(tenant));
      if (isOutOfTime) call.isOutOfTime = true;
      return unreadable === undefined ? findings : undefined;
    };

  /** From now on. */
  function boundsFrom({ maxDecodedBytes, scanTimeoutMs }: TenantConfig): ReadBounds {
    const endsAt = clock() + scanTimeoutMs;
    return { maxDecodedBytes, isOver: () => clock() > endsAt };
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

/** The first reason stands. */
function noteUnreadable(
  call: Call,
  { unreadable, isOutOfTime }: Pick<Reading, 'unreadable' | 'isOutOfTime'>,
): void {
  if (call.unreadable !== undefined || unreadable === undefined) return;
  call.unreadable = unreadable;
  call.isOutOfTime = isOutOfTime;
}

/** The proxies take the messages of gRPC out of their envelopes themselves, and their coding with them. */
function hasUnreadContent({ contentType, entrance, message, headers }: Call, bytes: Buffer): boolean {
  if (message) return false;
  const isUnwrapped = entrance === 'forward' || entrance === 'inbound';
  const messageCodings = messageCodingFields.map((it) => fieldOf(headers, it));
  return hasUnreadCoding({ bytes, contentType, messageCodings, isUnwrapped });
}

const isBetweenAgents = ({ operation }: Call): boolean =>
  operation !== undefined && operationAndParts(operation).some((it) => it.toolName === 'a2a');

/** Forms of one body. */
const askingTextsMax = 4;
/** A request begins with its task, and the newest turn of a conversation ends it. */
const askingEndBytes = 4_096;

/** Both ends of the body in its forms. */
function bodyEnds({ bodyTexts }: Call): readonly Buffer[] {
  const ends: Buffer[] = [];
  for (let i = 0; i < bodyTexts.length && i < askingTextsMax; i++) {
    const text = bodyTexts[i] as Buffer;
    if (text.length <= 2 * askingEndBytes) ends.push(text);
    else ends.push(text.subarray(0, askingEndBytes), text.subarray(text.length - askingEndBytes));
  }
  return ends;
}

/** One of each category. */
function gravestOf(meanings: readonly Meaning[]): readonly Meaning[] {
  if (meanings.length < 2) return meanings;
  const gravest = new Map<string, Meaning>();
  for (const it of meanings)
    if (it.score > (gravest.get(it.category)?.score ?? 0)) gravest.set(it.category, it);
  return [...gravest.values()];
}

/** Whether they are the same down to what is not read. It spares putting the text together. */
function isAlike(last: ReadHead, { method, target, headers }: Call): boolean {
  if (last.method !== method || last.headers.length !== headers.length) return false;
  const { href, fragment, userInfo } = target;
  const { target: before } = last;
  if (before?.href !== href || before.fragment !== fragment || before.userInfo !== userInfo) return false;
  for (let i = 0; i < headers.length; i++) if (headers[i] !== last.headers[i]) return false;
  return true;
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

const contextOf = ({ claimed: { context } }: Call): Buffer[] => (context ? [Buffer.from(context)] : []);

/** What both parts have in common. */
const sentOf = ({ target, receivedAtMs, openTails }: Call) => ({
  host: target.host,
  sent: { atMs: receivedAtMs, openTails },
});

const bodyOf = (call: Call, bytes: Buffer): Part => ({
  ...bodyPart(bytes, call.contentType, call.target.host),
  ...sentOf(call),
  mayBeMany: true,
});
