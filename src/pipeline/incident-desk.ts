import type { Call, IncidentCause } from '../call.ts';
import { toGatewayError } from '../errors.ts';
import { newId } from '../ids.ts';
import type { Log } from '../log.ts';
import { gateway, withTraces } from '../state/incident.ts';
import type { AuditEvent, IncidentRecord, Store } from '../state/store.ts';
import { createRepeatedDenials, denialsEnough } from './repeated-denials.ts';

/** Incidents that wait to be opened, as they do while the state is away: one for each agent and trigger. */
export const waitingMax = 1000;
const retryMs = 1000;

/**
 * Opens incidents after the verdict, without anybody waiting for it. What the state does not take is tried again every second, and once
 * more at the end; what does not fit any more is in the log, and in the trace of its call either way.
 */
export interface IncidentDesk {
  /** Takes the call's causes, once its trace is written, and counts it if it was denied. `shipped` resolves when the trace is in the state. */
  take(call: Call, shipped: () => Promise<void>): void;
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
  trigger: 'repeated-denials',
  title: `The agent was denied ${denialsEnough} times within an hour`,
  severity: 'HIGH',
};

export function createIncidentDesk(store: Store, log: Log): IncidentDesk {
  const denials = createRepeatedDenials(store);
  const waiting = new Map<string, Entry>();
  let running: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;

  function add(entry: Entry): void {
    const name = nameOf(entry.incident);
    const same = waiting.get(name);
    if (!same && waiting.size >= waitingMax) log.error(whatOf(entry), 'an incident was not opened');
    else waiting.set(name, same ? joined(same, entry) : entry);
  }

  function putBack(entry: Entry): void {
    const name = nameOf(entry.incident);
    const later = waiting.get(name);
    waiting.set(name, later ? joined(entry, later) : entry);
  }

  /** That an agent tries again while it is suspended tells nothing of it. */
  function noteDenial(call: Call, shipped: () => Promise<void>): void {
    if (call.agentStatus !== 'active') return;
    const entry = toEntry(call, repeatedDenials, undefined);
    const { tenantId, agentId } = entry.incident;
    const denial = { tenantId, agentId, atMs: call.receivedAtMs };
    const isDue = async (): Promise<boolean> => {
      await shipped();
      return denials.isRepeated(denial);
    };
    add(denials.note(denial) ? entry : { ...entry, isDue });
  }

  /** What comes while it runs is opened too. */
  async function openAll(): Promise<void> {
    for (const [name, entry] of waiting) {
      waiting.delete(name);
      try {
        if (entry.isDue && !(await entry.isDue())) continue;
        await store.openIncident(entry.incident, entry.audit);
      } catch (error) {
        if (toGatewayError(error).code === 'STATE_UNAVAILABLE') {
          log.warn({ ...whatOf(entry), err: error }, 'an incident cannot be opened yet');
          putBack(entry);
          return;
        }
        log.error({ ...whatOf(entry), err: error }, 'an incident was not opened');
      }
    }
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
      for (const cause of call.incidents) add(toEntry(call, cause, undefined));
      if (call.verdict?.decision === 'DENY') noteDenial(call, shipped);
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

const whatOf = ({ incident }: Entry) => ({ trace_id: incident.traceIds[0], trigger: incident.trigger });

const joined = (earlier: Entry, { incident, isDue }: Entry): Entry => ({
  ...earlier,
  incident: withTraces(earlier.incident, incident),
  isDue: isDue && earlier.isDue,
});

function toEntry(call: Call, cause: IncidentCause, isDue: Entry['isDue']): Entry {
  const { identity, traceId, receivedAtMs } = call;
  if (!identity) throw new Error('an incident needs a call that was identified');
  const { tenantId, envName, agentId } = identity;
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
