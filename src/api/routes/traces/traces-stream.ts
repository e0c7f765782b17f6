import { z } from 'zod';
import { isTraceId, timeOfTraceId } from '../../../core/ids.ts';
import type { Store, TraceFilter } from '../../../state/store.ts';
import { matchesTrace } from '../../../state/traces/filter.ts';
import { eventStream, type Following, lookMs, opening, streamsMax } from '../../event-stream.ts';
import { invalid } from '../../fields/invalid.ts';
import { toFilter, traceFilterQuery } from '../../fields/trace-query.ts';
import { routesOf } from '../../route.ts';

const route = routesOf('activity');

/** Missed traces that a client can still get. */
const missedMax = 1_000;
const missedPagesMax = 40;
const missedPerPage = 50;
/** Characters of missed traces, as many as a follower may have waiting. Agents decide how long traces are. */
const missedCharsMax = 1024 * 1024;
const missedAtOnce = 16;
/** Milliseconds by which a trace may be older than a client's last one and yet become findable after it. */
const latenessMs = 2_000;

/** `GET /v1/traces/stream` streams traces of all nodes as they become findable, until one side ends it. */
export const streamTraces = route('GET /v1/traces/stream', {
  summary: 'Follow traces as server-sent events',
  access: 'activity:read',
  query: z.object({
    ...traceFilterQuery,
    last_event_id: z
      .string()
      .max(64)
      .optional()
      .describe('Where Last-Event-ID cannot be sent: goes on behind this trace, up to 1,000 traces back.'),
  }),
  answer: z
    .string()
    .describe(
      'Events: `trace` with the trace as data and its id as id, `gap` where some are left out, `end` with the reason.',
    ),
  answerTypes: ['text/event-stream'],
  ...streamsMax,
  async handle(request) {
    const { query, headers } = request;
    const last = query.last_event_id ?? headers['last-event-id'];
    if (query.answer !== undefined)
      throw invalid([
        { path: 'answer', message: 'answers come after their calls; GET /v1/traces takes this' },
      ]);
    if (last !== undefined && !isTraceId(last))
      throw invalid([{ path: 'last_event_id', message: 'must be the id of an event of this stream' }]);
    return eventStream(request, ['activity:read'], tracesSince(request, toFilter(query), last));
  },
});

async function* tracesSince(
  { gate, tenantId: tenantOf }: Following,
  filter: TraceFilter,
  last: string | undefined,
): AsyncGenerator<string> {
  const tenantId = tenantOf();
  const follower = await gate.traceFeed.follow(tenantId, (trace) => matchesTrace(filter, trace));
  try {
    const missed = await missedOf(gate.store, tenantId, filter, last);
    yield opening;
    if (missed.hasGap) yield gap;
    const told = new Set(missed.traces.map(idOf));
    // Traces are let go of as they are sent, so a client that does not read makes the daemon hold no more.
    while (missed.traces.length > 0) yield missed.traces.splice(0, missedAtOnce).map(toEvent).join('');
    for (;;) {
      const { traces, hasGap } = await follower.next(lookMs);
      // The follower began before the missed traces were looked up, so it may bring some of them again.
      const fresh = told.size === 0 ? traces : traces.filter((trace) => !told.delete(idOf(trace)));
      yield `${fresh.map(toEvent).join('')}${hasGap ? gap : ''}`;
    }
  } finally {
    follower.leave();
  }
}

const gap = 'event: gap\ndata: {"detail":"Some traces are left out here; GET /v1/traces has them."}\n\n';

/** Returns a trace as a server-sent event. JSON text has no line breaks, which would end the data. */
const toEvent = (trace: string): string => `id: ${idOf(trace)}\nevent: trace\ndata: ${trace}\n\n`;

const idMember = /"trace_id":"([0-9a-f-]{36})"/;
const idOf = (trace: string): string => idMember.exec(trace)?.[1] ?? '';

/** Returns the missed traces, older ones first. Of too many it returns the last ones, with `hasGap`. */
async function missedOf(
  store: Pick<Store, 'listTraces'>,
  tenantId: string,
  filter: TraceFilter,
  last: string | undefined,
) {
  const traces: string[] = [];
  if (last === undefined) return { traces, hasGap: false };
  const fromMs = (timeOfTraceId(last) ?? 0) - latenessMs;
  let cursor: string | undefined;
  let chars = 0;
  for (let pages = 0; ; pages += 1) {
    const limit = Math.min(missedPerPage, missedMax - traces.length);
    const page = await store.listTraces(tenantId, { ...filter, fromMs }, { limit, cursor });
    for (const it of page.items) {
      if (idOf(it) === last) continue;
      traces.push(it);
      chars += it.length;
    }
    const isEnd = page.nextCursor === null;
    const isFull = traces.length >= missedMax || chars >= missedCharsMax;
    if (isEnd || isFull || pages >= missedPagesMax) return { traces: traces.reverse(), hasGap: !isEnd };
    cursor = page.nextCursor;
  }
}
