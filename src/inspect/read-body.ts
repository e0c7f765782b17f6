import type { CutBody, Finding, Meaning } from '../core/call.ts';
import { bodyFormat } from './decode/body-format.ts';
import { besideContent, fieldBytesMax } from './decode/packed/coding-room.ts';
import { inflateBody } from './decode/packed/inflate.ts';
import { PlainSpace } from './decode/unescape-json.ts';
import { withoutEscapes } from './decode/views.ts';
import type { InjectionReader } from './injection/reader.ts';
import type { MeaningReader } from './intent/reader.ts';
import { disguisedPrograms, withoutDisguise } from './intent/shell-disguise.ts';
import type { DetectorEngine } from './match/engine.ts';
import type { WordsFound } from './match/rule-words.ts';
import { type FieldEnds, findBoundaryMatches, findFieldBoundaryMatches } from './message-boundary.ts';
import { type HeadFields, headLocator } from './parts/head-text.ts';
import { toCut } from './parts/sanitize.ts';
import { unreadIn } from './parts/unread-coding.ts';
import { urlsIn } from './parts/urls-in-texts.ts';
import { bodyPart, type CallPart, type PartResult, type ReadBounds, readPart } from './read-part.ts';
import { type CutFormat, redactBody } from './redact/redact.ts';
import type { BeginningMemory } from './segments/known-beginning.ts';

/* Reads a call's body, from plain data to plain data, so that event loop and thread give the same result. */

export interface ReadingTools {
  readonly engine: DetectorEngine;
  /** What looks for injections in messages to agents and tools, and in the context that a call gives. */
  readonly injections: InjectionReader;
  /** What tells what a call asks for. */
  readonly meanings: MeaningReader;
  /** The memory of how earlier bodies began; undefined where every body is read from its beginning. */
  readonly beginnings?: BeginningMemory | undefined;
  /** The words that rules look for in bodies; undefined where rules search by themselves. */
  readonly words?: readonly string[] | undefined;
}

/** How a body is to be read. */
export interface BodySource {
  readonly contentType: string;
  readonly host: string;
  /** The id of the tenant that the body belongs to. */
  readonly tenantId: string;
}

export interface BodyJob extends BodySource {
  /** The body as received; empty where there is none. */
  readonly body: Buffer;
  readonly contentEncoding: string;
  /** The body without its content coding; undefined where that was not taken off before. */
  readonly plain: Buffer | undefined;
  /** Tells whether the call is already known to be unreadable. */
  readonly isBroken: boolean;
  /** The context that the call gives beside its body; undefined where there is none. */
  readonly context: Buffer | undefined;
  /** The coding of the messages in the body; undefined where the body is one message. */
  readonly messages:
    | { readonly messageCodings: readonly string[]; readonly isUnwrapped: boolean }
    | undefined;
  /** The last bytes sent before it on an open call; undefined for other calls. */
  readonly boundary: { readonly before: Buffer; readonly fieldEnds: FieldEnds } | undefined;
  /**
   * Tells whether another agent or a tool gets the body. It is then searched for injections, and for commands
   * that are disguised.
   */
  readonly isForAgents: boolean;
  /** Tells whether all texts are wanted. They take as much memory as the body, so most callers do without. */
  readonly wantsTexts: boolean;
  /** Tells whether the URLs in it are wanted. */
  readonly wantsUrls: boolean;
}

export interface BodyReading {
  readonly findings: readonly Finding[];
  /**
   * The plain body and its decoded forms. Empty where there is no body, undefined where they are not wanted.
   */
  readonly texts: readonly Buffer[] | undefined;
  /** The decoded forms where `texts` is not wanted; else empty. `bodyTextsOf` makes the texts of them. */
  readonly decoded: readonly Buffer[];
  readonly plain: Buffer | undefined;
  readonly opaque: readonly string[];
  readonly uncounted: PartResult['uncounted'];
  readonly unreadable: string | undefined;
  readonly isOutOfTime: boolean;
  /** The score of an injection, from 0 to 1. */
  readonly injection: number;
  readonly meanings: readonly Meaning[];
  readonly urls: readonly (readonly string[])[] | undefined;
  readonly wordsFound: WordsFound | undefined;
}

/**
 * Bounds on a body's plain length in bytes, and on how many times its size that is. A body above both is a
 * bomb, since reading it costs more than sending it.
 */
