import { GatewayError } from '../../errors.ts';
import type { IncidentChange, IncidentFilter, IncidentRecord, Store } from '../store.ts';
import type { Commits } from './commits.ts';
import type { Connection } from './connection.ts';
import type { Names } from './names.ts';
import { beginning, idOfPlace, parseCursor, placeOf, readPage } from './pages.ts';
import { readMany, toRecord } from './records.ts';

type Incidents = Pick<Store, 'openIncident' | 'incidentById' | 'listIncidents' | 'changeIncident'>;

const heldMax = 100;

/** Of one tenant; where there are more, the oldest go. */
const incidentsMax = 10_000;

/** Leads to the incident that is not closed. */
const linkOf = ({ agentId, trigger }: IncidentRecord): string => `open:${agentId}\n${trigger}`;

const withTraces = (standing: IncidentRecord, more: IncidentRecord): IncidentRecord => ({
  ...standing,
  traceIds: [...standing.traceIds, ...more.traceIds].slice(-heldMax),
  traceCount: standing.traceCount + more.traceCount,
  changedAtMs: Math.max(standing.changedAtMs, more.openedAtMs),
});

function changed(standing: IncidentRecord, change: IncidentChange, atMs: number, by: string): IncidentRecord {
  const { note, ...fields } = change;
  const isClosing = fields.status === 'closed' && standing.status !== 'closed';
  return {
    ...standing,
    ...fields,
    ...(isClosing ? { closedAtMs: atMs, closedBy: by } : {}),
    changedAtMs: atMs,
    notes: note ? [...standing.notes, note].slice(-heldMax) : standing.notes,
  };
}

const isWanted = (it: IncidentRecord, { status, agentId, severity }: IncidentFilter): boolean =>
  (status === undefined || it.status === status) &&
  (agentId === undefined || it.agentId === agentId) &&
  (severity === undefined || it.severity === severity);

export function createIncidents(connection: Connection, names: Names, commits: Commits): Incidents {
  return {
    openIncident: (incident, event) =>
      commits.write(incident.tenantId, async (change) => {
        const { incidents } = change.names;
        const standingId = await change.read(incidents, linkOf(incident));
        const standing =
          standingId === undefined
            ? undefined
            : toRecord<IncidentRecord>(await change.read(incidents, standingId));
        if (standing && standing.status !== 'closed') {
          const grown = withTraces(standing, incident);
          change.put(incidents, grown.incidentId, JSON.stringify(grown));
          return { isNew: false, incident: grown };
        }
        if ((await change.read(incidents, incident.incidentId)) !== undefined)
          throw new GatewayError('CONFLICT', 'There is such an incident already.');
        change.put(incidents, incident.incidentId, JSON.stringify(incident));
        change.put(incidents, linkOf(incident), incident.incidentId);
        change.put(incidents, `link:${incident.incidentId}`, linkOf(incident));
        const place = placeOf(incident.openedAtMs, incident.incidentId);
        change.index(change.names.indexOf('incidents'), place, { most: incidentsMax, records: incidents });
        change.audit(event);
        return { isNew: true, incident };
      }),

    async incidentById(tenantId, incidentId) {
      return toRecord<IncidentRecord>(
        await connection.call('HGET', names.of(tenantId).incidents, incidentId),
      );
    },

    async listIncidents(tenantId, filter, page) {
      const own = names.of(tenantId);
      const index = {
        key: own.indexOf('incidents'),
        read: (places: readonly string[]) => readMany(connection, own.incidents, places.map(idOfPlace)),
        from: beginning(parseCursor(page.cursor)),
      };
      return readPage(connection, index, page, (text) => {
        const incident = toRecord<IncidentRecord>(text);
        return incident && isWanted(incident, filter) ? incident : undefined;
      });
    },

    changeIncident: (tenantId, incidentId, expectedStatus, fields, event) =>
      commits.write(tenantId, async (change) => {
        const { incidents } = change.names;
        const standing = toRecord<IncidentRecord>(await change.read(incidents, incidentId));
        if (!standing) return undefined;
        if (standing.status !== expectedStatus)
          throw new GatewayError('CONFLICT', `The incident is ${standing.status} meanwhile.`);
        const incident = changed(standing, fields, event.atMs, event.operator);
        change.put(incidents, incidentId, JSON.stringify(incident));
        if (incident.status === 'closed' && standing.status !== 'closed')
          change.drop(incidents, linkOf(incident));
        change.audit(event);
        return incident;
      }),
  };
}
