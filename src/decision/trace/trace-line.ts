import type {
  CallSoFar,
  Finding,
  Identity,
  IncidentCause,
  Inspection,
  MatchedRule,
  NamedCall,
  OperationPart,
  ReceivedCall,
  Risk,
  Signal,
  Verdict,
} from '../../core/call.ts';
import type { GatewayError } from '../../core/errors.ts';
import { ownName, type SafeName } from '../../core/safe-name.ts';
import { bySecond } from '../../util/by-second.ts';
import { fieldOf } from '../../wire/http1/headers.ts';
import { excuseOf } from '../excuse.ts';
import { redactedMethod, redactedUrl } from './redacted.ts';
import { shownOperationOf, shownPart } from './safe-names.ts';

/** The most findings that one trace names. */
export const recordedFindingsMax = 50;

/** A call of which a trace can be written. It is decided, or refused with what is known of it. */
export interface TracedCall extends NamedCall {
  readonly identity: Identity;
  readonly admission?: CallSoFar['admission'];
  readonly inspection?: Pick<Inspection, 'agentName' | 'runtimeType'>;
  readonly risk?: Risk;
  readonly verdict?: Verdict;
  readonly incidents?: readonly IncidentCause[];
}

const json = JSON.stringify;
/** Returns a text as JSON. A caller may have chosen its words. */
const shown: (name: SafeName) => string = JSON.stringify;

/**
 * Returns the trace as one line of JSON. It names kinds and places of what was found, never the text. It is
 * put together by hand, because every call pays for it. That costs half of what one `JSON.stringify` of the
 * whole costs.
 */
export function traceLine(
  call: TracedCall,
  refusal: GatewayError | undefined,
  credential?: string,
): SafeName {
  const { received, identity, operation, findings, risk = noRisk, verdict } = call;
  const { agentName, runtimeType } = call.inspection ?? unread;
  const { signals } = risk;
  const method = redactedMethod(call);
  let line = `{"trace_id":"${received.traceId}","at":"${toIso(received.receivedAtMs)}",${whoOf(identity)}`;
  const registered = ownName(identity.agentName);
  line += `,"agent_name":${shown(agentName ?? registered)}`;
  if (agentName !== undefined && agentName !== registered) line += `,"registered_name":${shown(registered)}`;
  if (runtimeType !== undefined) line += `,"runtime_type":${shown(runtimeType)}`;
  line += `,"client_address":"${received.clientAddress}","entrance":"${received.entrance}","method":${shown(method)}`;
  line += `,"url":${shown(redactedUrl(received.message?.opening ?? call))},"body_bytes":${received.body.length}`;
  if (received.message) line += `,"message_of":"${received.message.opening.received.traceId}"`;
  if (operation) {
    line += `,"tool_name":${shown(call.safeName(operation.toolName))},"operation":${shown(shownOperationOf(call))}`;
    line += `,"category":${shown(call.safeName(operation.category))},"verb":"${operation.verb}"`;
    if (operation.parts) line += list('parts', partNames(call, operation.parts));
  }
  line += `,"decision":"${verdict?.decision ?? 'DENY'}"`;
  if (verdict?.wouldBe) line += `,"would_be":"${verdict.wouldBe}"`;
  line += `,"risk_score":${risk.score},"risk_band":"${risk.band}"`;
  if (signals.length > 0 || risk.floor > 0 || risk.trustModifier > 0)
    line += `,"risk":{"floor":${risk.floor},"modifier":${risk.trustModifier}}`;
  if (credential !== undefined) line += `,"credential":${json(credential)}`;
  if (refusal) line += refusalFields(received, refusal);
  line += list('reason_codes', refusal ? [refusal.code] : verdict?.reasonCodes);
  if (verdict) line += excuseField(call, verdict);
  line += list('classifications', verdict?.classifications);
  line += list('signals', signals.length === 0 ? signals : signals.map(recordedSignal));
  line += list('tags', verdict?.tags);
  line += list('escalate_to', verdict?.escalateTo);
  line += list('violations', verdict?.violations);
  if (verdict && call.incidents && call.incidents.length > 0)
    line += list(
      'incidents',
      call.incidents.map((it) => it.trigger),
    );
  if (findings.length > 0)
    line += list('findings', findings.slice(0, recordedFindingsMax).map(publicFinding));
  if (verdict && verdict.matchedRules.length > 0)
    line += `,"matched_rules":${json(verdict.matchedRules.map(publicRule))}`;
  if (verdict?.decidedBy) {
    const { policyId, policyName, ruleId } = verdict.decidedBy;
    line += `,"policy_id":"${policyId}","policy_name":${json(policyName)},"rule_id":${json(ruleId)}`;
  }
  const approvalId = verdict?.approval?.approvalId ?? verdict?.byApproval;
  if (approvalId !== undefined) line += `,"approval_id":"${approvalId}"`;
  return ownName(`${line}${list('explanation', verdict?.explanation)}}`);
}

