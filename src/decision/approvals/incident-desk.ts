import { type CallSoFar, DecidedCall, type Identity, type IncidentCause } from '../../core/call.ts';
import { toGatewayError } from '../../core/errors.ts';
import { newId } from '../../core/ids.ts';
import type { Log } from '../../core/log.ts';
import { ownName, safely } from '../../core/safe-name.ts';
import { gateway, withTraces } from '../../state/rules/incident.ts';
import type { AuditEvent, IncidentRecord, Store } from '../../state/store.ts';
import { createRepeatedDenials, denialsEnough } from '../facts/repeated-denials.ts';
import { excuseOf } from '../simulation/excuse.ts';

/** Incidents that wait to be opened, as they do while the state is away: one for each agent and trigger. Tenants do not take each other's room. */
const waitingMax = 10_000;
export const waitingOfTenantMax = 1000;
/** Opened at once: the state writes them together. */
const openingMax = 16;
const retryMs = 1000;
/** Between two lines about incidents that were not opened: who makes many of them must not fill the log too. */
const complaintMs = 10_000;

/**
 * Opens incidents after the verdict, without anybody waiting. Failures are tried again every second, and once more at
 * the end. Causes without room are in the log, and always in the trace.
 */
/** A recorded call, decided or refused, whose caller is known. */
export type IncidentSource = Pick<CallSoFar, 'received' | 'incidents'> & { readonly identity: Identity };

export interface IncidentDesk {
  /** Takes the call's causes, once its trace is written, and counts it if it was denied. `shipped` resolves when the trace is in the state. */
  take(call: IncidentSource, shipped: () => Promise<void>): void;
  /** Resolves when all that was taken is in the state, or was tried a last time. */
  close(): Promise<void>;
}

interface Entry {
  readonly incident: IncidentRecord;
  readonly audit: AuditEvent;
  /** Asked before it is opened; undefined where there is no doubt. */
  readonly isDue: (() => Promise<boolean>) | undefined;
}

const repeatedDenials: IncidentCause = {
  trigger: safely`repeated-denials`,
  title: safely`The agent was denied ${denialsEnough} times within an hour`,
  severity: 'HIGH',
};

export function createIncidentDesk(store: Store, log: Log): IncidentDesk {
  const denials = createRepeatedDenials(store);
  const waiting = new Map<string, Entry>();
  const waitingOf = new Map<string, number>();
  let dropped = 0;
  let complainedAtMs = Number.NEGATIVE_INFINITY;
  let running: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;

  function add(entry: Entry): void {
    const name = nameOf(entry.incident);
    const same = waiting.get(name);
    const ofTenant = waitingOf.get(entry.incident.tenantId) ?? 0;
    if (!same && (waiting.size >= waitingMax || ofTenant >= waitingOfTenantMax)) drop(entry);
    else put(name, same ? joined(same, entry) : entry);
  }

  function drop(entry: Entry): void {
    dropped += 1;
    const nowMs = performance.now();
    if (nowMs - complainedAtMs < complaintMs) return;
    log.error({ ...whatOf(entry), dropped }, 'incidents were not opened: too many wait');
    complainedAtMs = nowMs;
    dropped = 0;
  }

  function put(name: string, entry: Entry): void {
    const { tenantId } = entry.incident;
    if (!waiting.has(name)) waitingOf.set(tenantId, (waitingOf.get(tenantId) ?? 0) + 1);
    waiting.set(name, entry);
  }

  function takeNext(): Entry | undefined {
    const [first] = waiting;
    if (!first) return undefined;
    const [name, entry] = first;
    const { tenantId } = entry.incident;
    const left = (waitingOf.get(tenantId) ?? 0) - 1;
    waiting.delete(name);
    if (left > 0) waitingOf.set(tenantId, left);
    else waitingOf.delete(tenantId);
    return entry;
  }

  function putBack(entry: Entry): void {
    const name = nameOf(entry.incident);
    const later = waiting.get(name);
    put(name, later ? joined(entry, later) : entry);
  }

  /** That an agent tries again while it is suspended tells nothing of it, nor does what strangers try under its name. */
  function noteDenial(call: DecidedCall, shipped: () => Promise<void>): void {
    if (call.admission.agentStatus !== 'active' || call.received.isAnonymous) return;
    const entry = toEntry(call, repeatedDenials, undefined);
    const { tenantId, agentId } = entry.incident;
    const denial = { tenantId, agentId, atMs: call.receivedAtMs };
    const isDue = async (): Promise<boolean> => {
      await shipped();
      return denials.isRepeated(denial);
    };
    add(denials.note(denial) ? entry : { ...entry, isDue });
  }

  /** Causes that come while it runs are opened, too. */
  async function openAll(): Promise<void> {
    for (let isThere = true; isThere && waiting.size > 0; ) {
      const some = Array.from({ length: Math.min(openingMax, waiting.size) }, () => takeNext());
      const opened = await Promise.all(some.map((entry) => entry === undefined || open(entry)));
      isThere = !opened.includes(false);
    }
  }

  /** Answers whether the state is there. */
  async function open(entry: Entry): Promise<boolean> {
    try {
      if (!entry.isDue || (await entry.isDue())) await store.openIncident(entry.incident, entry.audit);
    } catch (error) {
      if (toGatewayError(error).code === 'STATE_UNAVAILABLE') {
        log.warn({ ...whatOf(entry), err: error }, 'an incident cannot be opened yet');
        putBack(entry);
        return false;
      }
      log.error({ ...whatOf(entry), err: error }, 'an incident was not opened');
    }
    return true;
  }

  function start(): void {
    if (running || timer) return;
    running = openAll().then(() => {
      running = undefined;
      if (waiting.size === 0) return;
      timer = setTimeout(() => {
        timer = undefined;
        start();
      }, retryMs).unref();
    });
  }

  return {
    take(call, shipped) {
      for (const cause of call.incidents ?? []) add(toEntry(call, cause, undefined));
      const isDenied = call instanceof DecidedCall && call.verdict.decision === 'DENY';
      if (isDenied && !excuseOf(call, call.verdict)) noteDenial(call, shipped);
      if (waiting.size > 0) start();
    },
    async close() {
      await running;
      clearTimeout(timer);
      timer = undefined;
      await openAll();
    },
  };
}

/** The state opens one for each of these, which takes the traces of all. */
const nameOf = ({ tenantId, agentId, trigger }: IncidentRecord): string =>
  `${tenantId}\n${agentId}\n${trigger}`;

const whatOf = ({ incident }: Entry) => ({
  trace_id: incident.traceIds[0],
  // That of a cause.
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
