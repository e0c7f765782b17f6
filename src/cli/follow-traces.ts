import { setTimeout as sleep } from 'node:timers/promises';
import type { Listing, TraceRow } from '../api/answers.ts';
import type { Client } from './connection/client.ts';
import { note } from './output.ts';

type Filter = Readonly<Record<string, string | undefined>>;

const reopenMs = 1_000;
/** Ids that are remembered, so that what is told again after a break is shown once. */
const seenMax = 10_000;
/** Characters of one event; a trace is far below this. */
const eventCharsMax = 4 * 1024 * 1024;

/**
 * Yields the last traces (0 to 1000), and then without an end those that become findable on any node. Within
 * one look, older ones come first. Where the daemon ends the stream for a reason of its own, it is opened
 * again and goes on where it was.
 */
export async function* followTraces(
  client: Client,
  filter: Filter,
  last: number,
): AsyncGenerator<readonly TraceRow[]> {
  const seen = new Set<string>();
  const fresh = (traces: readonly TraceRow[]): readonly TraceRow[] =>
    traces.filter(({ trace_id }) => !seen.has(trace_id) && remember(seen, trace_id));
  let lastId: string | undefined;
  let isBegun = false;
  for (;;) {
    for await (const { event, data } of eventsOf(client, { ...filter, last_event_id: lastId })) {
      // The stream is open, so no trace is missed from here on.
      if (!isBegun && last > 0) {
        const query = { ...filter, limit: String(last) };
        const { items } = await client.get<Listing<TraceRow>>('/v1/traces', query);
        yield fresh(items).toReversed();
      }
      isBegun = true;
      if (event === 'gap') note('Some calls are left out here; "postern trace export" has them all.');
      if (event === 'end' && /"not_allowed"/.test(data))
        throw new Error('the key may not follow traces any more.');
      if (event !== 'trace') continue;
      const trace = JSON.parse(data) as TraceRow;
      lastId = trace.trace_id;
      yield fresh([trace]);
    }
    await sleep(reopenMs);
  }
}

function remember(seen: Set<string>, id: string): boolean {
  seen.add(id);
  if (seen.size > seenMax) for (const oldest of seen) return seen.delete(oldest);
  return true;
}

interface Event {
  /** Name of the event; '' for a comment. */
  readonly event: string;
  readonly data: string;
}

/** Yields server-sent events, and the comments between, as the daemon writes them: one line of data each. */
async function* eventsOf(client: Client, query: Filter): AsyncGenerator<Event> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of client.download('/v1/traces/stream', query)) {
    rest += decoder.decode(chunk, { stream: true });
    const blocks = rest.split('\n\n');
    rest = blocks.pop() ?? '';
    if (rest.length > eventCharsMax) throw new Error('the daemon sends an event without an end.');
    for (const block of blocks) yield { event: fieldOf(block, 'event'), data: fieldOf(block, 'data') };
  }
}

const fieldOf = (block: string, name: string): string =>
  block
    .split('\n')
    .find((it) => it.startsWith(`${name}: `))
    ?.slice(name.length + 2) ?? '';
