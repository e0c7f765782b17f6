import { type CallSoFar, DecidedCall, type Identity, type IncidentCause } from '../../core/call.ts';
import { toGatewayError } from '../../core/errors.ts';
import { newId } from '../../core/ids.ts';
import type { Log } from '../../core/log.ts';
import { ownName, safely } from '../../core/safe-name.ts';
import { gateway, withTraces } from '../../state/rules/incident.ts';
import type { AuditEvent, IncidentRecord, Store } from '../../state/store.ts';
import { Tally } from '../../util/tally.ts';
import { excuseOf } from '../excuse.ts';
import { createRepeatedDenials, denialsEnough } from '../facts/repeated-denials.ts';

/** The bound of incidents that wait for the state. There is one for each agent and trigger. */
const waitingMax = 10_000;
export const waitingOfTenantMax = 1000;
/** The number of incidents that are opened at once. The state writes them together. */
const openingMax = 16;
const retryMs = 1000;
/** The time between log lines about unopened incidents. Whoever causes many must not fill the log. */
const complaintMs = 10_000;

/** A recorded call, decided or refused, whose caller is known. */
type IncidentSource = Pick<CallSoFar, 'received' | 'incidents'> & { readonly identity: Identity };

interface Entry {
  readonly incident: IncidentRecord;
  readonly audit: AuditEvent;
  /** Tells, before the incident is opened, whether it is due; undefined where there is no doubt. */
  readonly isDue: (() => Promise<boolean>) | undefined;
}

const repeatedDenials: IncidentCause = {
  trigger: safely`repeated-denials`,
  title: safely`The agent was denied ${denialsEnough} times within an hour`,
  severity: 'HIGH',
};

/**
 * Opens incidents after the verdict, without anybody waiting. Failures are tried again every second, and once
 * more at the end. Causes without room are in the log, and always in the trace.
 */
