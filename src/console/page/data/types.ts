import type { Band, Decision } from '../../../core/verdict.ts';

/* Types of the API's answers, as far as the page reads them. */

export type { Band, Decision };

export interface Listing<T> {
  readonly items: readonly T[];
  readonly next_cursor: string | null;
}

export interface ShownFinding {
  readonly class: string;
  readonly kind: string;
  readonly location: string;
  readonly confidence: string;
}

export interface ShownSignal {
  readonly engine: string;
  readonly name: string;
  readonly score: number;
  readonly details: string;
}

export interface ShownRule {
  readonly policy_id: string;
  readonly policy_name: string;
  readonly version: number;
  readonly rule_id: string;
  readonly action: string;
}

/** A call, as far as lists show it. */
export interface TraceRow {
  readonly trace_id: string;
  readonly at: string;
  readonly env_name: string;
  readonly agent_id: string;
  readonly agent_name?: string;
  readonly method: string;
  readonly url: string;
  readonly tool_name?: string;
  readonly operation?: string;
  readonly decision: Decision;
  readonly would_be?: Decision;
  readonly risk_score?: number;
  readonly risk_band?: Band;
  readonly reason_codes?: readonly string[];
  readonly rule_id?: string;
}

/** A held call, and the reasons. */
interface HeldCall {
  readonly trace_id: string;
  readonly env_name: string;
  readonly agent_id: string;
  readonly agent_name: string;
  readonly tool_name: string;
  readonly operation: string;
  readonly method: string;
  readonly url: string;
  readonly body_preview: string;
  readonly body_bytes: number;
  readonly opens_websocket: boolean;
  readonly findings: readonly ShownFinding[];
  readonly reason_codes: readonly string[];
  readonly risk_score: number;
  readonly risk_band: Band;
  readonly policy_id: string | null;
  readonly rule_id: string | null;
}

export interface Approval extends HeldCall {
  readonly approval_id: string;
  readonly status: 'pending' | 'approved' | 'denied' | 'expired';
  readonly created_at: string;
  readonly expires_at: string;
  readonly decided_at: string | null;
  readonly decided_by: string | null;
  readonly scope: 'once' | 'window' | null;
  readonly note: string | null;
  /** Sentences that say what an approval would let through, by its scope. */
  readonly covers: { readonly once: string; readonly window: string; readonly lasts: string };
}

export interface Agent {
  readonly agent_id: string;
  readonly name: string;
  readonly env_name: string;
  readonly runtime_type: string | null;
  readonly status: 'active' | 'suspended';
  readonly tenant_suspended: boolean;
  readonly trust_score: number;
  readonly trust_reasons: readonly string[];
  readonly trust_trend: readonly { readonly at: string; readonly score: number }[];
  readonly first_seen: string | null;
  readonly last_seen: string | null;
  readonly calls_total: number;
  readonly decisions_24h: Readonly<Partial<Record<Decision, number>>>;
}

export interface CountedNames {
  readonly names: readonly { readonly name: string; readonly count: number }[];
  readonly other: number;
}

export interface Stats {
  readonly interval: 'minute' | 'hour' | 'day';
  readonly from: string;
  readonly total: number;
  readonly series: readonly {
    readonly at: string;
    readonly total: number;
    readonly decisions: Readonly<Partial<Record<Decision, number>>>;
  }[];
  readonly decisions: CountedNames;
  readonly reasons: CountedNames;
  readonly bands: CountedNames;
  readonly tools: CountedNames;
  readonly agents: CountedNames;
}

export interface Incident {
  readonly incident_id: string;
  readonly env_name: string;
  readonly agent_id: string;
  readonly trigger: string;
  readonly title: string;
  readonly severity: Band;
  readonly status: 'open' | 'investigating' | 'closed';
  readonly trace_count: number;
  readonly opened_at: string;
  readonly closed_at: string | null;
  readonly close_code: string | null;
  readonly closed_by: string | null;
}
