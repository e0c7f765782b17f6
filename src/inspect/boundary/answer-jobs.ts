import { type DataClass, dataClasses, type Finding } from '../../core/call.ts';
import type { MaybePromise } from '../../util/maybe-promise.ts';
import { isEnvelopedType, isGrpcType } from '../../wire/grpc/grpc-type.ts';
import { bodyFormat } from '../decode/body-format.ts';
import { textIn } from '../decode/packed/binary.ts';
import { inflateBody, inflateStart } from '../decode/packed/inflate.ts';
import { counts, isCutFor, withoutFindings } from '../parts/sanitize.ts';
import { unreadIn } from '../parts/unread-coding.ts';
import type { ReadingTools } from '../read-body.ts';
import { bodyPart, type CallPart, type ReadBounds, readPart } from '../read-part.ts';
import { notDetected, type PromptInjection, readInjection } from './answer-injection.ts';

/* All that is read of the answer of an upstream, from plain data to plain data. */

/** What an upstream has answered. */
export interface AnswerContent {
  readonly bytes: Buffer;
  readonly contentType: string;
  readonly contentEncoding: string;
  /** What its fields say of the coding of messages in it. */
  readonly messageCodings?: readonly string[];
}

export interface AnswerReading {
  readonly classes: readonly DataClass[];
  /** With their places in `plain`, where they stand in it as it is. */
  readonly findings: readonly Finding[];
  /** Distinct places that hold something of a class. */
  readonly places: number;
  /** Distinct things of a class. */
  readonly values: number;
  readonly injection: PromptInjection;
  /** Without its content coding; empty where that cannot be taken off to the end. */
  readonly plain: Buffer;
  /** The content and its decoded forms, as far as they could be read. */
  readonly texts: readonly Buffer[];
  /** The classes of what is in it beside tokens that it issues. */
  readonly sensitiveClasses: readonly DataClass[];
  /** Credentials in it, as they stand there, tokens that it issues among them. */
  readonly secrets: readonly Buffer[];
  /** Those of them that it gives out as tokens: for access, perhaps at another host, and to renew them where they came from. */
  readonly granted: { readonly access: readonly Buffer[]; readonly renewal: readonly Buffer[] };
  /** Why it could not be read to its end; a sentence without content. */
  readonly unreadable: string | undefined;
}

/** The same, and whether nothing at all is in it, be it certain or not. */
export interface FirstReading extends AnswerReading {
  readonly isClean: boolean;
}

/** What is to be cut out of an answer. */
export interface Redaction {
  /** SECRETS always. */
  readonly classes: readonly DataClass[];
  /** There is more of the answer than was read: what is found at the end of it may go on there. */
  readonly isStart?: boolean;
}

/** No vendor's host: a credential that comes back from an upstream is at home nowhere. */
export const nowhere = 'answer.invalid';
/** RFC 6749, 5.1, as services spell it; a list of tokens gives none out. */
const accessPlace = /^body:\$(?:\.\w{1,64})?\.(?:(?:access|id|session|auth)?_?token|jwt)$/i;
const renewalPlace = /^body:\$(?:\.\w{1,64})?\.refresh_?token$/i;
const noBytes = Buffer.alloc(0);
/** Where a token endpoint puts the tokens that it issues (RFC 6749, 5.1; OpenID Connect Core, 3.1.3.3), and what it must say beside them. */
const issuedPlaces: ReadonlySet<string> = new Set([
  'body:$.access_token',
  'body:$.refresh_token',
  'body:$.id_token',
]);
const tokenType = /"token_type"\s{0,16}:/;
const tokenAnswerBytesMax = 65_536;

/** Reads an answer as the body of a call is read, and for orders to the agent besides. */
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

/** The agent may make use of the beginning. */
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
  return readAnswerPart(part, body, tools, bounds);
}

/** Reads a part of an answer that stands for `body`. */
export function readAnswerPart(
  part: CallPart,
  body: Buffer,
  { engine, injections }: AnswerTools,
  bounds: ReadBounds,
): FirstReading {
  const { isOver } = bounds;
  const { bytes: text } = part;
  const { findings, views, unreadable } = readPart(part, engine, bounds);
  const injection = readInjection(injections, views, part, { isOver });
  const found = findings.filter(counts);
  const brought = withoutIssued(found, text);
  const secrets = found.filter((it) => it.class === 'SECRETS');
  const secretTexts = secrets.map((it) => text.subarray(it.start, it.end));
  const secretsAt = (place: RegExp): Buffer[] =>
    secretTexts.filter((_, at) => place.test(secrets[at]?.location ?? ''));
  const problem = unreadable ?? (isOver() ? 'reading took too long' : undefined);
  return {
    classes: dataClasses.filter((name) => found.some((it) => it.class === name)),
    findings: found,
    places: new Set(found.map((it) => it.location)).size,
    values: new Set(found.map((it) => text.toString('latin1', it.start, it.end))).size,
    injection,
    plain: body,
    texts: views.map((it) => it.bytes),
    sensitiveClasses: dataClasses.filter((name) => brought.some((it) => it.class === name)),
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

/** What was read without its findings; read again, it shows none of them. Undefined where they cannot be cut. */
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

/** Whether content is in parts, any of which may be compressed: messages of gRPC come one by one, without their envelopes. */
const hasParts = (contentType: string): boolean =>
  /^multipart\//i.test(contentType) || (isEnvelopedType(contentType) && !isGrpcType(contentType));

/** Why an answer cannot be read whatever is found in it. */
export const unreadWithin = (
  { contentType, messageCodings = [] }: AnswerContent,
  plain: Buffer,
): string | undefined => unreadIn({ bytes: plain, contentType, messageCodings, isUnwrapped: true });

/** What has no part in text, and stands where formats of bytes say how long something is: cut, it would be another content, or none. */
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

/** An agent that is issued tokens has asked for them, to use them elsewhere: it has neither gathered them nor read somebody's data. */
function withoutIssued(found: readonly Finding[], text: Buffer): readonly Finding[] {
  if (!found.some((it) => issuedPlaces.has(it.location)) || text.length > tokenAnswerBytesMax) return found;
  if (!tokenType.test(text.toString('latin1'))) return found;
  return found.filter((it) => it.class !== 'SECRETS' || !issuedPlaces.has(it.location));
}
