import type { EventKind } from '../config/sections/notifications.ts';
import { type Band, bands, type Decision } from '../core/call.ts';
import { ownName } from '../core/safe-name.ts';
import { parseLine } from '../state/journal/line.ts';
import type { RecordedCall } from '../state/store.ts';
import type { Notice } from './notice.ts';
import { cut, factTextOf, listOf, oneLine, storedName } from './texts.ts';

/*
 * Makes notices of calls from the lines of the journal. Few calls matter to anybody, so lines are found by
 * their bytes, a batch at a time. Fields stand between tabs, which no text of a caller holds, and quotes in
 * JSON texts are escaped.
 */

export const kindOfDecision: Readonly<Record<Decision, EventKind>> = {
  ALLOW: 'decision.allow',
  DENY: 'decision.deny',
  SANITIZE: 'decision.sanitize',
  REQUIRE_APPROVAL: 'decision.require_approval',
};

const newline = 0x0a;
/** Bytes in front of the trace in a line. No other field begins with `{`. */
const traceStart = Buffer.from('\t{');
const bandName = Buffer.from('"risk_band":"');
const escalation = Buffer.from(',"escalate_to":[');

/** Decisions that somebody may want to be told of, with the lowest risk band that counts for each. */
export type WantedDecisions = ReadonlyMap<Decision, Band>;

/** Returns notices of the wanted and the escalated calls. Lines that cannot be read are skipped. */
export function noticesOfCalls(lines: Uint8Array, wanted: WantedDecisions): Notice[] {
  const bytes = Buffer.from(lines.buffer, lines.byteOffset, lines.byteLength);
  const starts = new Set<number>();
  for (const [decision, band] of wanted) {
    const found = new Set<number>();
    addLinesWith(bytes, Buffer.from(`\t${decision}\t`), found);
    for (const start of found) if (isGrave(bytes, start, band)) starts.add(start);
  }
  addLinesWith(bytes, escalation, starts);
  return [...starts].sort((a, b) => a - b).flatMap((start) => toNotices(bytes, start));
}

/** Tells whether the band of a line's trace is `least` or above. Text before the trace may be a caller's. */
function isGrave(bytes: Buffer, start: number, least: Band): boolean {
  if (least === 'LOW') return true;
  const at = bytes.indexOf(bandName, bytes.indexOf(traceStart, start)) + bandName.length;
  const band = bands.findIndex((it) => bytes.toString('latin1', at, at + it.length) === it);
  return band >= bands.indexOf(least);
}

/** Adds the starts of the lines that have `needle`. */
function addLinesWith(bytes: Buffer, needle: Buffer, starts: Set<number>): void {
  for (let at = bytes.indexOf(needle); at >= 0; ) {
    starts.add(at === 0 ? 0 : bytes.lastIndexOf(newline, at - 1) + 1);
    const end = bytes.indexOf(newline, at);
    at = end < 0 ? -1 : bytes.indexOf(needle, end);
  }
}

function toNotices(bytes: Buffer, start: number): Notice[] {
  const end = bytes.indexOf(newline, start);
  const call = parseLine(bytes.toString('utf8', start, end < 0 ? bytes.length : end));
  const trace = call && parseTrace(call.line);
  return call && trace ? [toNotice(call, trace)] : [];
}

function parseTrace(line: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const trace: unknown = JSON.parse(line);
    return typeof trace === 'object' && trace !== null ? (trace as Record<string, unknown>) : undefined;
  } catch {
    // The store reports lines that are not whole.
    return undefined;
  }
}

const shown = [
  ...[
    'trace_id',
    'at',
    'tenant_id',
    'env_name',
    'agent_id',
    'agent_name',
    'registered_name',
    'entrance',
    'method',
    'url',
  ],
  ...['tool_name', 'operation', 'category', 'verb', 'decision', 'would_be', 'risk_score', 'risk_band'],
  ...['reason_codes', 'classifications', 'tags', 'policy_id', 'policy_name', 'rule_id', 'approval_id'],
  ...['message_of', 'explanation'],
] as const;

const sentences: Readonly<Record<Decision, string>> = {
  ALLOW: 'Allowed',
  DENY: 'Denied',
  SANITIZE: 'Sanitized',
  REQUIRE_APPROVAL: 'Waits for approval',
};

function toNotice(call: RecordedCall, trace: Readonly<Record<string, unknown>>): Notice {
  const { traceId, tenantId, agentId, atMs, decision } = call;
  // Texts of a trace were made safe before they were written.
  const agentName = storedName(trace['agent_name']);
  const registeredName = storedName(trace['registered_name']);
  const toolName = storedName(trace['tool_name']);
  const what = [toolName, factTextOf(trace['operation'])].filter((it) => it !== null).join(' ');
  const reasons = listOf(trace['reason_codes']).slice(0, 5).join(', ');
  const summary = `${sentences[decision]}: ${agentName ?? agentId}${what === '' ? '' : `, ${what}`}${reasons === '' ? '' : ` (${reasons})`}`;
  return {
    noticeId: traceId,
    kind: kindOfDecision[decision],
    atMs,
    severity: bandOf(trace['risk_band']),
    tenantId,
    envName: factTextOf(trace['env_name']),
    agentId,
    agentName,
    ...(registeredName === null ? {} : { registeredName }),
    toolName,
    summary: oneLine(ownName(summary)),
    data: cut(Object.fromEntries(shown.flatMap((name) => (name in trace ? [[name, trace[name]]] : [])))),
    escalateTo: listOf(trace['escalate_to']),
  };
}

const bandOf = (value: unknown): Band => bands.find((it) => it === value) ?? 'LOW';
