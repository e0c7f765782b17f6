import { type DataClass, dataClasses, type Finding, type Identity } from '../call.ts';
import type { TenantConfig } from '../config/schema.ts';
import type { DetectorEngine } from '../detectors/engine.ts';
import type { InjectionReader } from '../detectors/injection/reader.ts';
import { GatewayError } from '../errors.ts';
import { kept } from '../kept.ts';
import { textIn } from '../text/binary.ts';
import { inflateBody, inflateStart } from '../text/inflate.ts';
import { bodyFormat } from '../text/redact.ts';
import { isEnvelopedType, isGrpcType } from '../upstream/grpc-type.ts';
import { type Across, acrossReader } from './answer-across.ts';
import { CleanFields, type FieldsText, fieldsPart, fieldsText } from './answer-fields.ts';
import { notDetected, type PromptInjection, readInjection } from './answer-injection.ts';
import { CleanAnswers } from './clean-answers.ts';
import type { Rules } from './policy-book.ts';
import { bodyPart, type Part, type ReadBounds, readPart } from './read-part.ts';
import { counts, isCutFor, withoutFindings } from './sanitize.ts';
import type { Tenants } from './tenants.ts';
import { hasUnreadCoding } from './unread-coding.ts';

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

export interface AnswerReader {
  /** Reads what an upstream has answered as the body of a call is read, and for orders to the agent besides. Throws for a tenant that is not served. */
  read(identity: Pick<Identity, 'tenantId'>, content: AnswerContent): Promise<AnswerReading>;
  /**
   * The same of header fields or trailers, at once: `host` has answered, and what it tells of its own sessions counts for nothing. Throws for a
   * tenant that is not served, or whose rules were never read.
   */
  readFields(identity: Pick<Identity, 'tenantId'>, fields: FieldsText, host: string): AnswerReading;
  /** The same of those fields of a flat list that were not found clean before. Undefined where there is none. */
  readNewFields(
    identity: Pick<Identity, 'tenantId'>,
    fields: readonly string[],
    from: { readonly ownPrefix: string; readonly host: string },
  ): AnswerReading | undefined;
  /** Whether the same content was read a short while ago and had nothing in it: then it need not be read, nor waited for. */
  isKnownClean(identity: Pick<Identity, 'tenantId'>, content: AnswerContent): boolean;
  /**
   * What was read without its findings of these classes, in the same way as they are cut out of calls; read again, it shows none of them.
   * Undefined where they cannot be cut. Throws for a tenant that is not served.
   */
  redact(
    identity: Pick<Identity, 'tenantId'>,
    reading: Pick<AnswerReading, 'plain' | 'findings'>,
    contentType: string,
    redaction: Redaction,
  ): Promise<Buffer | undefined>;
  /** Reads what goes on behind what came before it, within the time for one content. Throws for a tenant that is not served. */
  acrossReader(identity: Pick<Identity, 'tenantId'>): Promise<Across>;
}

/** What is to be cut out of an answer. */
export interface Redaction {
  /** SECRETS always. */
  readonly classes: readonly DataClass[];
  /** There is more of the answer than was read: what is found at the end of it may go on there. */
  readonly isStart?: boolean;
}

export interface AnswerReaderOptions {
  readonly policies: Rules;
  /** Whose bounds count. */
  readonly tenants: Pick<Tenants, 'find'>;
  readonly injections: InjectionReader;
  /** Monotonic, in milliseconds. */
  readonly clock: () => number;
}

/** No vendor's host: a credential that comes back from an upstream is at home nowhere. */
const nowhere = 'answer.invalid';
/** In place of a type, for heads: no type has a blank before it. */
const fieldsOnly = ' fields';
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
/** Senders choose theirs. */
const contentTypesMax = 64;

