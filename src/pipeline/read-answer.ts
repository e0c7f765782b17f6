import { type DataClass, dataClasses, type Identity } from '../call.ts';
import type { TenantConfig } from '../config/schema.ts';
import type { DetectorEngine } from '../detectors/engine.ts';
import { type Evidence, type InjectionReader, scoreMin } from '../detectors/injection/reader.ts';
import { GatewayError } from '../errors.ts';
import { kept } from '../kept.ts';
import { textIn } from '../text/binary.ts';
import { inflateBody, inflateStart } from '../text/inflate.ts';
import type { View } from '../text/views.ts';
import { CleanAnswers } from './clean-answers.ts';
import type { Rules } from './policy-book.ts';
import { bodyPart, type Part, readPart } from './read-part.ts';
import { counts } from './sanitize.ts';
import type { Tenants } from './tenants.ts';

/** What an upstream has answered. */
export interface AnswerContent {
  readonly bytes: Buffer;
  readonly contentType: string;
  readonly contentEncoding: string;
}

export interface AnswerReading {
  readonly classes: readonly DataClass[];
  /** Distinct places that hold something of a class. */
  readonly places: number;
  /** Distinct things of a class. */
  readonly values: number;
  readonly injection: PromptInjection;
  /** Without its content coding; empty where that cannot be taken off to the end. */
  readonly plain: Buffer;
  /** The content and its decoded forms, as far as they could be read. */
  readonly texts: readonly Buffer[];
  /** Credentials in it, as they stand there. */
  readonly secrets: readonly Buffer[];
  /** Why it could not be read to its end; a sentence without content. */
  readonly unreadable: string | undefined;
}

/** Whether the content gives orders to the agent that reads it. */
export interface PromptInjection {
  readonly detected: boolean;
  /** 0 to 1. */
  readonly score: number;
  /** What made it count; empty where nothing was detected. */
  readonly findings: readonly { readonly kind: string; readonly location: string }[];
}

export interface AnswerReader {
  /** Reads what an upstream has answered as the body of a call is read, and for orders to the agent besides. Throws for a tenant that is not served. */
  read(identity: Pick<Identity, 'tenantId'>, content: AnswerContent): Promise<AnswerReading>;
  /** Whether the same content was read a short while ago and had nothing in it: then it need not be read, nor waited for. */
  isKnownClean(identity: Pick<Identity, 'tenantId'>, content: AnswerContent): boolean;
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
const notDetected: PromptInjection = { detected: false, score: 0, findings: [] };
const noBytes = Buffer.alloc(0);
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

  async function read(
    content: AnswerContent,
    engine: DetectorEngine,
    tenant: TenantConfig,
  ): Promise<AnswerReading> {
    const { bytes, contentType, contentEncoding } = content;
    const inflated = inflateBody(bytes, contentEncoding, tenant.maxDecodedBytes);
    if (!('unreadable' in inflated)) return readPlain(inflated.body, contentType, engine, tenant);
    // The agent may make use of the beginning.
    const start = await inflateStart(bytes, contentEncoding, tenant.maxDecodedBytes);
    const reading = readPlain(start, contentType, engine, tenant);
    return { ...reading, plain: noBytes, unreadable: inflated.unreadable };
  }

  function readPlain(
    body: Buffer,
    contentType: string,
    engine: DetectorEngine,
    { maxDecodedBytes, scanTimeoutMs }: TenantConfig,
  ): AnswerReading {
    const clean = cleanAnswers(engine, contentType);
    if (clean.has(body)) return { ...nothingFound, plain: body, texts: [body] };
    const endsAt = clock() + scanTimeoutMs;
    const isOver = (): boolean => clock() > endsAt;
    const text = textIn(body);
    const part = bodyPart(text, contentType, nowhere);
    const { findings, views, unreadable } = readPart(part, engine, { maxDecodedBytes, isOver });
    const injection = readInjection(injections, views, part, isOver);
    const found = findings.filter(counts);
    const problem = unreadable ?? (isOver() ? 'reading took too long' : undefined);
    if (findings.length === 0 && injection.score === 0 && problem === undefined) clean.add(body);
    return {
      classes: dataClasses.filter((name) => found.some((it) => it.class === name)),
      places: new Set(found.map((it) => it.location)).size,
      values: new Set(found.map((it) => text.toString('latin1', it.start, it.end))).size,
      injection,
      plain: body,
      texts: views.map((it) => it.bytes),
      secrets: found.filter((it) => it.class === 'SECRETS').map((it) => text.subarray(it.start, it.end)),
      unreadable: problem,
    };
  }

  return {
    async read({ tenantId }, content) {
      const tenant = tenants.find(tenantId);
      if (!tenant) throw new GatewayError('INVALID_KEY', 'The key is not valid.');
      const { engine } = await policies.rulesFor(tenantId);
      return read(content, engine, tenant);
    },
    isKnownClean({ tenantId }, { bytes, contentType, contentEncoding }) {
      const engine = policies.lastKnown(tenantId)?.engine;
      return engine !== undefined && contentEncoding === '' && cleanAnswers(engine, contentType).has(bytes);
    },
  };
}

const nothingFound = {
  classes: [],
  places: 0,
  values: 0,
  injection: notDetected,
  secrets: [],
  unreadable: undefined,
};

/** The worst of the content and its decoded forms. */
function readInjection(
  injections: InjectionReader,
  views: readonly View[],
  part: Part,
  isOver: () => boolean,
): PromptInjection {
  let score = 0;
  const found: { kind: string; start: number; end: number }[] = [];
  for (const view of views) {
    const reading = injections.read(view.bytes, isOver);
    score = Math.max(score, reading.score);
    found.push(...reading.evidence.map((it) => ({ kind: it.kind, ...inSource(view, it) })));
  }
  if (found.length === 0) return { ...notDetected, score };
  const locate = part.locator([]);
  const findings = new Map(
    found.map(({ kind, start }) => {
      const location = locate(start);
      return [`${kind} ${location}`, { kind, location }];
    }),
  );
  return { detected: score >= scoreMin, score, findings: [...findings.values()] };
}

const inSource = (view: View, { start, end }: Evidence): { start: number; end: number } =>
  view.toSource(start, end);
