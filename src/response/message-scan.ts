import type { InboundRoute, TenantConfig } from '../config/schema.ts';
import type { Call, DataClass } from '../core/call.ts';
import type { AnswerReading } from '../decision/answers/read-answer.ts';
import { toResponseScan } from '../decision/answers/response-scan.ts';
import type { Gate } from '../decision/gate.ts';
import { AnswerSeams } from '../inspect/boundary/answer-seams.ts';
import {
  classesToCut,
  isEnforced,
  isRead,
  rememberAnswer,
  scanOf,
  toldRedactions,
  unsanitizable,
  whyNotLetIn,
} from './answer-rules.ts';
import {
  type IncomingMessage,
  type Receiving,
  readIncoming,
  readInside,
  redactIncoming,
  type SeenMessage,
} from './incoming-message.ts';

/** Scans of one connection: as many as a trace takes, one of them for the head and the last for a refusal. */
const scansMax = 14;

interface Admission {
  /** Why it must not come in; empty where it may. */
  readonly reasons: readonly string[];
  /** The bytes that come in: as they came, or redacted and without their coding. */
  readonly bytes: Buffer;
}

interface Rules extends Receiving {
  readonly gate: Gate;
  readonly tenant: TenantConfig;
}

/** Facts for the trace beside the findings. */
interface Told {
  readonly blocked?: readonly string[];
  readonly redacted?: ReturnType<typeof toldRedactions>;
}

/** Reads what an upstream sends on an open connection, message by message, as answers are read. */
export class MessageScan {
  readonly #gate: () => Gate;
  readonly #call: Call;
  readonly #route: InboundRoute | undefined;
  readonly #seams = new AnswerSeams();
  /** Facts that the trace has already. */
  readonly #told = new Set<string>();
  #scans = 0;

  constructor(gate: () => Gate, call: Call, route: InboundRoute | undefined) {
    this.#gate = gate;
    this.#call = call;
    this.#route = route;
  }

  /** Tells whether a message waits until it was read. */
  get holds(): boolean {
    const gate = this.#gate();
    const tenant = gate.tenants.find(this.#call.identity?.tenantId ?? '');
    return tenant !== undefined && isEnforced(gate, scanOf(gate, this.#call, tenant, this.#route), tenant);
  }

  /**
   * The part of the next message that comes in: all of it, where messages are only observed. Rejects where it cannot
   * be read.
   */
  async read(message: IncomingMessage): Promise<Admission> {
    const asItCame = { reasons: nothing, bytes: message.bytes };
    const gate = this.#gate();
    const { identity } = this.#call;
    const tenant = identity && gate.tenants.find(identity.tenantId);
    if (!tenant || message.bytes.length === 0) return asItCame;
    const scan = scanOf(gate, this.#call, tenant, this.#route);
    if (!isRead(gate, this.#call, tenant, scan)) return asItCame;
    const mayPassUnread = scan.beyond === 'pass' || !isEnforced(gate, scan, tenant);
    if (scan.maxBytes === 0 && mayPassUnread) return asItCame;
    const rules = { gate, identity, tenant };
    const start = startOf(message, scan.maxBytes);
    const reading = await readIncoming(rules, start);
    if (!isEnforced(gate, scan, tenant)) {
      rememberAnswer(gate, this.#call, reading);
      this.#tell(rules, reading, {});
      return asItCame;
    }
    const seen = await readInside(rules, start, reading, this.#seams);
    const isCut = start !== message && scan.beyond === 'end';
    const admitted = await this.#admit(rules, reading, seen, isCut);
    if (isCut || admitted.bytes === start.bytes) return { ...admitted, bytes: message.bytes };
    return { ...admitted, bytes: Buffer.concat([admitted.bytes, message.bytes.subarray(scan.maxBytes)]) };
  }

  async #admit(rules: Rules, reading: AnswerReading, seen: SeenMessage, isCut: boolean): Promise<Admission> {
    const { gate, tenant } = rules;
    const { bytes } = seen.message;
    const shown = { ...reading, classes: seen.classes, injection: seen.injection };
    const reasons = whyNotLetIn(tenant, seen, isCut);
    const cuts = reasons.length > 0 ? nothing : classesToCut(tenant, this.#call, seen.classes);
    if (cuts.length > 0) return this.#redact(rules, shown, seen, cuts);
    if (reasons.length === 0) rememberAnswer(gate, this.#call, reading);
    this.#tell(rules, shown, reasons.length > 0 ? { blocked: reasons } : {});
    return { reasons, bytes };
  }

  async #redact(
    rules: Rules,
    shown: AnswerReading,
    seen: SeenMessage,
    cuts: readonly DataClass[],
  ): Promise<Admission> {
    const bytes = await redactIncoming(rules, seen, cuts);
    if (!bytes) {
      const reasons = unsanitizable(cuts);
      this.#tell(rules, shown, { blocked: reasons });
      return { reasons, bytes: seen.message.bytes };
    }
    const { contentType } = seen.message;
    rememberAnswer(rules.gate, this.#call, await readIncoming(rules, { bytes, contentType }));
    this.#tell(rules, shown, { redacted: toldRedactions(seen.findings, cuts) });
    return { reasons: nothing, bytes };
  }

  /** A trace has room for few scans: each tells of something that none before it has told. */
  #tell({ gate, tenant }: Rules, reading: AnswerReading, further: Told): void {
    const { classes, injection } = reading;
    const telling = [
      ...classes,
      ...(injection.detected ? ['PROMPT_INJECTION'] : []),
      ...(further.redacted ?? []).map((it) => `redacted ${it.kind}`),
    ];
    if (!this.#isNew(telling) && !further.blocked) return;
    const told = { ...toResponseScan(gate, tenant.id, reading, Date.now()), ...further };
    gate.answers.take(tenant.id, this.#call.traceId, JSON.stringify(told));
  }

  #isNew(telling: readonly string[]): boolean {
    const isNew = telling.some((it) => !this.#told.has(it)) && this.#scans < scansMax;
    if (isNew) this.#scans += 1;
    for (const it of telling) this.#told.add(it);
    return isNew;
  }
}

/** The part of the message that is read. */
function startOf(message: IncomingMessage, bytesMax: number): IncomingMessage {
  if (message.bytes.length <= bytesMax) return message;
  return { ...message, bytes: message.bytes.subarray(0, bytesMax), isPart: true, isStart: true };
}

const nothing: readonly never[] = Object.freeze([]);
