import type { InboundRoute, ResponseScanConfig, TenantConfig } from '../config/schema.ts';
import type { DataClass, DecidedCall, Finding, Identity } from '../core/call.ts';
import { GatewayError } from '../core/errors.ts';
import type { AnswerReading } from '../decision/answers/read-answer.ts';
import type { AnswerGate } from '../decision/gate.ts';
import { isCutFor } from '../inspect/parts/sanitize.ts';
import { fieldOf, withoutField } from '../wire/http1/headers.ts';

/* Rules for all that comes back: whole answers, their heads and trailers, events, messages. */

/** The rules for the answer to one call, at one moment. */
export interface ResponseRules {
  readonly gate: AnswerGate;
  readonly identity: Identity;
  readonly tenant: TenantConfig;
  readonly scan: ResponseScanConfig;
  /** Tells whether bodies and messages are read, if only to know them again when they go out. */
  readonly isRead: boolean;
  /** Tells whether what comes back waits until it was read, so that it can be cut or refused. */
  readonly isEnforced: boolean;
}

/** Returns the rules that hold now; undefined for a tenant that is not served. */
export function responseRules(
  gate: AnswerGate,
  call: DecidedCall,
  route: InboundRoute | undefined,
): ResponseRules | undefined {
  const { identity } = call;
  const tenant = identity && gate.tenants.find(identity.tenantId);
  if (!tenant) return undefined;
  const scan = scanOf(gate, call, tenant, route);
  const isRead = scan.mode !== 'off' || gate.answerMemory.isSensitive(tenant.id, toolNameOf(call));
  const isEnforced = [scan, tenant, gate.config].every(({ mode }) => mode === 'enforce');
  return { gate, identity, tenant, scan, isRead, isEnforced };
}

export const toolNameOf = ({ operation }: DecidedCall): string => operation.toolName;

/** Returns the setting of the route, else of the tool, else of the tenant, key by key. */
function scanOf(
  { config }: AnswerGate,
  { operation }: DecidedCall,
  { id, responseScan }: TenantConfig,
  route: InboundRoute | undefined,
): ResponseScanConfig {
  const named = config.tools.find(
    (it) =>
      it.name === operation?.toolName && (it.tenantId === null || it.tenantId === id) && it.responseScan,
  );
  const said = [route?.responseScan, named?.responseScan];
  if (!said.some(Boolean)) return responseScan;
  return {
    mode: said.find((it) => it?.mode)?.mode ?? responseScan.mode,
    maxBytes: said.find((it) => typeof it?.maxBytes === 'number')?.maxBytes ?? responseScan.maxBytes,
    beyond: said.find((it) => it?.beyond)?.beyond ?? responseScan.beyond,
  };
}

/** The judgement of content that was read. */
interface Judgement {
  /** Reasons why the content must not come in, redacted or not; empty where it may. */
  readonly reasons: readonly string[];
  /** Classes that must be cut out of the content. */
  readonly cuts: readonly DataClass[];
}

/** Judges content by what was found in it; `isUnread` says that not all of it was read. */
export function judge(
  { tenant }: ResponseRules,
  call: DecidedCall,
  reading: Pick<AnswerReading, 'injection' | 'classes' | 'unreadable'>,
  isUnread: boolean,
): Judgement {
  const reasons = whyNotLetIn(tenant, reading, isUnread);
  return { reasons, cuts: reasons.length > 0 ? none : classesToCut(tenant, call, reading.classes) };
}

function whyNotLetIn(
  { posture }: TenantConfig,
  { injection, classes, unreadable }: Pick<AnswerReading, 'injection' | 'classes' | 'unreadable'>,
  isUnread: boolean,
): readonly string[] {
  const reasons = [
    ...(injection.detected ? ['PROMPT_INJECTION'] : []),
    ...classes.filter((it) => posture[postureKeys[it]] === 'DENY'),
    ...(unreadable !== undefined || isUnread ? ['UNREADABLE'] : []),
  ];
  return reasons.length === 0 ? none : ['RESPONSE_BLOCKED', ...reasons];
}

/**
 * Returns the classes that must be cut out of what comes in: those of the posture, and those cut out of the
 * call. Nobody is asked about an answer, so what would have to be approved is cut as well.
 */
function classesToCut(
  { posture }: TenantConfig,
  { verdict }: DecidedCall,
  classes: readonly DataClass[],
): readonly DataClass[] {
  if (classes.length === 0) return classes;
  const ofCall = verdict.cuts === undefined ? none : verdict.cuts;
  const isSanitizing = verdict.cuts !== undefined;
  return classes.filter((it) => {
    const wanted = posture[postureKeys[it]];
    const isWanted = wanted === 'SANITIZE' || wanted === 'REQUIRE_APPROVAL';
    return isWanted || ofCall.includes(it) || (it === 'SECRETS' && isSanitizing);
  });
}

/**
 * Returns the reasons why content does not come in: it would have to be redacted, and cannot be.
 */
export const unsanitizable = (classes: readonly DataClass[]): readonly string[] => [
  'RESPONSE_BLOCKED',
  'UNSANITIZABLE',
  ...classes,
];

/** Reasons why content does not come in that nobody can read. */
export const unreadable: readonly string[] = ['RESPONSE_BLOCKED', 'UNREADABLE'];

/** Number of redactions of one answer that a trace lists. */
const toldRedactionsMax = 50;

/** Lists the redactions for the trace, without any text. */
export function toldRedactions(
  findings: readonly Finding[],
  classes: readonly DataClass[],
): { kind: string; location: string }[] {
  const told = findings.filter(isCutFor(classes)).map(({ kind, location }) => ({ kind, location }));
  const distinct = new Map(told.map((it) => [`${it.kind} ${it.location}`, it]));
  return [...distinct.values()].slice(0, toldRedactionsMax);
}

/** Returns the head of an answer that was cut, with these reasons beside those of the call. */
export function redactedHead(
  { names }: AnswerGate,
  fields: readonly string[],
  reasons: readonly string[],
): string[] {
  const ofCall = fieldOf(fields, names.reasons.toLowerCase())
    .split(',')
    .map((it) => it.trim());
  const all = new Set([...reasons, ...ofCall.filter(Boolean)]);
  const others = [names.decision, names.reasons].reduce<readonly string[]>(
    (kept, name) => withoutField(kept, name.toLowerCase()),
    fields,
  );
  return [...others, names.decision, 'SANITIZE', names.reasons, [...all].join(',')];
}

/** Returns the reasons that the agent is told of content that came in redacted. */
export const sanitized = (cuts: readonly DataClass[]): readonly string[] =>
  cuts.length === 0 ? none : ['RESPONSE_SANITIZED', ...cuts];

const postureKeys = { SECRETS: 'secrets', PII: 'pii', PHI: 'phi', INTERNAL: 'internal' } as const;

/** Returns the error that the agent gets in place of a refused answer. */
export const blocked = (reasons: readonly string[], why = seeTrace): GatewayError =>
  new GatewayError(
    'POLICY_DENIED',
    `The upstream was called and has answered; its answer is not let in. ${why}`,
    {
      reason_codes: reasons,
    },
  );

const seeTrace = 'The trace of the call says what was found.';
/**
 * Returns the explanation for an answer that is refused because it is too long, and nothing else was found in
 * it.
 */
export const isLongerThan = (bytesMax: number): string =>
  `It is longer than the ${bytesMax} bytes that are read of it (response_scan.max_bytes).`;
const none: readonly never[] = Object.freeze([]);
