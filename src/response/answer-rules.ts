import type { InboundRoute, ResponseScanConfig, TenantConfig } from '../config/schema.ts';
import type { Call, DataClass, Finding } from '../core/call.ts';
import { GatewayError } from '../core/errors.ts';
import type { AnswerReading } from '../decision/answers/read-answer.ts';
import type { Gate } from '../decision/gate.ts';
import { headText } from '../inspect/parts/head-text.ts';
import { isCutFor } from '../inspect/parts/sanitize.ts';
import { contentPlaceOf } from '../tenants/external.ts';
import { fieldOf, withoutField } from '../wire/http1/headers.ts';

/* Rules for all that comes in: whole answers, events of a stream, messages. */

export const toolNameOf = ({ operation }: Call): string => operation?.toolName ?? '';

/** Tells whether answers are read at all; an answer that must be recognised later is read once. */
export const isRead = (gate: Gate, call: Call, { id }: TenantConfig, { mode }: ResponseScanConfig): boolean =>
  mode !== 'off' || gate.answerMemory.isSensitive(id, toolNameOf(call));

/** The setting of the route, else of the tool, else of the tenant, key by key. */
export function scanOf(
  { config }: Gate,
  { operation }: Call,
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

/** Tells whether an answer is held until it was read, so that it can be refused. */
export const isEnforced = ({ config }: Gate, { mode }: ResponseScanConfig, tenant: TenantConfig): boolean =>
  mode === 'enforce' && tenant.mode === 'enforce' && config.mode === 'enforce';

/** Content that does not come in cannot go out, so it is not remembered. */
export function rememberAnswer(gate: Gate, call: Call, reading: AnswerReading): void {
  const { identity, traceId, target } = call;
  if (!identity) return;
  const { tenantId, agentId } = identity;
  const toolName = toolNameOf(call);
  const account = contentPlaceOf(call)?.account;
  const sent = (): Buffer[] => [Buffer.from(headText(call), 'latin1'), ...call.bodyTexts];
  const seen = { tenantId, agentId, traceId, toolName, host: target.host, account, sent, atMs: Date.now() };
  gate.answerMemory.saw(seen, reading);
}

/** Why it must not come in, redacted or not; empty where it may. `isCut`: not all of it was read. */
export function whyNotLetIn(
  { posture }: TenantConfig,
  { injection, classes, unreadable }: Pick<AnswerReading, 'injection' | 'classes' | 'unreadable'>,
  isCut: boolean,
): string[] {
  const reasons = [
    ...(injection.detected ? ['PROMPT_INJECTION'] : []),
    ...classes.filter((it) => posture[postureKeys[it]] === 'DENY'),
    ...(unreadable !== undefined || isCut ? ['UNREADABLE'] : []),
  ];
  return reasons.length === 0 ? [] : ['RESPONSE_BLOCKED', ...reasons];
}

/**
 * The classes that must be cut out of what comes in: those that the posture wants cut, and those that were to be cut out of the call. Nobody
 * is asked about an answer: what would have to be approved is cut as well.
 */
export function classesToCut(
  { posture }: TenantConfig,
  { verdict }: Call,
  classes: readonly DataClass[],
): readonly DataClass[] {
  if (classes.length === 0) return classes;
  const ofCall = verdict?.cuts === undefined ? none : verdict.cuts;
  const isSanitizing = verdict?.cuts !== undefined;
  return classes.filter((it) => {
    const wanted = posture[postureKeys[it]];
    const isWanted = wanted === 'SANITIZE' || wanted === 'REQUIRE_APPROVAL';
    return isWanted || ofCall.includes(it) || (it === 'SECRETS' && isSanitizing);
  });
}

const none: readonly DataClass[] = Object.freeze([]);

/** Why it must not come in although it would only have to be redacted. */
export const unsanitizable = (classes: readonly DataClass[]): string[] => [
  'RESPONSE_BLOCKED',
  'UNSANITIZABLE',
  ...classes,
];

/** Redactions of one answer that a trace lists. */
const toldRedactionsMax = 50;

/** The redactions for the trace, without any text. */
export function toldRedactions(
  findings: readonly Finding[],
  classes: readonly DataClass[],
): { kind: string; location: string }[] {
  const told = findings.filter(isCutFor(classes)).map(({ kind, location }) => ({ kind, location }));
  const distinct = new Map(told.map((it) => [`${it.kind} ${it.location}`, it]));
  return [...distinct.values()].slice(0, toldRedactionsMax);
}

/** The head of an answer of which something was cut out, for these reasons, beside those of the call. */
export function toldRedacted(
  { names }: Gate,
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

const postureKeys = { SECRETS: 'secrets', PII: 'pii', PHI: 'phi', INTERNAL: 'internal' } as const;

/** The error that the agent gets in place of a refused answer. */
export const blocked = (reasons: readonly string[], why = seeTrace): GatewayError =>
  new GatewayError(
    'POLICY_DENIED',
    `The upstream was called and has answered; its answer is not let in. ${why}`,
    {
      reason_codes: reasons,
    },
  );

const seeTrace = 'The trace of the call says what was found.';
/** The reason for an answer that is too long and in which nothing else was found. */
export const isLongerThan = (bytesMax: number): string =>
  `It is longer than the ${bytesMax} bytes that are read of it (response_scan.max_bytes).`;
