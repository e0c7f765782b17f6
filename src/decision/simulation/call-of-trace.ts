import type { Catalogue } from '../../catalogue/catalogue.ts';
import type { TenantConfig } from '../../config/schema.ts';
import {
  AdmittedCall,
  AssessedCall,
  type Band,
  bareCall,
  ClassifiedCall,
  type Decision,
  type Entrance,
  type Finding,
  type Identity,
  InspectedCall,
  isTunnel,
  noEvidence,
  notInspected,
  type Operation,
  type OwnAgent,
  plainAdmission,
  type ReceivedCall,
  type Signal,
  type Threat,
  type Verb,
} from '../../core/call.ts';
import type { Target } from '../../core/target.ts';
import type { BandBounds, SignalWeights } from '../../risk/signals/score.ts';
import type { Catalogues } from '../../tenants/catalogues.ts';
import { toRequest } from '../request.ts';
import { scored } from '../stages/assess-risk.ts';
import { urlLengthMax } from '../trace/redacted.ts';

/*
 * Makes a call of its trace. A trace has neither body nor headers, so facts that only those could tell are
 * lacking when it is judged anew.
 */

/** The caller in a trace. */
interface TracedCaller {
  readonly tenant_id: string;
  readonly env_name: string;
  readonly agent_id: string;
  readonly agent_name?: string | null;
  readonly runtime_type?: string;
  readonly key_id: string;
  readonly key_prefix: string;
}

/** The judgement in a trace, and its reasons. */
interface TracedJudgement {
  readonly decision: Decision;
  readonly risk_score: number;
  readonly risk_band: Band;
  /** The least score for the findings, and the share of the agent's trust. */
  readonly risk?: { readonly floor: number; readonly modifier: number };
  readonly reason_codes?: readonly string[];
  readonly classifications?: readonly Finding['class'][];
  readonly signals?: readonly Signal[];
  readonly findings?: readonly Pick<Finding, 'class' | 'kind' | 'location'>[];
  readonly policy_name?: string;
  readonly rule_id?: string;
  readonly explanation?: readonly string[];
}

/**
 * A trace as `traceLine` writes it, as far as it is needed here. Fields that say nothing are left out there.
 */
export interface Trace extends TracedCaller, TracedJudgement {
  readonly trace_id: string;
  readonly at: string;
  readonly entrance?: Entrance;
  readonly method: string;
  readonly url: string;
  readonly body_bytes: number;
  readonly tool_name?: string;
  readonly operation?: string;
  readonly category?: string;
  readonly verb?: Verb;
}

/** Facts that a trace may lack: the content of the body, the resource and principals, the full URL. */
export type Lack = 'body' | 'resource' | 'url';

export interface TraceRecord {
  readonly call: AssessedCall<TenantConfig>;
  readonly lacks: readonly Lack[];
}

interface RecordedOptions {
  readonly catalogues: Catalogues;
  readonly weights: SignalWeights;
  readonly bounds: BandBounds;
}

const notJudged: ReadonlySet<string | undefined> = new Set([
  'AGENT_SUSPENDED',
  'DENYLISTED',
  'THREAT_INTEL_MATCH',
  'EPHEMERAL_SCOPE_VIOLATION',
  'UNREADABLE',
  'NO_VERDICT',
]);

/**
 * Tells whether policies and posture have judged the call. A call that was refused earlier has no
 * explanation.
 */
export const wasJudged = ({ explanation, rule_id, reason_codes, tool_name }: Trace): boolean =>
  explanation !== undefined &&
  tool_name !== undefined &&
  (rule_id !== undefined || !notJudged.has(reason_codes?.[0]));

/**
 * Makes the call of a trace. `target` is its URL, `ownAgent` the agent of the key, and `tenant` its tenant.
 */
