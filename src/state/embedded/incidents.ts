import { GatewayError } from '../../core/errors.ts';
import { incidentsMax, withChange, withTraces } from '../rules/incident.ts';
import type { IncidentFilter, IncidentRecord, IncidentStore } from '../store.ts';
import { createBound } from './bound.ts';
import { type Disk, writeAudited } from './disk.ts';
import { type Condition, createListing, given, records } from './listing.ts';
import { createRecordTable } from './record-table.ts';
import { rowToRecord } from './sqlite.ts';

export function createEmbeddedIncidents(disk: Disk): IncidentStore {
  const { db, commits, audit } = disk;
  const standing = db.prepare(`
    SELECT record FROM incidents WHERE tenant_id = ? AND agent_id = ? AND cause = ? AND status <> 'closed' LIMIT 1
  `);
  const insert = db.prepare(
    'INSERT INTO incidents (incident_id, tenant_id, record) VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
  );
  const table = createRecordTable<IncidentRecord>(db, 'incidents', ['tenant_id', 'incident_id']);
  const list = createListing(db, {
    table: 'incidents',
    order: ['opened_at_ms', 'incident_id'],
    ...records<IncidentRecord>(),
  });

  const makeRoom = createBound(db, {
    table: 'incidents',
    order: ['opened_at_ms', 'incident_id'],
    most: incidentsMax,
  });

  return {
    /**
     * Opens an incident. Only a new one leaves an audit entry: a flood of calls must not become a flood of
     * entries.
     */
    openIncident: (incident, event) =>
      commits.write(() => {
        const { incidentId, tenantId, agentId, trigger } = incident;
        const before = rowToRecord<IncidentRecord>(standing.get(tenantId, agentId, trigger));
        if (before) {
          const joined = table.put(withTraces(before, incident), tenantId, before.incidentId);
          return { isNew: false, incident: joined };
        }
        makeRoom(tenantId);
        if (insert.run(incidentId, tenantId, JSON.stringify(incident)) === 0)
          throw new GatewayError('CONFLICT', 'There is such an incident already.');
        audit.append(event);
        return { isNew: true, incident };
      }),

    incidentById: async (tenantId, incidentId) => table.find(tenantId, incidentId),

    listIncidents: async (tenantId, filter, page) => list(conditionsOf(tenantId, filter), page),

    changeIncident: (tenantId, incidentId, expectedStatus, change, event) =>
      writeAudited(disk, event, () =>
        table.alter((before) => withChange(before, expectedStatus, change, event), tenantId, incidentId),
      ),
  };
}

const conditionsOf = (tenantId: string, { status, agentId, severity }: IncidentFilter): Condition[] =>
  given(
    ['tenant_id = ?', tenantId],
    ['status = ?', status],
    ['agent_id = ?', agentId],
    ['severity = ?', severity],
  );