/** The risk in the trace of a call that was refused before its risk was assessed. */
const noRisk: Risk = {
  ...{ signals: [], score: 0, band: 'LOW', residualBand: 'LOW' },
  ...{ parts: [], trustModifier: 0, floor: 0 },
};
const unread = { agentName: undefined, runtimeType: undefined };

function excuseField({ received, admission }: TracedCall, verdict: Verdict): string {
  const { isOutOfTime } = received.readings;
  const excuse = excuseOf({ isOutOfTime, isDegraded: admission?.isDegraded ?? false }, verdict);
  return excuse ? `,"excuse":"${excuse}"` : '';
}

/**
 * Returns the fields on why a call was refused, in the words of its answer, and how large it said that it is.
 */
function refusalFields({ headers }: ReceivedCall, { message, extra }: GatewayError): string {
  const length = fieldOf(headers, 'content-length');
  const declared = /^\d{1,15}$/.test(length) ? Number(length) : undefined;
  let fields = `,"detail":${json(message)}`;
  if (declared !== undefined) fields += `,"declared_bytes":${declared}`;
  if (extra.actual_bytes !== undefined) fields += `,"actual_bytes":${extra.actual_bytes}`;
  if (extra.limit_bytes !== undefined) fields += `,"limit_bytes":${extra.limit_bytes}`;
  return fields;
}

/** Returns a signal without the details for the agent, which stand only in its answer. */
const recordedSignal = ({ shown: _, ...signal }: Signal): Signal => signal;

/** The most parts that one trace names. */
const recordedPartsMax = 20;

const partNames = (call: NamedCall, parts: readonly OperationPart[]): readonly SafeName[] =>
  [...new Set(parts.map((it) => shownPart(call, it)))].slice(0, recordedPartsMax);

/**
 * Returns a list as a field; '' where it is empty. Most calls are clean, and every byte is written several
 * times.
 */
function list(name: string, values: readonly unknown[] | undefined): string {
  if (!values || values.length === 0) return '';
  // The values are serialised one by one, because that of a text is quicker than that of a list.
  let text = '';
  for (const value of values) text += text === '' ? json(value) : `,${json(value)}`;
  return `,"${name}":[${text}]`;
}

const whos = new WeakMap<Identity, string>();

/** Returns the fields of a trace on key and agent. They are the same for all their calls. */
function whoOf(identity: Identity): string {
  const known = whos.get(identity);
  if (known !== undefined) return known;
  const { tenantId, envName, agentId, keyId, keyPrefix } = identity;
  const who = json({
    tenant_id: tenantId,
    env_name: envName,
    agent_id: agentId,
    key_id: keyId,
    key_prefix: keyPrefix,
  }).slice(1, -1);
  whos.set(identity, who);
  return who;
}

const isoSecond = bySecond((second) => new Date(second * 1000).toISOString().slice(0, 20));

/** Returns a time in ISO 8601, in UTC. Calls of the same second share all but the milliseconds. */
function toIso(ms: number): string {
  const second = Math.floor(ms / 1000);
  return `${isoSecond(second)}${String(ms - second * 1000).padStart(3, '0')}Z`;
}

/** Returns a finding as answers and traces show it. */
export const publicFinding = (it: Finding) => ({
  class: it.class,
  kind: it.kind,
  location: it.location,
  confidence: it.confidence,
});

export const publicRule = (it: MatchedRule) => ({
  policy_id: it.policyId,
  policy_name: it.policyName,
  version: it.version,
  rule_id: it.ruleId,
  action: it.action,
});
