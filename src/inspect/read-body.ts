import type { CutBody, Finding, Meaning } from '../core/call.ts';
import { bodyFormat } from './decode/body-format.ts';
import { besideContent, fieldBytesMax } from './decode/packed/coding-room.ts';
import { inflateBody } from './decode/packed/inflate.ts';
import { PlainSpace } from './decode/unescape-json.ts';
import { withoutEscapes } from './decode/views.ts';
import type { InjectionReader } from './injection/reader.ts';
import type { MeaningReader } from './intent/reader.ts';
import type { DetectorEngine } from './match/engine.ts';
import type { WordsFound } from './match/rule-words.ts';
import { type HeadFields, headLocator } from './parts/head-text.ts';
import { toCut } from './parts/sanitize.ts';
import { unreadIn } from './parts/unread-coding.ts';
import { urlsIn } from './parts/urls-in-texts.ts';
import { bodyPart, type CallPart, type PartResult, type ReadBounds, readPart } from './read-part.ts';
import { type CutFormat, redactBody } from './redact/redact.ts';
import { type FieldEnds, findAcross, findAcrossFields } from './seam.ts';
import type { BeginningMemory } from './segments/known-beginning.ts';

/*
 * All that is read of the body of a call, from plain data to plain data: so it can be done on the event loop or in a thread, and shows the
 * same in both.
 */

export interface ReadingTools {
  readonly engine: DetectorEngine;
  /** For what agents say to each other, and what they were told. */
  readonly injections: InjectionReader;
  /** For what calls ask for. */
  readonly meanings: MeaningReader;
  /** In which bodies are looked up that begin as earlier ones did; without it all are read from their beginnings. */
  readonly beginnings?: BeginningMemory | undefined;
  /** What rules look for in bodies; undefined where that is left to them. */
  readonly words?: readonly string[] | undefined;
}

/** By what a body is read. */
export interface BodySource {
  readonly contentType: string;
  readonly host: string;
  /** Whose body it is. */
  readonly tenantId: string;
}

export interface BodyJob extends BodySource {
  /** As it was received; empty where there is none. */
  readonly body: Buffer;
  readonly contentEncoding: string;
  /** Without that coding, where somebody has taken it off before. */
  readonly plain: Buffer | undefined;
  /** The call is known to be unreadable already. */
  readonly isBroken: boolean;
  /** What the call says of itself besides. */
  readonly context: Buffer | undefined;
  /** Of the coding of its messages; undefined where it is one message itself. */
  readonly messages:
    | { readonly messageCodings: readonly string[]; readonly isUnwrapped: boolean }
    | undefined;
  /** What went out before it on an open call. */
  readonly seam: { readonly before: Buffer; readonly fieldEnds: FieldEnds } | undefined;
  /** It is read for orders to the agent that gets it. */
  readonly isBetweenAgents: boolean;
  /** All its texts are asked for; of a long one seldom anybody asks for them, and they are as long. */
  readonly wantsTexts: boolean;
  /** URLs in it are asked for. */
  readonly wantsUrls: boolean;
}

export interface BodyReading {
  readonly findings: readonly Finding[];
  /** The body without its coding, and its decoded forms; empty where there is none, undefined where they are not wanted. */
  readonly texts: readonly Buffer[] | undefined;
  /** In their place those that cannot be told from the body at little cost. See `bodyTextsOf`. */
  readonly decoded: readonly Buffer[];
  readonly plain: Buffer | undefined;
  readonly opaque: readonly string[];
  readonly uncounted: PartResult['uncounted'];
  readonly unreadable: string | undefined;
  readonly isOutOfTime: boolean;
  /** 0 to 1. */
  readonly injection: number;
  readonly meanings: readonly Meaning[];
  readonly urls: readonly (readonly string[])[] | undefined;
  readonly wordsFound: WordsFound | undefined;
}

/** Beyond this size a body that grew so much is a bomb: reading it costs the gate far more than sending it cost the agent. */
const expandedBytesMax = 1024 * 1024;
const expansionMax = 100;
const noBytes = Buffer.alloc(0);
/** Bodies are read one after the other, those of all tenants. */
const plainSpace = new PlainSpace();

