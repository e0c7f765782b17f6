import { GatewayError } from '../../core/errors.ts';
import { incidentsMax, withChange, withTraces } from '../rules/incident.ts';
import type { IncidentFilter, IncidentRecord, Store } from '../store.ts';
import type { Commits } from './link/commits.ts';
import type { RedisConnection } from './link/connection.ts';
import type { Names } from './link/names.ts';
import { indexPlaceOf, readPage } from './link/pages.ts';
import { toRecord } from './records.ts';

type Incidents = Pick<Store, 'openIncident' | 'incidentById' | 'listIncidents' | 'changeIncident'>;

/** Leads to the incident that is not closed. */
const linkOf = ({ agentId, trigger }: IncidentRecord): string => `open:${agentId}\n${trigger}`;

const isWanted = (it: IncidentRecord, { status, agentId, severity }: IncidentFilter): boolean =>
  (status === undefined || it.status === status) &&
  (agentId === undefined || it.agentId === agentId) &&
  (severity === undefined || it.severity === severity);

export function createRedisIncidents(connection: RedisConnection, names: Names, commits: Commits): Incidents {
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
        const place = indexPlaceOf(incident.openedAtMs, incident.incidentId);
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
      const index = { key: own.indexOf('incidents'), records: own.incidents };
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
        const incident = withChange(standing, expectedStatus, fields, event);
        change.put(incidents, incidentId, JSON.stringify(incident));
        if (incident.status === 'closed' && standing.status !== 'closed')
          change.drop(incidents, linkOf(incident));
        change.audit(event);
        return incident;
      }),
  };
}
