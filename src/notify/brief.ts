import type { EventKind } from '../config/sections/notifications.ts';
import type { Band } from '../core/call.ts';
import type { Message } from './notice.ts';

/*
 * Puts a message into the words that people read, before any channel has dressed it. Titles and labels are
 * the gateway's own. Summaries and values hold what strangers have chosen. They are plain text here, and each
 * channel escapes them in its own way.
 */

export interface Brief {
  /** Title in the gateway's own words, which may stand where nothing can be escaped. */
  readonly title: string;
  readonly severity: Band;
  /** A line of at most 420 characters. */
  readonly summary: string;
  /** Facts to show, at most 13 of them. */
  readonly facts: readonly Fact[];
  /** A command that decides, for channels without buttons; undefined where there is nothing to decide. */
  readonly hint: string | undefined;
}

export interface Fact {
  /** A word of the gateway's own. */
  readonly label: string;
  /** A line of at most 200 characters; a held call's method and URL have 380. */
  readonly value: string;
}

const titles: Readonly<Record<EventKind, readonly [one: string, many: string]>> = {
  'decision.allow': ['Call allowed', 'calls allowed'],
  'decision.deny': ['Call denied', 'calls denied'],
  'decision.sanitize': ['Call sanitized', 'calls sanitized'],
  'decision.require_approval': ['Approval needed', 'approvals needed'],
  'approval.decided': ['Approval decided', 'approvals decided'],
  'approval.expired': ['Approval expired', 'approvals expired'],
  'incident.opened': ['Incident opened', 'incidents opened'],
  'incident.changed': ['Incident changed', 'changes of incidents'],
  'key.created': ['Key created', 'keys created'],
  'key.revoked': ['Key revoked', 'keys revoked'],
  'usage.threshold': ['Usage threshold reached', 'usage thresholds reached'],
  'feed.failed': ['Threat feed failed', 'failures of threat feeds'],
  'config.reloaded': ['Configuration reloaded', 'reloads of the configuration'],
  'gateway.error': ['Gateway error', 'gateway errors'],
};

const summaryLengthMax = 300;
const valueLengthMax = 200;
/** Bound on method and URL of a held call. Escaped, this is what a field of Slack or Discord takes. */
const callLengthMax = 380;
const tracesShownMax = 4;

export function toBrief({ notice, count, digest }: Message): Brief {
  const [one, many] = titles[notice.kind];
  const summary = plain(notice.summary, summaryLengthMax);
  const isDigest = count > 1;
  return {
    title: isDigest ? `${count} ${many}` : one,
    severity: notice.severity,
    summary: isDigest ? toDigest(spanOf(count, digest), summary) : summary,
    facts: factsOf(notice, digest?.traceIds ?? []),
    hint: hintOf(notice.kind, approvalIdOf({ notice, count }), isDigest),
  };
}

const toDigest = (span: string, first: string): string =>
  first === '' ? `${span}.` : `${span}. The first: ${first}`;

function spanOf(count: number, digest: Message['digest']): string {
  if (!digest) return `${count} in one message`;
  return `${count} from ${toTime(digest.firstMs)} to ${toTime(digest.lastMs)}`;
}

/** Returns a time as people read it, such as `2026-11-22 20:15:00 UTC`. */
export const toTime = (ms: number): string =>
  `${new Date(ms).toISOString().slice(0, 19).replace('T', ' ')} UTC`;

function factsOf(notice: Message['notice'], traceIds: readonly string[]): Fact[] {
  const { data } = notice;
  const isAsked = notice.kind === 'decision.require_approval' && traceIds.length === 0;
  const reasons = Array.isArray(data['reason_codes']) ? data['reason_codes'].filter(isText) : [];
  const more = traceIds.length - tracesShownMax;
  const shown = traceIds.slice(0, tracesShownMax).join(', ');
  const all: readonly (readonly [string, unknown])[] = [
    ['Severity', notice.severity],
    ['Agent', notice.agentName ?? notice.agentId],
    // An agent chooses its name, so whoever decides sees its registered name and its id as well.
    ['Registered as', notice.registeredName],
    ['Agent id', notice.agentName === null ? undefined : notice.agentId],
    ['Call', isAsked ? callOf(data) : undefined],
    ['Tool', [notice.toolName, data['operation']].filter(isText).join(' ')],
    ['Reasons', reasons.join(', ')],
    ['Decided by', data['decided_by']],
    ['Environment', notice.envName],
    ['Tenant', notice.tenantId],
    ['Time', toTime(notice.atMs)],
    traceIds.length > 0
      ? ['Traces', more > 0 ? `${shown} and ${more} more` : shown]
      : ['Trace', data['trace_id']],
    ['Approval', data['approval_id']],
  ];
  return all.flatMap(([label, value]) => {
    const lengthMax = label === 'Call' ? callLengthMax : valueLengthMax;
    const text = isText(value) ? plain(value, lengthMax) : '';
    return text === '' ? [] : [{ label, value: text }];
  });
}

const callOf = ({ method, url }: Readonly<Record<string, unknown>>): string =>
  [method, url].filter(isText).join(' ');

/** Tells whether a message shows the whole URL of its call, so that nothing is decided on a beginning. */
export const showsCall = ({ notice }: Message): boolean => callOf(notice.data).length <= callLengthMax;

const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Returns the approval that a message asks for; undefined where it asks for none, or for several. */
export function approvalIdOf({ notice, count }: Pick<Message, 'notice' | 'count'>): string | undefined {
  const id = notice.data['approval_id'];
  const isAsked = notice.kind === 'decision.require_approval' && count === 1;
  return isAsked && isText(id) && uuid.test(id) ? id : undefined;
}

function hintOf(kind: EventKind, approvalId: string | undefined, isDigest: boolean): string | undefined {
  if (approvalId !== undefined)
    return `postern approval approve ${approvalId}, or postern approval deny ${approvalId}`;
  return kind === 'decision.require_approval' && isDigest ? 'postern approval list' : undefined;
}

/** Matches control characters, those that turn direction or have no width, separators, lone surrogates. */
const unprintable = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\s]+/gu;

/** Returns a text as one visible line of at most `lengthMax` UTF-16 units; a cut one ends in an ellipsis. */
export function plain(text: string, lengthMax: number): string {
  const line = text.replace(unprintable, ' ').trim();
  if (line.length <= lengthMax) return line;
  // Half of a surrogate pair must not be left at the end.
  return `${line.slice(0, lengthMax - 1).replace(/[\ud800-\udbff]$/, '')}…`;
}
