import { GatewayError } from '../../core/errors.ts';
import { incidentsMax, withChange, withTraces } from '../rules/incident.ts';
import type { IncidentFilter, IncidentRecord, IncidentStore } from '../store.ts';
import type { Link } from './link/link.ts';
import { indexPlaceOf, readPage } from './link/pages.ts';
import { readRecord, toRecord } from './records.ts';

/** Returns the field that leads to the incident of this cause that is not closed. */
const linkOf = ({ agentId, trigger }: IncidentRecord): string => `open:${agentId}\n${trigger}`;

const isWanted = (it: IncidentRecord, { status, agentId, severity }: IncidentFilter): boolean =>
  (status === undefined || it.status === status) &&
  (agentId === undefined || it.agentId === agentId) &&
  (severity === undefined || it.severity === severity);

export function createRedisIncidents({ connection, names, commits }: Link): IncidentStore {
  return {
    openIncident: (incident, event) =>
      commits.write(incident.tenantId, async (change) => {
        const { incidents } = change.names;
        const standingId = await change.read(incidents, linkOf(incident));
        const standing =
          standingId === undefined
            ? undefined
            : await change.readRecord<IncidentRecord>(incidents, standingId);
        if (standing && standing.status !== 'closed') {
          const grown = withTraces(standing, incident);
          change.putRecord(incidents, grown.incidentId, grown);
          return { isNew: false, incident: grown };
        }
        if ((await change.read(incidents, incident.incidentId)) !== undefined)
          throw new GatewayError('CONFLICT', 'There is such an incident already.');
        change.putRecord(incidents, incident.incidentId, incident);
        change.put(incidents, linkOf(incident), incident.incidentId);
        change.put(incidents, `link:${incident.incidentId}`, linkOf(incident));
        const place = indexPlaceOf(incident.openedAtMs, incident.incidentId);
        change.index(change.names.indexOf('incidents'), place, { most: incidentsMax, records: incidents });
        change.audit(event);
        return { isNew: true, incident };
      }),

    incidentById: (tenantId, incidentId) => readRecord(connection, names.of(tenantId).incidents, incidentId),

    async listIncidents(tenantId, filter, page) {
      const { incidents, indexOf } = names.of(tenantId);
      return readPage(connection, { key: indexOf('incidents'), records: incidents }, page, (text) => {
        const incident = toRecord<IncidentRecord>(text);
        return incident && isWanted(incident, filter) ? incident : undefined;
      });
    },

    changeIncident: (tenantId, incidentId, expectedStatus, fields, event) =>
      commits.write(tenantId, async (change) => {
        const { incidents } = change.names;
        const standing = await change.readRecord<IncidentRecord>(incidents, incidentId);
        if (!standing) return undefined;
        const incident = withChange(standing, expectedStatus, fields, event);
        change.putRecord(incidents, incidentId, incident);
        if (incident.status === 'closed' && standing.status !== 'closed')
          change.drop(incidents, linkOf(incident));
        change.audit(event);
        return incident;
      }),
  };
}
