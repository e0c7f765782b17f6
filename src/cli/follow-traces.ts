import { setTimeout as sleep } from 'node:timers/promises';
import type { Client, Page } from './client.ts';
import { note } from './output.ts';

export type Trace = Readonly<Record<string, unknown>> & { readonly trace_id: string; readonly at: string };

type Filter = Readonly<Record<string, string | undefined>>;

const url = '/v1/traces';
const pollMs = 1000;
/** How late a trace may become findable, whichever node it comes from. */
const latenessMs = 3000;
const tracesMaxPerPoll = 10_000;

/**
 * The last traces (0 to 1000), and then those that become findable, without an end; the older ones of each look first. What it remembers
 * are the ids of the last seconds.
 */
export async function* followTraces(
  client: Client,
  filter: Filter,
  last: number,
): AsyncGenerator<readonly Trace[]> {
  const seen = new Map<string, number>();
  // Whatever the filter leaves out: by the clock of the gateway, this is when we came.
  const { items: newest } = await client.get<Page<Trace>>(url, { limit: '1' });
  const startMs = newestOf(newest, 0);
  let newestMs = startMs;
  for (const { trace_id } of newest) seen.set(trace_id, startMs);
  if (last > 0) {
    const { items } = await client.get<Page<Trace>>(url, { ...filter, limit: String(last) });
    for (const { trace_id, at } of items) seen.set(trace_id, Date.parse(at));
    yield items.toReversed();
  }
  for (;;) {
    await sleep(pollMs);
    const fromMs = Math.max(startMs, newestMs - latenessMs);
    for (const [id, atMs] of seen) if (atMs < fromMs) seen.delete(id);
    const found = await readFrom(client, { ...filter, from: new Date(fromMs).toISOString() });
    const fresh = found.filter((it) => !seen.has(it.trace_id));
    for (const { trace_id, at } of fresh) seen.set(trace_id, Date.parse(at));
    newestMs = newestOf(fresh, newestMs);
    yield fresh.toReversed();
  }
}

const newestOf = (traces: readonly Trace[], atLeastMs: number): number =>
  traces.reduce((newestMs, { at }) => Math.max(newestMs, Date.parse(at)), atLeastMs);

async function readFrom(client: Client, filter: Filter): Promise<readonly Trace[]> {
  const found: Trace[] = [];
  for await (const page of client.pages<Trace>(url, filter)) {
    found.push(...page);
    if (found.length < tracesMaxPerPoll) continue;
    note('Too many calls at once: some are left out here; "postern trace export" has them all.');
    break;
  }
  return found;
}
