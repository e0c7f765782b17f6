import type { InboundRoute } from '../config/schema.ts';
import type { DataClass, DecidedCall, Finding } from '../core/call.ts';
import { ownName } from '../core/safe-name.ts';
import { type AnswerFinding, findingsOf } from '../decision/answers/answer-findings.ts';
import type { AnswerReading } from '../decision/answers/read-answer.ts';
import { toResponseScan } from '../decision/answers/response-scan.ts';
import type { AnswerGate } from '../decision/gate.ts';
import { AnswerBoundaries } from '../inspect/boundary/answer-boundaries.ts';
import { type FieldsText, fieldsText } from '../inspect/boundary/answer-fields.ts';
import { headText } from '../inspect/parts/head-text.ts';
import { contentPlaceOf } from '../tenants/external.ts';
import { type Piece, readOn, readPiece, redactPiece, type SeenPiece } from './content.ts';
import { fieldsWithout } from './fields.ts';
import {
  judge,
  type ResponseRules,
  responseRules,
  toldRedactions,
  toolNameOf,
  unreadable,
  unsanitizable,
} from './rules.ts';

/** Scans with news that the trace of a call takes. It takes two more, for the head and for a refusal. */
const scansMax = 14;

interface PieceAdmission {
  /** Reasons why the piece must not come in; empty where it may. */
  readonly reasons: readonly string[];
  /** Classes that were cut out of the piece. */
  readonly cuts: readonly DataClass[];
  /** Bytes that come in: the same buffer as came, or redacted and without their coding. */
  readonly bytes: Buffer;
}

interface FieldsAdmission {
  /** Reasons why the fields must not come in; empty where they may. */
  readonly reasons: readonly string[];
  readonly cuts: readonly DataClass[];
  /** Flat fields that come in; the same list where nothing was cut. */
  readonly fields: readonly string[];
}

/** The fields that are admitted: the head of an answer, or its trailers. */
export interface FieldsPlace {
  readonly part: 'head' | 'trailers';
  /** Status of the answer. */
  readonly status: number;
}

/** The facts that the trace tells of a piece beside its findings. */
export interface PieceFacts {
  readonly response_status?: number;
  readonly extent?: Piece['extent'];
  /** News about the tools that a server lists. They are recorded even where nothing was found. */
  readonly mcp_drift?: unknown;
}

interface PieceOptions {
  /** Rules that held when the answer began; by default those that hold now. */
  readonly rules?: ResponseRules;
  /** Resolves to facts about the piece, which it gets without its coding once it was judged. */
  facts?(plain: Buffer): Promise<PieceFacts>;
}

/** The part of a scan that people look for. */
type Told = Outcome & Partial<Pick<ReturnType<typeof toResponseScan>, 'injection'>>;

interface Outcome {
  readonly blocked?: readonly string[];
  readonly redacted?: ReturnType<typeof toldRedactions>;
}

/**
 * Inspects what comes back on one call. It reads each piece alone and behind the pieces before it, and judges
 * it by the rules. It cuts findings out of it, remembers what came in and records it with the trace of the
 * call.
 */
export class ResponseInspector {
  readonly #gate: () => AnswerGate;
  readonly #call: DecidedCall;
  readonly #route: InboundRoute | undefined;
  readonly #boundaries = new AnswerBoundaries();
  /** Facts that the trace has already. */
  readonly #told = new Set<string>();
  /** Findings that were counted: each counts once for an answer. */
  readonly #counted = new Set<string>();
  #scans = 0;

  /** Asks `gate` anew for each piece: a reload holds for open connections, too. */
  constructor(gate: () => AnswerGate, call: DecidedCall, route: InboundRoute | undefined) {
    this.#gate = gate;
    this.#call = call;
    this.#route = route;
  }

