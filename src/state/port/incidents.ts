import type { Band } from '../../core/call.ts';
import type { AuditEvent } from './audit.ts';
import type { Page, Paged } from './page.ts';

/** Incidents and what people made of them. */
export interface IncidentStore {
  /**
   * Opens an incident; while one of the same agent and trigger is not closed, adds traces and notes to that one instead, which is answered and
   * becomes as severe as the graver of the two. A trace that it has among its last counts once.
   */
  openIncident(
    incident: IncidentRecord,
    audit: AuditEvent,
  ): Promise<{ readonly isNew: boolean; readonly incident: IncidentRecord }>;
  incidentById(tenantId: string, incidentId: string): Promise<IncidentRecord | undefined>;
  /** Newest first. */
  listIncidents(tenantId: string, filter: IncidentFilter, page: Page): Promise<Paged<IncidentRecord>>;
  /** Applies the change unless the incident has left `expectedStatus` meanwhile: then it rejects with CONFLICT. */
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
  /** What opened it: `policy:<name>`, `critical-denial`, `scope-violation`, `manual`, … One open incident an agent and trigger. */
  readonly trigger: string;
  readonly title: string;
  readonly severity: Band;
  readonly status: 'open' | 'investigating' | 'closed';
  /** The last 100; `traceCount` counts all. */
  readonly traceIds: readonly string[];
  readonly traceCount: number;
  readonly openedAtMs: number;
  /** A key's prefix, `admin`; absent: the gateway. */
  readonly openedBy?: string;
  readonly changedAtMs: number;
  readonly closedAtMs: number | null;
  readonly closeCode: string | null;
  readonly closedBy: string | null;
  /** The last 100. */
  readonly notes: readonly IncidentNote[];
  /** What became of status and severity, the last 100; absent: nothing yet. */
  readonly steps?: readonly IncidentStep[];
}

export type IncidentStep = { readonly atMs: number; readonly by: string } & (
  | {
      readonly kind: 'transition';
      readonly from: IncidentRecord['status'];
      readonly to: IncidentRecord['status'];
      /** Of one that was closed. */
      readonly code?: string;
    }
  | { readonly kind: 'severity'; readonly from: Band; readonly to: Band }
);

export interface IncidentNote {
  readonly atMs: number;
  readonly author: string;
  readonly text: string;
}

export interface IncidentFilter {
  readonly status?: IncidentRecord['status'];
  readonly agentId?: string;
  readonly severity?: Band;
}

/** What a change says nothing of stays. */
export interface IncidentChange {
  readonly status?: IncidentRecord['status'];
  readonly severity?: Band;
  readonly closeCode?: string;
  readonly note?: IncidentNote;
}
