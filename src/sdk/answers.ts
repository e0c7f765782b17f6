import { type FieldError, PosternError, type PosternErrorFields } from './errors.ts';

/*
 * Checks answers of the gateway field by field. An answer that is not as promised counts as none, so that
 * nothing is sent on its word.
 */

export type Decision = 'ALLOW' | 'DENY' | 'SANITIZE' | 'REQUIRE_APPROVAL';
export type RiskBand = 'LOW' | 'MEDIUM' | 'HIGH' | 'CRITICAL';
export type ApprovalState = 'pending' | 'approved' | 'denied' | 'expired';

export interface Signal {
  readonly engine: string;
  readonly name: string;
  readonly score: number;
  readonly details: string;
}

export interface Finding {
  readonly class: string;
  readonly kind: string;
  /** Place of the finding: `body:$.path`, `query:name`, `path`, `host` or `header:name`. */
  readonly location: string;
  readonly confidence: string;
}

/** The decision on a call, and why. */
export interface ScanResult {
  readonly decision: Decision;
  /** Risk from 0 to 1. */
  readonly riskScore: number;
  readonly riskBand: RiskBand;
  /** Codes of the reasons, the deciding one first. */
  readonly reasonCodes: readonly string[];
  readonly traceId: string;
  readonly toolName: string;
  readonly operation: string;
  readonly classifications: readonly string[];
  readonly signals: readonly Signal[];
  /** The body to send instead, on SANITIZE, of the type of the described body; bytes for bytes. */
  readonly sanitizedBody?: unknown;
  /** The approval to wait for, on REQUIRE_APPROVAL. */
  readonly approvalId?: string;
  readonly policyId?: string;
  readonly policyName?: string;
  /** The decision that would have stood, in monitor mode. */
  readonly wouldBe?: Decision;
  /** Ways in which the call leaves the scope of an ephemeral key. */
  readonly violations: readonly string[];
  readonly findings: readonly Finding[];
  readonly matchedRules: readonly Readonly<Record<string, unknown>>[];
  readonly tags: readonly string[];
  /** Sentences that say why. */
  readonly explanation: readonly string[];
}

export interface ResponseScanResult {
  readonly traceId?: string;
  readonly dataClasses: readonly string[];
  readonly fieldsRedactedCount: number;
  /** A fingerprint that is equal for equal content. */
  readonly contentFingerprint: string;
  /** Tells whether the content gives orders to the agent that reads it. */
  readonly injection: { readonly detected: boolean; readonly score: number };
}

export interface ApprovalResult {
  readonly approvalId: string;
  readonly status: ApprovalState;
  readonly expiresAt: string;
  readonly decidedAt?: string;
  /** A text that the analyst has written. */
  readonly note?: string;
}

export interface EphemeralKey {
  /** The key itself, which is shown only here. */
  readonly key: string;
  readonly keyId: string;
  readonly prefix: string;
  readonly expiresAt: string;
  readonly maxUses: number | null;
}

const decisions: readonly Decision[] = ['ALLOW', 'DENY', 'SANITIZE', 'REQUIRE_APPROVAL'];
const bands: readonly RiskBand[] = ['LOW', 'MEDIUM', 'HIGH', 'CRITICAL'];
const states: readonly ApprovalState[] = ['pending', 'approved', 'denied', 'expired'];
const uuidForm = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i;
const itemsMax = 10_000;

export const isUuid = (value: unknown): value is string => typeof value === 'string' && uuidForm.test(value);

const wrong = (field: string): PosternError =>
  new PosternError('INVALID_ANSWER', `The gateway's answer has no valid ${field}.`);

type Fields = Readonly<Record<string, unknown>>;

function toFields(value: unknown, name: string): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw wrong(name);
  return value as Fields;
}

function check<T>(fields: Fields, name: string, isRight: (value: unknown) => value is T): T {
  // An inherited name is no field.
  const value = Object.hasOwn(fields, name) ? fields[name] : undefined;
  if (!isRight(value)) throw wrong(name);
  return value;
}

const isText = (value: unknown): value is string => typeof value === 'string';
const isTextOrNull = (value: unknown): value is string | null => value === null || isText(value);
const isNumber = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value);
const isScore = (value: unknown): value is number => isNumber(value) && value >= 0 && value <= 1;
const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;
const isBoolean = (value: unknown): value is boolean => typeof value === 'boolean';
const isTexts = (value: unknown): value is string[] => isList(value) && value.every(isText);
const isList = (value: unknown): value is unknown[] => Array.isArray(value) && value.length <= itemsMax;
const isOneOf =
  <T>(all: readonly T[]) =>
  (value: unknown): value is T =>
    all.includes(value as T);

/** Returns a field that may be absent. Throws where it is there and not right. */
function maybe<T>(fields: Fields, name: string, isRight: (value: unknown) => value is T): T | undefined {
  return Object.hasOwn(fields, name) ? check(fields, name, isRight) : undefined;
}

function toList<T>(fields: Fields, name: string, toItem: (item: Fields) => T): T[] {
  return (maybe(fields, name, isList) ?? []).map((it) => toItem(toFields(it, name)));
}