  /** Returns the rules that hold now; undefined for a tenant that is not served. */
  get rules(): ResponseRules | undefined {
    return responseRules(this.#gate(), this.#call, this.#route);
  }

  /**
   * Resolves to the part of a piece that comes in: all of it, where pieces are only observed. Rejects where
   * nobody can tell, for instance while the policies of the tenant cannot be had.
   */
  async inspect(piece: Piece, { rules = this.rules, facts }: PieceOptions = {}): Promise<PieceAdmission> {
    const asItCame = { reasons: none, cuts: none, bytes: piece.bytes };
    if (!rules || !mustRead(piece, rules)) return asItCame;
    const start = startOf(piece, rules.scan.maxBytes);
    const alone = await readPiece(rules, start);
    if (!rules.isEnforced) {
      this.#remember(rules, alone);
      this.#recordPiece(rules, alone, {}, await facts?.(alone.plain));
      return asItCame;
    }
    const seen = await readOn(rules, start, alone, this.#boundaries);
    const admission = await this.#admit(rules, alone, seen, facts);
    if (admission.reasons.length > 0 || admission.bytes === start.bytes)
      return { ...admission, bytes: piece.bytes };
    const behind = piece.bytes.subarray(start.bytes.length);
    return behind.length === 0
      ? admission
      : { ...admission, bytes: Buffer.concat([admission.bytes, behind]) };
  }

  async #admit(
    rules: ResponseRules,
    alone: AnswerReading,
    seen: SeenPiece,
    facts: PieceOptions['facts'],
  ): Promise<PieceAdmission> {
    const { bytes: asTheyCame, contentType } = seen.piece;
    const { reasons, cuts } = judge(rules, this.#call, seen, isUnread(seen.piece, rules));
    const bytes = cuts.length > 0 ? await redactPiece(rules, seen, cuts) : asTheyCame;
    const why = bytes ? reasons : unsanitizable(cuts);
    if (bytes && why.length === 0)
      this.#remember(rules, cuts.length > 0 ? await readPiece(rules, { bytes, contentType }) : alone);
    const shown = { ...alone, classes: seen.classes, injection: seen.injection };
    this.#recordPiece(rules, shown, outcomeOf(why, cuts, seen.findings), await facts?.(alone.plain));
    return { reasons: why, cuts, bytes: bytes ?? asTheyCame };
  }

  /**
   * Returns the header or trailer fields that come in: all of them, where they are only observed. Throws
   * where nobody can tell.
   */
  admitFields(place: FieldsPlace, fields: readonly string[], rules: ResponseRules): FieldsAdmission {
    const asTheyCame = { reasons: none, cuts: none, fields };
    // With this mode bodies may still be read, for what must be known again when it goes out.
    if (rules.scan.mode === 'off') return asTheyCame;
    if (!rules.isEnforced) {
      // The answer goes out first.
      setImmediate(() => this.#observeFields(place, fields, rules));
      return asTheyCame;
    }
    const text = fieldsText(fields, rules.gate.names.requestPrefix);
    const reading = this.#readFields(rules, text);
    if (!reading) return asTheyCame;
    const { reasons, cuts } = judge(rules, this.#call, reading, false);
    const cut = cuts.length === 0 ? fields : this.#cutFields(rules, fields, text, reading.findings, cuts);
    const why = cut ? reasons : unsanitizable(cuts);
    this.#recordFields(rules, place, reading, outcomeOf(why, cuts, reading.findings));
    return { reasons: why, cuts, fields: why.length === 0 && cut ? cut : fields };
  }

  /** Reads fields that come in whatever is found in them, and records what is. Never throws. */
  #observeFields(place: FieldsPlace, fields: readonly string[], rules: ResponseRules): void {
    const { gate, identity } = rules;
    try {
      const from = { ownPrefix: gate.names.requestPrefix, host: this.#call.target.host };
      const reading = gate.answerReader.readNewFields(identity, fields, from);
      if (reading) this.#recordFields(rules, place, reading, {});
    } catch (error) {
      const { traceId } = this.#call;
      gate.log.error({ trace_id: traceId, err: error }, 'the head of an answer could not be read');
    }
  }

  #readFields({ gate, identity }: ResponseRules, text: FieldsText): AnswerReading | undefined {
    return text.text === ''
      ? undefined
      : gate.answerReader.readFields(identity, text, this.#call.target.host);
  }

  /** Cuts findings out of fields. Returns undefined where they cannot be cut out, or still show. */
  #cutFields(
    rules: ResponseRules,
    fields: readonly string[],
    text: FieldsText,
    findings: readonly Finding[],
    cuts: readonly DataClass[],
  ): readonly string[] | undefined {
    const cut = fieldsWithout(fields, text, findings, cuts);
    const left = cut && this.#readFields(rules, fieldsText(cut, rules.gate.names.requestPrefix));
    return left?.classes.some((it) => cuts.includes(it)) ? undefined : cut;
  }

  /** Records that the rest of the answer cannot be read and does not come in. Returns the reasons. */
  refuseUnread(): readonly string[] {
    this.note({ blocked: unreadable });
    return unreadable;
  }

  /** Records facts that no reading has brought. */
  note(facts: Told): void {
    const { identity } = this.#call;
    if (identity) this.#record(this.#gate(), identity.tenantId, { at: new Date().toISOString(), ...facts });
  }

  /**
   * Remembers content that comes in. Content that does not come in cannot go out, so it is not remembered.
   */
  #remember({ gate, identity }: ResponseRules, reading: AnswerReading): void {
    const { traceId, target } = this.#call;
    const { tenantId, agentId } = identity;
    const toolName = toolNameOf(this.#call);
    const account = contentPlaceOf(this.#call)?.account;
    const sent = (): Buffer[] => [
      Buffer.from(headText(this.#call), 'latin1'),
      ...this.#call.inspection.bodyTexts,
    ];
    const seen = { tenantId, agentId, traceId, toolName, host: target.host, account, sent, atMs: Date.now() };
    gate.answerMemory.saw(seen, reading);
  }

  /**
   * Records what was read, where it is news. A trace has room for few scans: each tells of something that
   * none before it has told.
   */
  #recordPiece(rules: ResponseRules, reading: AnswerReading, outcome: Outcome, facts: PieceFacts = {}): void {
    const { classes, injection } = reading;
    const { mcp_drift: drift, ...place } = facts;
    const telling = [
      ...classes,
      ...(injection.detected ? ['PROMPT_INJECTION'] : []),
      ...(outcome.redacted ?? []).map((it) => `redacted ${it.kind}`),
    ];
    const isTold = outcome.blocked !== undefined || drift !== undefined || facts.extent === 'crowded';
    if (!this.#isNew(telling) && !isTold) return;
    const { gate, tenant } = rules;
    const scan = toResponseScan(gate, tenant.id, reading, Date.now());
    this.#record(gate, tenant.id, { ...scan, ...place, ...outcome, ...(drift ? { mcp_drift: drift } : {}) });
  }

  #isNew(telling: readonly string[]): boolean {
    const isNew = telling.some((it) => !this.#told.has(it)) && this.#scans < scansMax;
    if (isNew) this.#scans += 1;
    for (const it of telling) this.#told.add(it);
    return isNew;
  }

  #recordFields(
    { gate, tenant }: ResponseRules,
    { part, status }: FieldsPlace,
    reading: AnswerReading,
    outcome: Outcome,
  ): void {
    const { classes, injection } = reading;
    if (classes.length === 0 && !injection.detected && !outcome.blocked) return;
    const scan = toResponseScan(gate, tenant.id, reading, Date.now());
    this.#record(gate, tenant.id, { ...scan, part, response_status: status, ...outcome });
  }

  #record<T extends Told>(gate: AnswerGate, tenantId: string, scan: T): void {
    const { traceId } = this.#call;
    const told = { trace_id: traceId, tenant_id: tenantId };
    // Searches of traces find the scan as well, once the state has it.
    if (scan.blocked) gate.log.warn({ ...told, reasons: scan.blocked.map(ownName) }, 'an answer is withheld');
    else if (scan.injection?.detected)
      gate.log.warn(told, 'an answer that gives orders to the agent came in');
    gate.answers.take(tenantId, traceId, JSON.stringify(scan));
    gate.answers.found(findingsOf(scan).filter((it) => isFirst(this.#counted, it)));
  }
}

function mustRead({ bytes, extent }: Piece, rules: ResponseRules): boolean {
  const { isRead, isEnforced, scan } = rules;
  const mayPassUnread = scan.beyond === 'pass' || !isEnforced;
  if (!isRead || (scan.maxBytes === 0 && mayPassUnread)) return false;
  return bytes.length > 0 || extent === 'crowded' || (scan.maxBytes === 0 && extent === 'cut');
}

/** Tells whether there is more of the content than was read, and that must not come in. */
const isUnread = ({ extent = 'whole' }: Piece, { scan }: ResponseRules): boolean =>
  extent === 'crowded' || (extent === 'cut' && scan.beyond === 'end');

/** Returns the part of the piece that is read. */
function startOf(piece: Piece, bytesMax: number): Piece {
  if (piece.bytes.length <= bytesMax) return piece;
  return { ...piece, bytes: piece.bytes.subarray(0, bytesMax), extent: 'cut', isPart: true };
}

function outcomeOf(
  reasons: readonly string[],
  cuts: readonly DataClass[],
  findings: readonly Finding[],
): Outcome {
  if (reasons.length > 0) return { blocked: reasons };
  return cuts.length > 0 ? { redacted: toldRedactions(findings, cuts) } : {};
}

/** Tells whether a finding was not counted before, and counts it. */
function isFirst(counted: Set<string>, { outcome, reason }: AnswerFinding): boolean {
  const before = counted.size;
  return counted.add(`${outcome} ${reason}`).size > before;
}

const none: readonly never[] = Object.freeze([]);
