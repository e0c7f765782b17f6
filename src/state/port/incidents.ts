import type { Band } from '../../core/call.ts';
import type { AuditEvent } from './audit.ts';
import type { Page, Paged } from './page.ts';

/** Keeps incidents and what people made of them. */
export interface IncidentStore {
  /**
   * Opens an incident. Where one of the same agent and trigger is open, it adds traces and notes to that,
   * which takes the graver severity. A trace among its last ones counts once.
   */
  openIncident(
    incident: IncidentRecord,
    audit: AuditEvent,
  ): Promise<{ readonly isNew: boolean; readonly incident: IncidentRecord }>;
  incidentById(tenantId: string, incidentId: string): Promise<IncidentRecord | undefined>;
  /** Lists incidents, newest first. */
  listIncidents(tenantId: string, filter: IncidentFilter, page: Page): Promise<Paged<IncidentRecord>>;
  /** Applies the change. Rejects with CONFLICT if the incident has left `expectedStatus` meanwhile. */
  changeIncident(
    tenantId: string,
    incidentId: string,
    expectedStatus: IncidentRecord['status'],
    change: IncidentChange,
    audit: AuditEvent,
  ): Promise<IncidentRecord | undefined>;
}

export interface IncidentRecord {
  readonly incidentId: string;
  readonly tenantId: string;
  readonly envName: string;
  readonly agentId: string;
  /**
   * The cause: `policy:<name>`, `critical-denial`, `scope-violation`, `manual`, … An agent has one open
   * incident for each.
   */
  readonly trigger: string;
  readonly title: string;
  readonly severity: Band;
  readonly status: 'open' | 'investigating' | 'closed';
  /** The last 100 traces; `traceCount` counts all of them. */
  readonly traceIds: readonly string[];
  readonly traceCount: number;
  readonly openedAtMs: number;
  /** Who opened it: a key's prefix or `admin`; absent: the gateway. */
  readonly openedBy?: string;
  readonly changedAtMs: number;
  readonly closedAtMs: number | null;
  readonly closeCode: string | null;
  readonly closedBy: string | null;
  /** The last 100 notes. */
  readonly notes: readonly IncidentNote[];
  /** The last 100 changes of status and severity; absent where there were none. */
  readonly steps?: readonly IncidentStep[];
}

export type IncidentStep = { readonly atMs: number; readonly by: string } & (
  | {
      readonly kind: 'transition';
      readonly from: IncidentRecord['status'];
      readonly to: IncidentRecord['status'];
      /** The close code, where the incident was closed with one. */
      readonly code?: string;
    }
  | { readonly kind: 'severity'; readonly from: Band; readonly to: Band }
);

interface IncidentNote {
  readonly atMs: number;
  readonly author: string;
  readonly text: string;
}

export interface IncidentFilter {
  readonly status?: IncidentRecord['status'];
  readonly agentId?: string;
  readonly severity?: Band;
}

/** A change of an incident; absent fields stay as they are. */
export interface IncidentChange {
  readonly status?: IncidentRecord['status'];
  readonly severity?: Band;
  readonly closeCode?: string;
  readonly note?: IncidentNote;
}
