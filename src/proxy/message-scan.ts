import type { Call } from '../call.ts';
import type { InboundRoute } from '../config/schema.ts';
import type { Gate } from '../pipeline/gate.ts';
import { toResponseScan } from '../pipeline/response-scan.ts';
import { isEnforced, isRead, rememberAnswer, scanOf, whyNotLetIn } from './answer-rules.ts';

/** Of one connection: as many as a trace takes, of which the last is for what was refused. */
const scansMax = 15;

/** Reads what an upstream sends on an open connection, message by message, as answers are read. */
export class MessageScan {
  readonly #gate: () => Gate;
  readonly #call: Call;
  readonly #route: InboundRoute | undefined;
  /** What the trace tells already. */
  readonly #told = new Set<string>();
  #scans = 0;

  constructor(gate: () => Gate, call: Call, route: InboundRoute | undefined) {
    this.#gate = gate;
    this.#call = call;
    this.#route = route;
  }

  /** Whether a message waits until it was read. */
  get holds(): boolean {
    const gate = this.#gate();
    const tenant = gate.tenants.find(this.#call.identity?.tenantId ?? '');
    return tenant !== undefined && isEnforced(gate, scanOf(gate, this.#call, tenant, this.#route), tenant);
  }

  /** Why the message must not come in; empty where it may, as all may that are only observed. Rejects where it cannot be read. */
  async read(data: Buffer, contentType: string): Promise<readonly string[]> {
    const gate = this.#gate();
    const { identity } = this.#call;
    const tenant = identity && gate.tenants.find(identity.tenantId);
    if (!tenant || data.length === 0) return nothing;
    const scan = scanOf(gate, this.#call, tenant, this.#route);
    if (!isRead(gate, this.#call, tenant, scan) || scan.maxBytes === 0) return nothing;
    const content = { bytes: data.subarray(0, scan.maxBytes), contentType, contentEncoding: '' };
    const reading = await gate.answerReader.read(identity, content);
    const reasons = isEnforced(gate, scan, tenant) ? whyNotLetIn(tenant, reading, false) : nothing;
    if (reasons.length === 0) rememberAnswer(gate, this.#call, reading);
    const telling = [...reading.classes, ...(reading.injection.detected ? ['PROMPT_INJECTION'] : [])];
    if (this.#isNew(telling) || reasons.length > 0) {
      const further = reasons.length > 0 ? { blocked: reasons } : {};
      const told = { ...toResponseScan(gate, tenant.id, reading, Date.now()), ...further };
      gate.answers.take(tenant.id, this.#call.traceId, JSON.stringify(told));
    }
    return reasons;
  }

  /** A trace has room for few scans: each tells of something that none before it has told. */
  #isNew(telling: readonly string[]): boolean {
    const isNew = telling.some((it) => !this.#told.has(it)) && this.#scans < scansMax;
    if (isNew) this.#scans += 1;
    for (const it of telling) this.#told.add(it);
    return isNew;
  }
}

const nothing: readonly string[] = Object.freeze([]);