const toSignal = (it: Fields): Signal => ({
  engine: check(it, 'engine', isText),
  name: check(it, 'name', isText),
  score: check(it, 'score', isNumber),
  details: check(it, 'details', isText),
});

const toFinding = (it: Fields): Finding => ({
  class: check(it, 'class', isText),
  kind: check(it, 'kind', isText),
  location: check(it, 'location', isText),
  confidence: check(it, 'confidence', isText),
});

/** Returns the members of `value` that are defined, so that an absent field stays absent. */
function present<T extends object>(value: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(value).filter(([, it]) => it !== undefined)) as never;
}

export function toScanResult(answer: unknown): ScanResult {
  const it = toFields(answer, 'object');
  const decision = check(it, 'decision', isOneOf(decisions));
  const approvalId =
    decision === 'REQUIRE_APPROVAL' ? check(it, 'approval_id', isUuid) : maybe(it, 'approval_id', isUuid);
  return {
    decision,
    riskScore: check(it, 'risk_score', isScore),
    riskBand: check(it, 'risk_band', isOneOf(bands)),
    reasonCodes: check(it, 'reason_codes', isTexts),
    traceId: check(it, 'trace_id', isUuid),
    toolName: check(it, 'tool_name', isText),
    operation: check(it, 'operation', isText),
    classifications: check(it, 'classifications', isTexts),
    signals: toList(it, 'signals', toSignal),
    violations: maybe(it, 'violations', isTexts) ?? [],
    findings: toList(it, 'findings', toFinding),
    matchedRules: toList(it, 'matched_rules', (rule) => rule),
    tags: maybe(it, 'tags', isTexts) ?? [],
    explanation: maybe(it, 'explanation', isTexts) ?? [],
    ...present({
      approvalId,
      policyId: maybe(it, 'policy_id', isText),
      policyName: maybe(it, 'policy_name', isText),
      wouldBe: maybe(it, 'would_be', isOneOf(decisions)),
      sanitizedBody: Object.hasOwn(it, 'sanitized_body') ? it['sanitized_body'] : undefined,
    }),
  };
}

export function toResponseScanResult(answer: unknown): ResponseScanResult {
  const it = toFields(answer, 'object');
  const injection = toFields(it['injection'], 'injection');
  return {
    dataClasses: check(it, 'data_classes', isTexts),
    fieldsRedactedCount: check(it, 'fields_redacted_count', isCount),
    contentFingerprint: check(it, 'content_fingerprint', isText),
    injection: {
      detected: check(injection, 'detected', isBoolean),
      score: check(injection, 'score', isScore),
    },
    ...present({ traceId: maybe(it, 'trace_id', isUuid) }),
  };
}

/** Returns what became of the approval. Throws for an answer about another one. */
export function toApprovalResult(answer: unknown, approvalId: string): ApprovalResult {
  const it = toFields(answer, 'object');
  if (check(it, 'approval_id', isUuid).toLowerCase() !== approvalId.toLowerCase()) throw wrong('approval_id');
  return {
    approvalId,
    status: check(it, 'status', isOneOf(states)),
    expiresAt: check(it, 'expires_at', isText),
    ...present({
      decidedAt: maybe(it, 'decided_at', isTextOrNull) ?? undefined,
      note: maybe(it, 'note', isTextOrNull) ?? undefined,
    }),
  };
}

export function toEphemeralKey(answer: unknown): EphemeralKey {
  const it = toFields(answer, 'object');
  return {
    key: check(it, 'key', isText),
    keyId: check(it, 'key_id', isUuid),
    prefix: check(it, 'prefix', isText),
    expiresAt: check(it, 'expires_at', isText),
    maxUses: it['max_uses'] === null ? null : check(it, 'max_uses', isCount),
  };
}

const detailLengthMax = 2000;
const errorsMax = 100;

/** Returns the error for a failure. Of an answer that is no problem of a gateway only the status counts. */
export function problemFrom(status: number, answer: unknown, retryAfterMs: number | undefined): PosternError {
  const it = typeof answer === 'object' && answer !== null ? (answer as Fields) : {};
  const code = it['code'];
  const detail = it['detail'];
  const fields: PosternErrorFields = {
    status,
    errors: toFieldErrors(it['errors']),
    ...present({
      retryAfterMs,
      traceId: isUuid(it['trace_id']) ? it['trace_id'] : undefined,
      actualBytes: isCount(it['actual_bytes']) ? it['actual_bytes'] : undefined,
      limitBytes: isCount(it['limit_bytes']) ? it['limit_bytes'] : undefined,
    }),
  };
  if (!isText(code) || !/^[A-Z0-9_]{1,64}$/.test(code))
    return new PosternError('HTTP_ERROR', `The gateway's address answers ${status}.`, fields);
  return new PosternError(code, isText(detail) ? detail.slice(0, detailLengthMax) : '', fields);
}

function toFieldErrors(value: unknown): FieldError[] {
  if (!Array.isArray(value)) return [];
  return value.slice(0, errorsMax).flatMap((it: unknown) => {
    const { path, message } = (typeof it === 'object' && it !== null ? it : {}) as Fields;
    if (!isText(path) || !isText(message)) return [];
    return [{ path: path.slice(0, detailLengthMax), message: message.slice(0, detailLengthMax) }];
  });
}
