import type { DataClass, Finding } from '../../core/call.ts';
import { classesAmong } from '../../core/finding.ts';
import type { MaybePromise } from '../../util/maybe-promise.ts';
import { isEnvelopedType, isGrpcType } from '../../wire/grpc/grpc-type.ts';
import { bodyFormat } from '../decode/body-format.ts';
import { tookTooLong } from '../decode/budget.ts';
import { textIn } from '../decode/packed/binary.ts';
import { type FromCharset, foreignCharsetsIn } from '../decode/packed/foreign-charset.ts';
import { inflateBody, inflateStart } from '../decode/packed/inflate.ts';
import type { View } from '../decode/views.ts';
import { joinedRuns } from '../injection/joined-runs.ts';
import { counts, isCutFor, withoutFindings } from '../parts/sanitize.ts';
import { unreadIn } from '../parts/unread-coding.ts';
import type { ReadingTools } from '../read-body.ts';
import { bodyPart, type CallPart, type ReadBounds, readPart } from '../read-part.ts';
import { type InjectionText, notDetected, type PromptInjection, readInjection } from './answer-injection.ts';

/* Reads the answer of an upstream, from plain data to plain data. */

/** The body of an upstream's answer. */
export interface AnswerContent {
  readonly bytes: Buffer;
  readonly contentType: string;
  readonly contentEncoding: string;
  /** The values of its header fields on the coding of the messages in it. */
  readonly messageCodings?: readonly string[];
}

export interface AnswerReading {
  readonly classes: readonly DataClass[];
  /** The findings, with their places in `plain`, where they stand in it undecoded. */
  readonly findings: readonly Finding[];
  /** The number of distinct places that hold something of a class. */
  readonly places: number;
  /** The number of distinct values of a class. */
  readonly values: number;
  readonly injection: PromptInjection;
  /** The answer without its content coding; empty where that cannot be taken off to the end. */
  readonly plain: Buffer;
  /** The content and its decoded forms, as far as they could be read. */
  readonly texts: readonly Buffer[];
  /** The classes of what was found, without tokens that the answer issues. */
  readonly sensitiveClasses: readonly DataClass[];
  /** The credentials as they stand in it, issued tokens among them. */
  readonly secrets: readonly Buffer[];
  /**
   * The credentials given out as tokens: for access, perhaps at another host, and for renewal at their
   * origin.
   */
  readonly granted: { readonly access: readonly Buffer[]; readonly renewal: readonly Buffer[] };
  /**
   * The reason why it could not be read to its end, in a sentence that quotes no content; undefined where it
   * could.
   */
  readonly unreadable: string | undefined;
}

/**
 * The first reading of an answer. `isClean` tells whether nothing at all was found, not even of low
 * confidence.
 */
export interface FirstReading extends AnswerReading {
  readonly isClean: boolean;
}

/** The parts that are to be cut out of an answer. */
export interface Redaction {
  /** The classes of the findings to be cut, SECRETS always among them. */
  readonly classes: readonly DataClass[];
  /** Tells whether only the start was read, so that a finding at its end may go on. */
  readonly isStart?: boolean;
}

/** A name that is no vendor's host, so no credential from an upstream counts as being where it belongs. */
export const nowhere = 'answer.invalid';
/** Matches places of issued tokens (RFC 6749, 5.1) as services spell them; a list of tokens issues none. */
const accessPlace = /^body:\$(?:\.\w{1,64})?\.(?:(?:access|id|session|auth)?_?token|jwt)$/i;
const renewalPlace = /^body:\$(?:\.\w{1,64})?\.refresh_?token$/i;
const noBytes = Buffer.alloc(0);
/**
 * Places where a token endpoint puts issued tokens (RFC 6749, 5.1; OpenID Connect Core, 3.1.3.3); a token
 * type must stand beside them.
 */
const issuedPlaces: ReadonlySet<string> = new Set([
  'body:$.access_token',
  'body:$.refresh_token',
  'body:$.id_token',
]);
const tokenType = /"token_type"\s{0,16}:/;
const tokenAnswerBytesMax = 65_536;

/** Reads an answer as the body of a call is read, and for injections as well. */
export function readAnswer(
  content: AnswerContent,
  tools: AnswerTools,
  bounds: ReadBounds,
): MaybePromise<FirstReading> {
  const { bytes, contentEncoding } = content;
  const inflated = inflateBody(bytes, contentEncoding, bounds.maxDecodedBytes);
  if ('unreadable' in inflated) return readStart(content, inflated.unreadable, tools, bounds);
  const reading = readPlain(inflated.body, content, tools, bounds);
  const unread = unreadWithin(content, inflated.body);
  return unread === undefined ? reading : { ...reading, unreadable: unread, isClean: false };
}

type AnswerTools = Omit<ReadingTools, 'meanings'>;

/** Reads as much as can be inflated, because the agent may use the beginning of a broken answer. */
async function readStart(
  content: AnswerContent,
  unreadable: string,
  tools: AnswerTools,
  bounds: ReadBounds,
): Promise<FirstReading> {
  const start = await inflateStart(content.bytes, content.contentEncoding, bounds.maxDecodedBytes);
  return { ...readPlain(start, content, tools, bounds), plain: noBytes, unreadable, isClean: false };
}

function readPlain(
  body: Buffer,
  { contentType }: AnswerContent,
  tools: AnswerTools,
  bounds: ReadBounds,
): FirstReading {
  const part = bodyPart(hasParts(contentType) ? body : textIn(body), contentType, nowhere);
  return readAnswerPart(part, { body, contentType }, tools, bounds);
}