const expandedBytesMax = 1024 * 1024;
const expansionMax = 100;
const noBytes = Buffer.alloc(0);
/** The memory that the bodies of all tenants share, since they are read one after another. */
const plainSpaces = { searched: new PlainSpace(), whole: new PlainSpace() };

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
  /** Notes why the body cannot be read; the first reason stands. */
  const fail = (unreadable: string | undefined, isOutOfTime = false): void => {
    if (problem.unreadable === undefined && unreadable !== undefined) problem = { unreadable, isOutOfTime };
  };
  const { body, contentEncoding, context, boundary } = job;
  const { plain, unreadable } = plainOf(job, bounds.maxDecodedBytes);
  fail(unreadable);
  if (body.length > 0) {
    const unread = whyUnread(job, plain);
    if (unread !== undefined) fail(unread);
    else {
      // The results hold copies, except for the texts, so the spaces may be used again where nobody wants the
      // texts.
      const spaces = job.wantsTexts ? undefined : plainSpaces;
      const part = partOf(job, plain, { memory: beginnings, words, spaces });
      const reading = readPart(part, engine, besideBody(bounds, plain));
      findings.push(...reading.findings);
      ({ decoded, opaque, uncounted, wordsFound } = reading);
      asking = reading.ends;
      if (job.wantsTexts || job.isForAgents || job.wantsUrls) texts = reading.texts;
      fail(reading.unreadable, reading.isOutOfTime);
      if (contentEncoding !== '' && !job.isBroken && problem.unreadable === undefined)
        readCoding(job, engine, bounds, fail);
    }
  }
  for (const across of boundary ? acrossBoundary(boundary, plain, engine, bounds) : []) {
    findings.push(...across.findings);
    fail(across.unreadable, across.isOutOfTime);
  }
  const told = context ? [context] : [];
  let injection = 0;
  for (const text of job.isForAgents ? [...texts, ...told] : told)
    injection = Math.max(injection, injections.read(text, bounds.isOver).score);
  const asked: Meaning[] = [];
  for (const text of told) asked.push(...meanings.read(text, bounds.isOver));
  for (const text of asking) {
    asked.push(...meanings.read(text, bounds.isOver));
    if (job.isForAgents) asked.push(...askedInDisguise(text.toString(), meanings, bounds.isOver));
  }
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

/** Finds what begins in earlier messages of an open call and ends in this one. */
function acrossBoundary(
  { before, fieldEnds }: NonNullable<BodyJob['boundary']>,
  plain: Buffer,
  engine: DetectorEngine,
  bounds: ReadBounds,
) {
  const ofText = findBoundaryMatches(before, plain, engine, bounds);
  return [ofText, findFieldBoundaryMatches(fieldEnds, plain, engine, bounds)];
}

/** Makes the texts of a body that was read without them. */
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
    unreadable: `the content decodes to more than the limit of ${maxBytes} bytes`,
  };
}

/**
 * Adds the length of the body to the bytes that may be decoded. Unescaping JSON alone makes a second text of
 * that length.
 */
export const besideBody = (bounds: ReadBounds, { length }: Buffer): ReadBounds => ({
  ...bounds,
  maxDecodedBytes: bounds.maxDecodedBytes + length,
});

/**
 * Reads the bytes that a content coding has beside the content, such as the fields of gzip. They are
 * forwarded as they are, so the call is denied where something is found in them.
 */
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

/** Makes a part of the body of a call, or of what was made of that body. */
export const partOf = (
  { contentType, host, tenantId }: BodySource,
  bytes: Buffer,
  {
    memory,
    words,
    spaces,
  }: Pick<CallPart, 'words' | 'spaces'> & { readonly memory?: BeginningMemory | undefined } = {},
): CallPart => ({
  ...bodyPart(bytes, contentType, host),
  knownBy: memory && { memory, tenantId },
  words,
  spaces,
  mayBeMany: true,
});

/** Returns of each category the meaning with the highest score. */
function gravestOf(meanings: readonly Meaning[]): readonly Meaning[] {
  if (meanings.length < 2) return meanings;
  const gravest = new Map<string, Meaning>();
  for (const it of meanings)
    if (it.score > (gravest.get(it.category)?.score ?? 0)) gravest.set(it.category, it);
  return [...gravest.values()];
}

/** The head of a call, with the text that `headText` makes of it. */
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

/** A body to cut findings from. Nothing is cut where `cuts` is empty. */
export interface CutJob extends BodySource {
  readonly body: Buffer;
  readonly cuts: readonly Finding[];
  readonly format: CutFormat;
}

/**
 * Cuts findings and reads the rest. `left` is undefined where the body cannot be cut, or the rest cannot be
 * read to its end.
 */
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

/** Takes the content coding off a body. It runs as a job because a few bytes may become many. */
export const openBody = (
  { body, contentEncoding }: OpenJob,
  _: ReadingTools,
  { maxDecodedBytes }: ReadBounds,
): ReturnType<typeof inflateBody> => inflateBody(body, contentEncoding, maxDecodedBytes);

/** Returns what commands ask for that stand in a text as a shell, but no reader, takes them. */
function askedInDisguise(text: string, meanings: MeaningReader, isOver: () => boolean): readonly Meaning[] {
  const run = withoutDisguise(text);
  if (run === undefined) return [];
  return [...disguisedPrograms(text, run), ...meanings.read(Buffer.from(run), isOver)];
}
