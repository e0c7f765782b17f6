import type { Call, IncidentCause } from '../call.ts';
import { toGatewayError } from '../errors.ts';
import { newId } from '../ids.ts';
import type { Log } from '../log.ts';
import type { AuditEvent, IncidentRecord, Store } from '../state/store.ts';

/** Incidents that wait for a state that is away. */
export const waitingMax = 1000;
const retryMs = 1000;

/**
 * Opens incidents after the verdict, without anybody waiting for it. What the state does not take is tried again every second, and once
 * more at the end; what does not fit any more is in the log, and in the trace of its call either way.
 */
export interface IncidentDesk {
  /** Takes the call's causes, once its trace is written. */
  take(call: Call): void;
  /** Resolves when all that was taken is in the state, or was tried a last time. */
  close(): Promise<void>;
}

interface Entry {
  readonly incident: IncidentRecord;
  readonly audit: AuditEvent;
}

export function createIncidentDesk(store: Store, log: Log): IncidentDesk {
  const waiting: Entry[] = [];
  let running: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;

  async function openAll(): Promise<void> {
    for (let next = waiting[0]; next; next = waiting[0]) {
      try {
        await store.openIncident(next.incident, next.audit);
        waiting.shift();
      } catch (error) {
        const what = { err: error, trace_id: next.incident.traceIds[0], trigger: next.incident.trigger };
        if (toGatewayError(error).code === 'STATE_UNAVAILABLE') {
          log.warn(what, 'an incident cannot be opened yet');
          return;
        }
        waiting.shift();
        log.error(what, 'an incident was not opened');
      }
    }
  }

  function start(): void {
    if (running || timer) return;
    running = openAll().then(() => {
      running = undefined;
      if (waiting.length === 0) return;
      timer = setTimeout(() => {
        timer = undefined;
        start();
      }, retryMs).unref();
    });
  }

  return {
    take(call) {
      for (const cause of call.incidents) {
        const entry = toEntry(call, cause);
        if (waiting.length < waitingMax) waiting.push(entry);
        else log.error({ trace_id: call.traceId, trigger: cause.trigger }, 'an incident was not opened');
      }
      if (waiting.length > 0) start();
    },
    async close() {
      await running;
      clearTimeout(timer);
      timer = undefined;
      await openAll();
    },
  };
}

function toEntry({ identity, traceId, receivedAtMs }: Call, cause: IncidentCause): Entry {
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
      operator: 'gateway',
      subject: incidentId,
      details: { trigger: cause.trigger, severity: cause.severity, agent_id: agentId, trace_id: traceId },
    },
  };
}