/** Bounds the texts that are converted of one answer: decoded forms in each declared set. */
const convertedMax = 16;

/** Returns the texts that clients make of an answer: out of its character sets, and of runs in a list. */
function otherTexts(views: readonly View[], text: Buffer, contentType: string): readonly InjectionText[] {
  const converted = convertedTexts(views, foreignCharsetsIn(text, contentType));
  const runs = [text, ...converted.map(({ bytes }) => bytes)].flatMap(joinedRuns);
  const toSource = () => ({ start: 0, end: text.length });
  return [...converted, ...runs.map((it) => ({ bytes: Buffer.from(it), toSource }))];
}

function convertedTexts(views: readonly View[], convert: FromCharset | undefined): readonly InjectionText[] {
  const texts: InjectionText[] = [];
  for (const view of convert ? views : []) {
    const toSource = () => view.toSource(0, view.bytes.length);
    for (const bytes of convert?.(view.bytes) ?? []) texts.push({ bytes, toSource });
    if (texts.length >= convertedMax) break;
  }
  return texts;
}

/** Reads a part of an answer; `body` is the plain answer that the part was made of. */
export function readAnswerPart(
  part: CallPart,
  { body, contentType = '' }: { readonly body: Buffer; readonly contentType?: string },
  { engine, injections }: AnswerTools,
  bounds: ReadBounds,
): FirstReading {
  const { isOver } = bounds;
  const { bytes: text } = part;
  const { findings, views, unreadable } = readPart(part, engine, bounds);
  const injection = readInjection(injections, [...views, ...otherTexts(views, text, contentType)], part, {
    isOver,
  });
  const found = findings.filter(counts);
  const brought = withoutIssued(found, text);
  const secrets = found.filter((it) => it.class === 'SECRETS');
  const secretTexts = secrets.map((it) => text.subarray(it.start, it.end));
  const secretsAt = (place: RegExp): Buffer[] =>
    secretTexts.filter((_, at) => place.test(secrets[at]?.location ?? ''));
  const problem = unreadable ?? (isOver() ? tookTooLong : undefined);
  return {
    classes: classesAmong(found),
    findings: found,
    places: new Set(found.map((it) => it.location)).size,
    values: new Set(found.map((it) => text.toString('latin1', it.start, it.end))).size,
    injection,
    plain: body,
    texts: views.map((it) => it.bytes),
    sensitiveClasses: classesAmong(brought),
    secrets: secretTexts,
    granted: { access: secretsAt(accessPlace), renewal: secretsAt(renewalPlace) },
    unreadable: problem,
    isClean: findings.length === 0 && injection.score === 0 && problem === undefined,
  };
}

export interface RedactJob {
  readonly plain: Buffer;
  readonly contentType: string;
  readonly findings: readonly Finding[];
  readonly redaction: Redaction;
}

/**
 * Cuts the findings out of an answer and reads the rest again, which must show none of them. `left` is
 * undefined where they cannot be cut.
 */
export function redactAnswer(
  { plain, contentType, findings, redaction: { classes, isStart = false } }: RedactJob,
  { engine }: Pick<ReadingTools, 'engine'>,
  bounds: ReadBounds,
): { readonly left: Buffer | undefined } {
  const isCut = isCutFor(classes);
  const mayGoOn = isStart && findings.some((it) => isCut(it) && it.end >= plain.length);
  if (mayGoOn || !mayBeCut(plain)) return { left: undefined };
  const format = bodyFormat(contentType, plain);
  const readAgain = (bytes: Buffer): readonly Finding[] | undefined => {
    const { findings: left, unreadable } = readPart(bodyPart(bytes, contentType, nowhere), engine, bounds);
    return unreadable === undefined ? left : undefined;
  };
  const answer = { bytes: plain, contentType, findings, readAgain };
  const cuttable = { ...answer, format: isStart && format === 'json' ? ('json-start' as const) : undefined };
  return { left: withoutFindings(cuttable, classes) };
}

/**
 * Tells whether content has parts, any of which may be compressed. gRPC does not count: its messages come one
 * by one, without envelopes.
 */
const hasParts = (contentType: string): boolean =>
  /^multipart\//i.test(contentType) || (isEnvelopedType(contentType) && !isGrpcType(contentType));

/** Returns why an answer is unreadable whatever is found in it; undefined where it is readable. */
export const unreadWithin = (
  { contentType, messageCodings = [] }: AnswerContent,
  plain: Buffer,
): string | undefined => unreadIn({ bytes: plain, contentType, messageCodings, isUnwrapped: true });

/**
 * Tells whether a byte stands in no text. Binary formats count lengths with such bytes, which a cut would
 * falsify.
 */
const isControl = (byte: number): boolean => byte < 0x09;

const mayBeCut = (plain: Buffer): boolean => textIn(plain) === plain && !plain.some(isControl);

export const nothingFound = {
  classes: [],
  findings: [],
  places: 0,
  values: 0,
  injection: notDetected,
  sensitiveClasses: [],
  secrets: [],
  granted: { access: [], renewal: [] },
  unreadable: undefined,
} as const;

/**
 * Leaves out the tokens of a token endpoint. The agent asked for them to use them elsewhere, and has read
 * nobody's data.
 */
function withoutIssued(found: readonly Finding[], text: Buffer): readonly Finding[] {
  if (!found.some((it) => issuedPlaces.has(it.location)) || text.length > tokenAnswerBytesMax) return found;
  if (!tokenType.test(text.toString('latin1'))) return found;
  return found.filter((it) => it.class !== 'SECRETS' || !issuedPlaces.has(it.location));
}
