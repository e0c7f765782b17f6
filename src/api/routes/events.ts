import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import type { Permission } from '../../core/permissions.ts';
import type { AuditEntry } from '../../state/store.ts';
import { eventStream, type Following, opening, streamsMax } from '../event-stream.ts';
import { toIso } from '../fields/fields.ts';
import { invalid } from '../fields/invalid.ts';
import { lacking } from '../fields/permissions.ts';
import { type Caller, routesOf } from '../route.ts';

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
  async handle(request) {
    const last = request.query.last_event_id ?? readId(request.headers['last-event-id']);
    return eventStream(request, anyOf, changesSince(request, last));
  },
});

function readId(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw invalid([{ path: 'last_event_id', message: 'must be the id of an event of this stream' }]);
}

async function* changesSince(it: Following, last: number | undefined): AsyncGenerator<string> {
  const { store } = it.gate;
  const [tenantId, signal] = [it.tenantId(), it.signal()];
  const hears = hearingOf(it.caller);
  const { items } = await store.listAudit(tenantId, {}, { limit: 1, cursor: undefined });
  const newest = items[0]?.seq ?? 0;
  let seq = last ?? newest;
  yield opening;
  // A number that the log has not reached belongs to another log.
  if (seq > newest || newest - seq > missedMax) {
    seq = newest;
    yield gap;
  }
  while (!signal.aborted) {
    const entries = await store.auditAfter(tenantId, seq, entriesAtOnce);
    seq = entries.at(-1)?.seq ?? seq;
    yield entries
      .filter(({ kind }) => hears(kind))
      .map(toEvent)
      .join('');
    if (entries.length < entriesAtOnce) await sleep(pollMs, undefined, { signal }).catch(() => undefined);
  }
}

const gap = 'event: gap\ndata: {"detail":"Some changes are left out here; read the lists anew."}\n\n';

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
