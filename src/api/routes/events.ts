import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import type { Permission } from '../../core/permissions.ts';
import type { AuditEntry } from '../../state/store.ts';
import { toIso } from '../fields/fields.ts';
import { invalid } from '../fields/invalid.ts';
import { lacking } from '../fields/permissions.ts';
import { type Caller, routesOf, StreamedAnswer } from '../route.ts';
import { endingOf, heartbeatMs, type Lasting, retryMs, streamsMax, toEnd } from '../stream-end.ts';

const route = routesOf('activity');

/*
 * Tells of changes as the audit log has them. That is one log of all nodes in one order, and an entry is
 * written in the same step as its change. So every console is told the same, wherever it is connected, and
 * goes on after a break where it was.
 */

/** Milliseconds between two looks at the log. */
const pollMs = 400;
const entriesAtOnce = 100;
/** Changes that a client may have missed and still be told of. Beyond that it reads its lists anew. */
const missedMax = 250;

/** The kinds of changes that each permission lets its holder hear of; the first permission covers all. */
const heardWith: readonly (readonly [Permission, (kind: string) => boolean])[] = [
  ['activity:read', () => true],
  ['approvals:decide', (kind) => kind.startsWith('approval.')],
  ['incidents:write', (kind) => kind.startsWith('incident.')],
];
const anyOf = heardWith.map(([permission]) => permission);

/** `GET /v1/events` streams the changes that the audit log names, as they are made on any node. */
export const streamEvents = route('GET /v1/events', {
  summary: 'Follow changes as server-sent events',
  access: anyOf,
  query: z.object({
    last_event_id: z.coerce
      .number()
      .int()
      .min(0)
      .optional()
      .describe('Where Last-Event-ID cannot be sent: goes on behind this event, up to 250 events back.'),
  }),
  answer: z
    .string()
    .describe(
      'Events by the area of their audit kind (`approval`, `incident`, `agent`, `policy`, …) with `kind`, `id`, `at`, `by` and, where there are any, `status`, `agent_id` and `trace_id` as data; `gap` where some are left out, `end` with the reason.',
    ),
  answerTypes: ['text/event-stream'],
  ...streamsMax,
  async handle({ gate, caller, query, headers, clientAddress, nowMs, tenantId, signal }) {
    const last = query.last_event_id ?? readId(headers['last-event-id']);
    const following = {
      gate,
      caller,
      clientAddress,
      nowMs,
      anyOf,
      tenantId: tenantId(),
      last,
      signal: signal(),
    };
    return new StreamedAnswer('text/event-stream', eventsOf(following), ['X-Accel-Buffering', 'no']);
  },
});

function readId(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw invalid([{ path: 'last_event_id', message: 'must be the id of an event of this stream' }]);
}

interface Following extends Lasting {
  readonly tenantId: string;
  readonly last: number | undefined;
  readonly signal: AbortSignal;
}

async function* eventsOf(it: Following): AsyncGenerator<string> {
  const { gate, tenantId, signal } = it;
  const hears = hearingOf(it.caller);
  const newest = await newestOf(it);
  let seq = it.last ?? newest;
  yield `retry: ${retryMs}\n: following\n\n`;
  // A number that the log has not reached belongs to another log.
  if (seq > newest || newest - seq > missedMax) {
    seq = newest;
    yield gap;
  }
  const endOf = endingOf(it);
  let spokeAtMs = performance.now();
  while (!signal.aborted) {
    const entries = await gate.store.auditAfter(tenantId, seq, entriesAtOnce);
    seq = entries.at(-1)?.seq ?? seq;
    const events = entries.filter(({ kind }) => hears(kind)).map(toEvent);
    const isSilent = events.length === 0;
    if (!isSilent || performance.now() - spokeAtMs >= heartbeatMs) {
      spokeAtMs = performance.now();
      yield isSilent ? ':\n\n' : events.join('');
    }
    if (entries.length < entriesAtOnce) await sleep(pollMs, undefined, { signal }).catch(() => undefined);
    const end = await endOf();
    if (end !== undefined) {
      yield toEnd(end);
      return;
    }
  }
}

const gap = 'event: gap\ndata: {"detail":"Some changes are left out here; read the lists anew."}\n\n';

async function newestOf({ gate, tenantId }: Following): Promise<number> {
  const { items } = await gate.store.listAudit(tenantId, {}, { limit: 1, cursor: undefined });
  return items[0]?.seq ?? 0;
}

function hearingOf(caller: Caller): (kind: string) => boolean {
  if (caller.kind !== 'key') return () => true;
  const heard = heardWith.filter(([permission]) => !lacking(caller.key, [permission]));
  return (kind) => heard.some(([, hears]) => hears(kind));
}

/** Returns a change as a server-sent event. JSON text has no line breaks, which would end the data. */
function toEvent({ seq, kind, subject, atMs, operator, details }: AuditEntry): string {
  const textOf = (name: string): string | undefined => {
    const value = details[name];
    return typeof value === 'string' ? value : undefined;
  };
  const data = {
    kind,
    id: subject,
    at: toIso(atMs),
    by: operator,
    status: textOf('decision') ?? textOf('status'),
    agent_id: textOf('agent_id'),
    trace_id: textOf('trace_id'),
  };
  const [area = ''] = kind.split('.', 1);
  return `id: ${seq}\nevent: ${area}\ndata: ${JSON.stringify(data)}\n\n`;
}