export function readBody(job: BodyJob, tools: ReadingTools, bounds: ReadBounds): BodyReading {
  const { engine, injections, meanings, beginnings, words } = tools;
  const findings: Finding[] = [];
  let texts: readonly Buffer[] = [];
  let decoded: readonly Buffer[] = [];
  let asking: readonly Buffer[] = [];
  let opaque: readonly string[] = [];
  let uncounted: PartResult['uncounted'] = [];
  let wordsFound: WordsFound | undefined;
  let problem: Pick<PartResult, 'unreadable' | 'isOutOfTime'> = whole;
  /** The first reason stands. */
  const fail = (unreadable: string | undefined, isOutOfTime = false): void => {
    if (problem.unreadable === undefined && unreadable !== undefined) problem = { unreadable, isOutOfTime };
  };
  const { body, contentEncoding, context, seam } = job;
  const { plain, unreadable } = plainOf(job, bounds.maxDecodedBytes);
  fail(unreadable);
  if (body.length > 0) {
    const unread = whyUnread(job, plain);
    if (unread !== undefined) fail(unread);
    else {
      // What is told of a body is copied or made anew, but for its texts.
      const space = job.wantsTexts ? undefined : plainSpace;
      const part = partOf(job, plain, { memory: beginnings, words, space });
      const reading = readPart(part, engine, besideBody(bounds, plain));
      findings.push(...reading.findings);
      ({ decoded, opaque, uncounted, wordsFound } = reading);
      asking = reading.ends;
      if (job.wantsTexts || job.isBetweenAgents || job.wantsUrls) texts = reading.texts;
      fail(reading.unreadable, reading.isOutOfTime);
      if (contentEncoding !== '' && !job.isBroken && problem.unreadable === undefined)
        readCoding(job, engine, bounds, fail);
    }
  }
  if (seam) {
    const { before, fieldEnds } = seam;
    for (const across of [
      findAcross(before, plain, engine, bounds),
      findAcrossFields(fieldEnds, plain, engine, bounds),
    ]) {
      findings.push(...across.findings);
      fail(across.unreadable, across.isOutOfTime);
    }
  }
  const told = context ? [context] : [];
  let injection = 0;
  for (const text of job.isBetweenAgents ? [...texts, ...told] : told)
    injection = Math.max(injection, injections.read(text, bounds.isOver).score);
  const asked: Meaning[] = [];
  for (const text of told) asked.push(...meanings.read(text, bounds.isOver));
  for (const text of asking) asked.push(...meanings.read(text, bounds.isOver));
  return {
    findings,
    opaque,
    uncounted,
    unreadable: problem.unreadable,
    isOutOfTime: problem.isOutOfTime,
    injection,
    texts: job.wantsTexts ? texts : undefined,
    decoded: job.wantsTexts ? [] : decoded,
    plain: contentEncoding === '' ? undefined : plain,
    meanings: gravestOf(asked),
    urls: job.wantsUrls ? [...urlsIn(texts)] : undefined,
    wordsFound,
  };
}

/** The texts of a body that was read without them. */
export function bodyTextsOf(
  plain: Buffer,
  contentType: string,
  decoded: readonly Buffer[],
): readonly Buffer[] {
  const isJson = bodyFormat(contentType, plain) === 'json';
  const spelt = isJson ? withoutEscapes(plain, () => undefined) : undefined;
  return spelt ? [plain, spelt.bytes, ...decoded] : [plain, ...decoded];
}

function whyUnread({ body, contentType, messages }: BodyJob, plain: Buffer): string | undefined {
  if (plain.length > expandedBytesMax && plain.length > body.length * expansionMax)
    return `it expands to more than ${expansionMax} times its size`;
  return messages && unreadIn({ ...messages, bytes: plain, contentType });
}

const whole = { unreadable: undefined, isOutOfTime: false };

function plainOf(
  { body, contentEncoding, plain }: BodyJob,
  maxBytes: number,
): { readonly plain: Buffer; readonly unreadable?: string } {
  if (contentEncoding === '') return { plain: body };
  const inflated = plain ? { body: plain } : inflateBody(body, contentEncoding, maxBytes);
  if ('unreadable' in inflated) return { plain: noBytes, unreadable: inflated.unreadable };
  if (inflated.body.length <= maxBytes) return { plain: inflated.body };
  return {
    plain: noBytes,
    unreadable: `The content decodes to more than the limit of ${maxBytes} bytes.`,
  };
}

