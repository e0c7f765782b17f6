import type { TenantConfig } from '../../config/schema.ts';
import type { Identity } from '../../core/call.ts';
import { GatewayError } from '../../core/errors.ts';
import {
  CleanFields,
  type FieldsText,
  fieldsPart,
  fieldsText,
} from '../../inspect/boundary/answer-fields.ts';
import {
  type AnswerContent,
  type AnswerReading,
  nothingFound,
  type Redaction,
  readAnswerPart,
  unreadWithin,
} from '../../inspect/boundary/answer-jobs.ts';
import { createBoundaryReader } from '../../inspect/boundary/boundary-reader.ts';
import type { DetectorEngine } from '../../inspect/match/engine.ts';
import { scanTimeMs } from '../../inspect/parts/scan-time.ts';
import type { CallPart, ReadBounds } from '../../inspect/read-part.ts';
import { lostReading, onTheLoop, type Task } from '../../inspect/threads/readers.ts';
import type { Tenants } from '../../tenants/tenants.ts';
import { kept } from '../../util/kept.ts';
import { RecentMap } from '../../util/recent-map.ts';
import type { InspectOptions } from '../stages/inspect.ts';
import { CleanAnswers } from './clean-answers.ts';

export type { AnswerReading } from '../../inspect/boundary/answer-jobs.ts';

/** The tenant and agent whose answers wait to be read. Readers take turns among them. */
type Owned = Pick<Identity, 'tenantId'> & Partial<Pick<Identity, 'agentId'>>;

export type AnswerReader = ReturnType<typeof createAnswerReader>;

interface AnswerReaderOptions
  extends Pick<InspectOptions, 'policies' | 'injections' | 'meanings' | 'readers' | 'clock'> {
  /** The tenants, by whose limits and times answers are read. */
  readonly tenants: Pick<Tenants, 'find'>;
}

/** The name under which clean heads are kept, in place of a content type. No type begins with a blank. */
const fieldsOnly = ' fields';
const noBytes = Buffer.alloc(0);
/** The bound of content types that are kept for one engine. Senders choose them. */
const contentTypesMax = 64;