export class IncidentDesk {
  readonly #store: Store;
  readonly #log: Log;
  readonly #denials;
  readonly #waiting = new Map<string, Entry>();
  readonly #waitingOf = new Tally();
  #dropped = 0;
  #complainedAtMs = Number.NEGATIVE_INFINITY;
  #running: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(store: Store, log: Log) {
    this.#store = store;
    this.#log = log;
    this.#denials = createRepeatedDenials(store);
  }

  /**
   * Takes the causes of a recorded call, and counts its denial. `shipped` resolves when its trace is stored.
   */
  take(call: IncidentSource, shipped: () => Promise<void>): void {
    for (const cause of call.incidents ?? []) this.#add(toEntry(call, cause, undefined));
    const isDenied = call instanceof DecidedCall && call.verdict.decision === 'DENY';
    if (isDenied && !excuseOf(call, call.verdict)) this.#noteDenial(call, shipped);
    if (this.#waiting.size > 0) this.#start();
  }

  /** Resolves when all that was taken is in the state, or was tried a last time. */
  async close(): Promise<void> {
    await this.#running;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    await this.#openAll();
  }

  #add(entry: Entry): void {
    const name = nameOf(entry.incident);
    const same = this.#waiting.get(name);
    const ofTenant = this.#waitingOf.of(entry.incident.tenantId);
    if (!same && (this.#waiting.size >= waitingMax || ofTenant >= waitingOfTenantMax)) this.#drop(entry);
    else this.#put(name, same ? joined(same, entry) : entry);
  }

  #drop(entry: Entry): void {
    this.#dropped += 1;
    const nowMs = performance.now();
    if (nowMs - this.#complainedAtMs < complaintMs) return;
    this.#log.error({ ...whatOf(entry), dropped: this.#dropped }, 'incidents were not opened: too many wait');
    this.#complainedAtMs = nowMs;
    this.#dropped = 0;
  }

  #put(name: string, entry: Entry): void {
    if (!this.#waiting.has(name)) this.#waitingOf.add(entry.incident.tenantId);
    this.#waiting.set(name, entry);
  }

  #takeNext(): Entry | undefined {
    const [first] = this.#waiting;
    if (!first) return undefined;
    const [name, entry] = first;
    this.#waiting.delete(name);
    this.#waitingOf.add(entry.incident.tenantId, -1);
    return entry;
  }

  #putBack(entry: Entry): void {
    const name = nameOf(entry.incident);
    const later = this.#waiting.get(name);
    this.#put(name, later ? joined(entry, later) : entry);
  }

  /**
   * Counts a denial. Retries of a suspended agent do not count, nor do attempts of strangers under its name:
   * they tell nothing of it.
   */
  #noteDenial(call: DecidedCall, shipped: () => Promise<void>): void {
    if (call.admission.agentStatus !== 'active' || call.received.isAnonymous) return;
    const entry = toEntry(call, repeatedDenials, undefined);
    const { tenantId, agentId } = entry.incident;
    const denial = { tenantId, agentId, atMs: call.receivedAtMs };
    const isDue = async (): Promise<boolean> => {
      await shipped();
      return this.#denials.isRepeated(denial);
    };
    this.#add(this.#denials.note(denial) ? entry : { ...entry, isDue });
  }

  /** Opens incidents until none waits or the state is away. Causes that come meanwhile are opened, too. */
  async #openAll(): Promise<void> {
    for (let isThere = true; isThere && this.#waiting.size > 0; ) {
      const some = Array.from({ length: Math.min(openingMax, this.#waiting.size) }, () => this.#takeNext());
      const opened = await Promise.all(some.map((entry) => entry === undefined || this.#open(entry)));
      isThere = !opened.includes(false);
    }
  }

  /** Opens an incident, and returns whether the state is there. */
  async #open(entry: Entry): Promise<boolean> {
    try {
      if (!entry.isDue || (await entry.isDue())) await this.#store.openIncident(entry.incident, entry.audit);
    } catch (error) {
      if (toGatewayError(error).code === 'STATE_UNAVAILABLE') {
        this.#log.warn({ ...whatOf(entry), err: error }, 'an incident cannot be opened yet');
        this.#putBack(entry);
        return false;
      }
      this.#log.error({ ...whatOf(entry), err: error }, 'an incident was not opened');
    }
    return true;
  }

  #start(): void {
    if (this.#running || this.#timer) return;
    this.#running = this.#openAll().then(() => {
      this.#running = undefined;
      if (this.#waiting.size === 0) return;
      this.#timer = setTimeout(() => {
        this.#timer = undefined;
        this.#start();
      }, retryMs).unref();
    });
  }
}

/** Returns the name of an incident. The state opens one for each name, and it takes the traces of all. */
const nameOf = ({ tenantId, agentId, trigger }: IncidentRecord): string =>
  `${tenantId}\n${agentId}\n${trigger}`;

const whatOf = ({ incident }: Entry) => ({
  trace_id: incident.traceIds[0],
  // The trigger is that of a cause.
  trigger: ownName(incident.trigger),
});

const joined = (earlier: Entry, { incident, isDue }: Entry): Entry => ({
  ...earlier,
  incident: withTraces(earlier.incident, incident),
  isDue: isDue && earlier.isDue,
});

function toEntry(call: IncidentSource, cause: IncidentCause, isDue: Entry['isDue']): Entry {
  const { traceId, receivedAtMs } = call.received;
  const { tenantId, envName, agentId } = call.identity;
  const incidentId = newId();
  return {
    incident: {
      incidentId,
      tenantId,
      envName,
      agentId,
      ...cause,
      status: 'open',
      traceIds: [traceId],
      traceCount: 1,
      openedAtMs: receivedAtMs,
      changedAtMs: receivedAtMs,
      closedAtMs: null,
      closeCode: null,
      closedBy: null,
      notes: [],
    },
    audit: {
      tenantId,
      atMs: receivedAtMs,
      kind: 'incident.opened',
      operator: gateway,
      subject: incidentId,
      details: { trigger: cause.trigger, severity: cause.severity, agent_id: agentId, trace_id: traceId },
    },
    isDue,
  };
}