/**
 * What is decoded counts beside the body: taking the escapes out of JSON makes a second one of the same length. So a plain body that is
 * large is as readable as a small one.
 */
export const besideBody = ({ maxDecodedBytes, isOver }: ReadBounds, { length }: Buffer): ReadBounds => ({
  maxDecodedBytes: maxDecodedBytes + length,
  isOver,
});

/** A coding has room beside the content, and what stands there goes out as it is: so there may be nothing. */
function readCoding(
  { body, contentEncoding, host }: BodyJob,
  engine: DetectorEngine,
  bounds: ReadBounds,
  fail: (unreadable: string | undefined, isOutOfTime?: boolean) => void,
): void {
  const beside = besideContent(body, contentEncoding, bounds.maxDecodedBytes);
  if (beside === undefined) {
    fail(`the content coding of the body carries more than ${fieldBytesMax} bytes beside the content`);
    return;
  }
  const locator: CallPart['locator'] = () => () => 'body';
  const part = {
    host,
    name: 'body',
    bytes: beside,
    format: 'text',
    locator,
  } as const;
  const reading = readPart(part, engine, bounds);
  if (reading.findings.length > 0) fail('something is hidden in the content coding of the body');
  else fail(reading.unreadable, reading.isOutOfTime);
}

/** The body of a call, or what was made of it, as a part to be read. */
export const partOf = (
  { contentType, host, tenantId }: BodySource,
  bytes: Buffer,
  {
    memory,
    words,
    space,
  }: Pick<CallPart, 'words' | 'space'> & { readonly memory?: BeginningMemory | undefined } = {},
): CallPart => ({
  ...bodyPart(bytes, contentType, host),
  knownBy: memory && { memory, tenantId },
  words,
  space,
  mayBeMany: true,
});

/** One of each category. */
function gravestOf(meanings: readonly Meaning[]): readonly Meaning[] {
  if (meanings.length < 2) return meanings;
  const gravest = new Map<string, Meaning>();
  for (const it of meanings)
    if (it.score > (gravest.get(it.category)?.score ?? 0)) gravest.set(it.category, it);
  return [...gravest.values()];
}

/** URL and headers, as `headText` puts them together. */
export interface HeadJob extends HeadFields {
  readonly bytes: Buffer;
}

export function readHead(
  { bytes, ...head }: HeadJob,
  { engine }: Pick<ReadingTools, 'engine'>,
  bounds: ReadBounds,
): Pick<PartResult, 'findings' | 'opaque' | 'uncounted' | 'unreadable' | 'isOutOfTime'> {
  const locator: CallPart['locator'] = (hidden) => headLocator(head, hidden);
  const part = { name: 'head', bytes, format: 'head', host: head.target.host, locator } as const;
  const { findings, opaque, uncounted, unreadable, isOutOfTime } = readPart(part, engine, bounds);
  return { findings, opaque, uncounted, unreadable, isOutOfTime };
}

/** A body of which something is to be cut; nothing is where `cuts` is empty. */
export interface CutJob extends BodySource {
  readonly body: Buffer;
  readonly cuts: readonly Finding[];
  readonly format: CutFormat;
}

/** `left` is undefined where the body cannot be cut, or what is left cannot be read to its end. */
export function cutAndRead(
  job: CutJob,
  { engine, beginnings }: Pick<ReadingTools, 'engine' | 'beginnings'>,
  bounds: ReadBounds,
): { readonly left: CutBody | undefined; readonly isOutOfTime: boolean } {
  const body = redactBody(job.body, job.cuts.map(toCut), job.format);
  if (!body) return { left: undefined, isOutOfTime: false };
  const part = partOf(job, body, { memory: beginnings });
  const { findings, unreadable, isOutOfTime } = readPart(part, engine, besideBody(bounds, body));
  return { left: unreadable === undefined ? { body, findings } : undefined, isOutOfTime };
}

export interface OpenJob {
  readonly body: Buffer;
  readonly contentEncoding: string;
}

/** Takes the content coding off a body: a few bytes may become many. */
export const openBody = (
  { body, contentEncoding }: OpenJob,
  _: ReadingTools,
  { maxDecodedBytes }: ReadBounds,
): ReturnType<typeof inflateBody> => inflateBody(body, contentEncoding, maxDecodedBytes);