export function createAnswerReader({
  policies,
  tenants,
  injections,
  clock,
}: AnswerReaderOptions): AnswerReader {
  /** By the engine, since another one may find what this one does not, and by the declared type, which says how a content is taken apart. */
  const cleanOf = new WeakMap<DetectorEngine, Map<string, CleanAnswers>>();

  function cleanAnswers(engine: DetectorEngine, contentType: string): CleanAnswers {
    const byType = cleanOf.get(engine) ?? new Map<string, CleanAnswers>();
    cleanOf.set(engine, byType);
    if (byType.size >= contentTypesMax) byType.clear();
    return kept(byType, contentType, () => new CleanAnswers());
  }

  const cleanFieldsOf = new WeakMap<DetectorEngine, CleanFields>();

  function cleanFields(engine: DetectorEngine): CleanFields {
    const known = cleanFieldsOf.get(engine) ?? new CleanFields();
    cleanFieldsOf.set(engine, known);
    return known;
  }

  async function read(
    content: AnswerContent,
    engine: DetectorEngine,
    tenant: TenantConfig,
  ): Promise<AnswerReading> {
    const { bytes, contentType, contentEncoding } = content;
    const inflated = inflateBody(bytes, contentEncoding, tenant.maxDecodedBytes);
    if (!('unreadable' in inflated)) {
      const reading = readPlain(inflated.body, contentType, engine, tenant);
      return isCodedWithin(content, inflated.body) ? { ...reading, unreadable: codedWithin } : reading;
    }
    // The agent may make use of the beginning.
    const start = await inflateStart(bytes, contentEncoding, tenant.maxDecodedBytes);
    const reading = readPlain(start, contentType, engine, tenant);
    return { ...reading, plain: noBytes, unreadable: inflated.unreadable };
  }

  function readPlain(
    body: Buffer,
    contentType: string,
    engine: DetectorEngine,
    tenant: TenantConfig,
  ): AnswerReading {
    const clean = cleanAnswers(engine, contentType);
    if (clean.has(body)) return { ...nothingFound, plain: body, texts: [body] };
    const part = bodyPart(hasParts(contentType) ? body : textIn(body), contentType, nowhere);
    return readThe(part, { body, onClean: () => clean.add(body) }, engine, tenant);
  }

  function readThe(
    part: Part,
    { body, onClean }: { readonly body: Buffer; readonly onClean: () => void },
    engine: DetectorEngine,
    tenant: TenantConfig,
  ): AnswerReading {
    const bounds = boundsOf(tenant);
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
    if (findings.length === 0 && injection.score === 0 && problem === undefined) onClean();
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
    };
  }

  /** Without waiting: the call was judged by the same rules. */
  function readersNow(tenantId: string): { tenant: TenantConfig; engine: DetectorEngine } {
    const tenant = tenants.find(tenantId);
    const engine = policies.lastKnown(tenantId)?.engine;
    if (!tenant || !engine) throw new GatewayError('INVALID_KEY', 'The key is not valid.');
    return { tenant, engine };
  }

  async function readersOf(tenantId: string): Promise<{ tenant: TenantConfig; engine: DetectorEngine }> {
    const tenant = tenants.find(tenantId);
    if (!tenant) throw new GatewayError('INVALID_KEY', 'The key is not valid.');
    const { engine } = await policies.rulesFor(tenantId);
    return { tenant, engine };
  }

  const boundsOf = ({ maxDecodedBytes, scanTimeoutMs }: TenantConfig): ReadBounds => {
    const endsAt = clock() + scanTimeoutMs;
    return { maxDecodedBytes, isOver: () => clock() > endsAt };
  };

  return {
    async read({ tenantId }, content) {
      const { tenant, engine } = await readersOf(tenantId);
      return read(content, engine, tenant);
    },
    readFields({ tenantId }, fields, host) {
      const { tenant, engine } = readersNow(tenantId);
      const part = fieldsPart(fields, host);
      const { bytes: body } = part;
      const clean = cleanAnswers(engine, fieldsOnly);
      return clean.has(body)
        ? { ...nothingFound, plain: body, texts: [body] }
        : readThe(part, { body, onClean: () => clean.add(body) }, engine, tenant);
    },
    readNewFields({ tenantId }, fields, { ownPrefix, host }) {
      const { tenant, engine } = readersNow(tenantId);
      const clean = cleanFields(engine);
      const text = fieldsText(fields, ownPrefix, clean);
      if (text.text === '') return undefined;
      const part = fieldsPart(text, host);
      return readThe(part, { body: part.bytes, onClean: () => clean.add(text) }, engine, tenant);
    },
    async redact({ tenantId }, { plain, findings }, contentType, { classes, isStart = false }) {
      const { tenant, engine } = await readersOf(tenantId);
      const isCut = isCutFor(classes);
      const mayGoOn = isStart && findings.some((it) => isCut(it) && it.end >= plain.length);
      if (mayGoOn || !mayBeCut(plain)) return undefined;
      const format = bodyFormat(contentType, plain);
      const readAgain = (bytes: Buffer): readonly Finding[] | undefined => {
        const part = bodyPart(bytes, contentType, nowhere);
        const { findings: left, unreadable } = readPart(part, engine, boundsOf(tenant));
        return unreadable === undefined ? left : undefined;
      };
      const answer = { bytes: plain, contentType, findings, readAgain };
      return withoutFindings(
        { ...answer, format: isStart && format === 'json' ? 'json-start' : undefined },
        classes,
      );
    },
    async acrossReader({ tenantId }) {
      const { tenant, engine } = await readersOf(tenantId);
      return acrossReader(engine, injections, boundsOf(tenant));
    },
    isKnownClean({ tenantId }, content) {
      const { bytes, contentType, contentEncoding } = content;
      const engine = policies.lastKnown(tenantId)?.engine;
      const isKnown =
        engine !== undefined && contentEncoding === '' && cleanAnswers(engine, contentType).has(bytes);
      return isKnown && !isCodedWithin(content, bytes);
    },
  };
}

/** Whether content is in parts, any of which may be compressed: messages of gRPC come one by one, without their envelopes. */
const hasParts = (contentType: string): boolean =>
  /^multipart\//i.test(contentType) || (isEnvelopedType(contentType) && !isGrpcType(contentType));

const codedWithin = 'its messages or parts are compressed in a way that the gateway does not know';

const isCodedWithin = ({ contentType, messageCodings = [] }: AnswerContent, plain: Buffer): boolean =>
  hasUnreadCoding({ bytes: plain, contentType, messageCodings, isUnwrapped: true });

/** What has no part in text, and stands where formats of bytes say how long something is: cut, it would be another content, or none. */
const isControl = (byte: number): boolean => byte < 0x09;

const mayBeCut = (plain: Buffer): boolean => textIn(plain) === plain && !plain.some(isControl);

const nothingFound = {
  classes: [],
  findings: [],
  places: 0,
  values: 0,
  injection: notDetected,
  sensitiveClasses: [],
  secrets: [],
  granted: { access: [], renewal: [] },
  unreadable: undefined,
};

/** An agent that is issued tokens has asked for them, to use them elsewhere: it has neither gathered them nor read somebody's data. */
function withoutIssued(found: readonly Finding[], text: Buffer): readonly Finding[] {
  if (!found.some((it) => issuedPlaces.has(it.location)) || text.length > tokenAnswerBytesMax) return found;
  if (!tokenType.test(text.toString('latin1'))) return found;
  return found.filter((it) => it.class !== 'SECRETS' || !issuedPlaces.has(it.location));
}
