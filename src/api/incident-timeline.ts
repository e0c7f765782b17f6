import { z } from 'zod';
import { timeOfTraceId } from '../core/ids.ts';
import { gateway } from '../state/rules/incident.ts';
import type { IncidentRecord } from '../state/store.ts';
import { time, toIso } from './fields/fields.ts';

export const timelineEntry = z.object({
  at: time,
  kind: z.enum(['opened', 'trace', 'note', 'transition', 'severity']),
  by: z.string().describe('The gateway, a person, or the agent whose call it is'),
  trace_id: z.string().optional(),
  text: z.string().optional(),
  from: z.string().optional().describe('Status or severity before'),
  to: z.string().optional(),
  code: z.string().optional(),
});

type TimelineEntry = z.infer<typeof timelineEntry>;

/** Returns the kept history of an incident, oldest first. A trace that is added later has its call's time. */
export function timelineOf(it: IncidentRecord): TimelineEntry[] {
  const opened: TimelineEntry = { at: toIso(it.openedAtMs), kind: 'opened', by: it.openedBy ?? gateway };
  const traces = it.traceIds.map((trace_id): TimelineEntry => {
    const at = toIso(timeOfTraceId(trace_id) ?? it.openedAtMs);
    return { at, kind: 'trace', by: it.agentId, trace_id };
  });
  const notes = it.notes.map(
    ({ atMs, author, text }): TimelineEntry => ({ at: toIso(atMs), kind: 'note', by: author, text }),
  );
  const steps = (it.steps ?? []).map(({ atMs, ...step }): TimelineEntry => ({ at: toIso(atMs), ...step }));
  // All times are written alike, so their texts have the order of the times.
  return [opened, ...traces, ...notes, ...steps].sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0));
}