export function toRecordedCall(
  trace: Trace,
  tenant: TenantConfig,
  { target, ownAgent }: { readonly target: Target; readonly ownAgent: OwnAgent },
  options: RecordedOptions,
): TraceRecord {
  const received = bareCall({
    traceId: trace.trace_id,
    // The entrance serves only to tell a tunnel.
    entrance: isTunnel(trace) ? 'forward' : 'scan',
    receivedAtMs: Date.parse(trace.at),
    clientAddress: '',
    key: undefined,
    method: trace.method,
    target,
    claimed: {
      agentId: trace.agent_id,
      ...(trace.runtime_type === undefined ? {} : { runtimeType: trace.runtime_type }),
    },
  });
  const signals = trace.signals ?? [];
  const { classified, lacks } = classifyTrace(received, trace, options.catalogues.of(trace.tenant_id));
  const admission = plainAdmission(tenant, identityIn(trace, ownAgent));
  const isNewDestination = signals.some((it) => it.name === 'NEW_DESTINATION');
  const admitted = new AdmittedCall(classified, {
    ...admission,
    history: { ...admission.history, isNewDestination },
  });
  const inspected = new InspectedCall(admitted, {
    ...notInspected,
    opaque: signals.filter((it) => it.name === 'OPAQUE_CONTENT').map((it) => it.details),
    findings: findingsOf(trace),
  });
  const share = { modifier: trace.risk?.modifier ?? 0, floor: trace.risk?.floor ?? 0 };
  const call = new AssessedCall(
    inspected,
    {
      ...noEvidence,
      // A threat at the target was judged before the rules (`notJudged`), so these are in the body.
      threats: signals.filter((it) => it.name === 'THREAT_INTEL_MATCH').map(toThreat),
    },
    { ...scored(signals, share, options), score: trace.risk_score, band: trace.risk_band },
  );
  return { call, lacks };
}

const identityIn = (trace: Trace, ownAgent: OwnAgent): Identity => ({
  keyId: trace.key_id,
  keyPrefix: trace.key_prefix,
  tenantId: trace.tenant_id,
  envName: trace.env_name,
  agentId: trace.agent_id,
  agentName: trace.agent_name ?? trace.agent_id,
  ownAgent,
  permissions: new Set(),
});

const toThreat = ({ details }: Signal): Threat => ({
  ...{ feed: 'recorded', kind: 'url', indicator: details, reference: '', threat: '' },
  location: 'body',
});

/** Names the operation as recorded, derives anew what it acts on, and tells what is lacking. */
function classifyTrace(
  call: ReceivedCall,
  trace: Trace,
  catalogue: Catalogue,
): { readonly classified: ClassifiedCall; readonly lacks: readonly Lack[] } {
  const lacks: Lack[] = trace.body_bytes > 0 ? ['body'] : [];
  let needsBody = false;
  const asked = <T>(value: T): T => {
    needsBody ||= trace.body_bytes > 0;
    return value;
  };
  const classified = isTunnel(call)
    ? catalogue.understandTunnel(call.target)
    : catalogue.understand({
        ...toRequest(call, 0),
        bodyText: () => asked(''),
        // The recorded verb has taken a method that JSON names into account already.
        mentions: () => false,
        isInOtherCharset: () => false,
        bodyValue: () => asked({ kind: 'none' }),
      });
  const { tool_name = classified.toolName, operation: name = classified.name } = trace;
  const operation: Operation = {
    ...classified,
    toolName: tool_name,
    name,
    category: trace.category ?? classified.category,
    verb: trace.verb ?? classified.verb,
  };
  const isUrlWhole = trace.url.length < urlLengthMax && !trace.url.includes('[REDACTED');
  if (!isUrlWhole) lacks.push('url');
  const isSame = classified.toolName === tool_name && classified.name === name;
  if (!isUrlWhole || needsBody || !isSame) lacks.push('resource');
  return { classified: new ClassifiedCall(call, operation, ''), lacks };
}

/**
 * Returns one finding for each class of the call. Findings outside the body cannot be cut, unless the call
 * was sanitized.
 */
function findingsOf({ classifications = [], findings = [], decision }: Trace): Finding[] {
  const inHead = new Set(findings.filter((it) => !it.location.startsWith('body:')).map((it) => it.class));
  return classifications.map((name) => ({
    class: name,
    kind: findings.find((it) => it.class === name)?.kind ?? 'recorded',
    confidence: 'medium',
    location: '',
    part: inHead.has(name) && decision !== 'SANITIZE' ? 'head' : 'body',
    start: 0,
    end: 0,
    atHome: false,
    vendorHosts: [],
  }));
}