export function createAnswerReader({
  policies,
  tenants,
  injections,
  meanings,
  clock,
  readers = onTheLoop,
}: AnswerReaderOptions) {
  /**
   * The clean answers by engine and by content type. Another engine may find more, and the type says how
   * content is read.
   */
  const cleanOf = new WeakMap<DetectorEngine, Map<string, CleanAnswers>>();

  function cleanAnswers(engine: DetectorEngine, contentType: string): CleanAnswers {
    const byType = cleanOf.get(engine) ?? new RecentMap<string, CleanAnswers>(contentTypesMax);
    cleanOf.set(engine, byType);
    return kept(byType, contentType, () => new CleanAnswers());
  }

  const cleanFieldsOf = new WeakMap<DetectorEngine, CleanFields>();

  function cleanFields(engine: DetectorEngine): CleanFields {
    const known = cleanFieldsOf.get(engine) ?? new CleanFields();
    cleanFieldsOf.set(engine, known);
    return known;
  }

  function taskOf(owner: Owned, tenant: TenantConfig, engine: DetectorEngine, bytes: number): Task {
    const { tenantId, agentId = '' } = owner;
    return {
      tools: { engine, injections, meanings },
      bounds: boundsOf(tenant, bytes),
      timeoutMs: scanTimeMs(tenant.scanTimeoutMs, bytes),
      owner: { tenantId, agentId },
      bytes,
    };
  }

  async function read(content: AnswerContent, task: Task): Promise<AnswerReading> {
    const { bytes, contentType, contentEncoding } = content;
    const clean = cleanAnswers(task.tools.engine, contentType);
    if (contentEncoding === '' && clean.has(bytes)) {
      const reading = { ...nothingFound, plain: bytes, texts: [bytes] };
      return { ...reading, unreadable: unreadWithin(content, bytes) };
    }
    const reading = await readers.run('answer', content, task);
    if ('lost' in reading) return { ...nothingFound, ...lostReading(reading), plain: noBytes, texts: [] };
    // A thread gives back a copy of the bytes, so those that were given are returned.
    const plain = contentEncoding === '' ? bytes : reading.plain;
    if (reading.isClean) clean.add(plain);
    return { ...reading, plain };
  }

  /** Reads a part at once, since a head is short. */
  function readThe(
    part: CallPart,
    { body, onClean }: { readonly body: Buffer; readonly onClean: () => void },
    engine: DetectorEngine,
    tenant: TenantConfig,
  ): AnswerReading {
    const reading = readAnswerPart(part, { body }, { engine, injections }, boundsOf(tenant));
    if (reading.isClean) onClean();
    return reading;
  }

  /** Returns the rules without waiting. They are known, because the call was judged by them. */
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

  const boundsOf = ({ maxDecodedBytes, scanTimeoutMs }: TenantConfig, bytes = 0): ReadBounds => {
    const endsAt = clock() + scanTimeMs(scanTimeoutMs, bytes);
    return { maxDecodedBytes, isOver: () => clock() > endsAt };
  };

  return {
    /**
     * Reads what an upstream has answered. It is read as the body of a call is, and for orders to the agent
     * as well. Throws for a tenant that is not served.
     */
    async read(owner: Owned, content: AnswerContent) {
      const { tenant, engine } = await readersOf(owner.tenantId);
      return read(content, taskOf(owner, tenant, engine, content.bytes.length));
    },
    /**
     * Reads header fields or trailers of `host` at once. What the host tells of its own sessions counts for
     * nothing. Throws for a tenant that is not served, or whose rules were never read.
     */
    readFields({ tenantId }: Pick<Identity, 'tenantId'>, fields: FieldsText, host: string) {
      const { tenant, engine } = readersNow(tenantId);
      const part = fieldsPart(fields, host);
      const { bytes: body } = part;
      const clean = cleanAnswers(engine, fieldsOnly);
      return clean.has(body)
        ? { ...nothingFound, plain: body, texts: [body] }
        : readThe(part, { body, onClean: () => clean.add(body) }, engine, tenant);
    },
    /**
     * Reads those fields of a flat list that were not found clean before. Returns undefined where there are
     * none.
     */
    readNewFields(
      { tenantId }: Pick<Identity, 'tenantId'>,
      fields: readonly string[],
      { ownPrefix, host }: { readonly ownPrefix: string; readonly host: string },
    ) {
      const { tenant, engine } = readersNow(tenantId);
      const clean = cleanFields(engine);
      const text = fieldsText(fields, ownPrefix, clean);
      if (text.text === '') return undefined;
      const part = fieldsPart(text, host);
      return readThe(part, { body: part.bytes, onClean: () => clean.add(text) }, engine, tenant);
    },
    /**
     * Cuts findings of these classes out of the content. The content then shows none of them when it is read
     * again. Returns undefined where they cannot be cut. Throws for a tenant that is not served.
     */
    async redact(
      owner: Owned,
      { plain, findings }: Pick<AnswerReading, 'plain' | 'findings'>,
      contentType: string,
      redaction: Redaction,
    ) {
      const { tenant, engine } = await readersOf(owner.tenantId);
      const job = { plain, contentType, findings, redaction };
      const cut = await readers.run('redact', job, taskOf(owner, tenant, engine, plain.length));
      return 'lost' in cut ? undefined : cut.left;
    },
    /**
     * Creates a reader of texts that continue others, within the time for one text. Throws as `read` does.
     */
    async createBoundaryReader({ tenantId }: Pick<Identity, 'tenantId'>) {
      const { tenant, engine } = await readersOf(tenantId);
      return createBoundaryReader(engine, injections, boundsOf(tenant));
    },
    /** Tells whether the same content was clean a moment ago, so that it need not be read. */
    isKnownClean({ tenantId }: Pick<Identity, 'tenantId'>, content: AnswerContent) {
      const { bytes, contentType, contentEncoding } = content;
      const engine = policies.lastKnown(tenantId)?.engine;
      const isKnown =
        engine !== undefined && contentEncoding === '' && cleanAnswers(engine, contentType).has(bytes);
      return isKnown && unreadWithin(content, bytes) === undefined;
    },
  };
}
