import type { TraceFilter } from '../store.ts';
import { type TraceLine, traceLines, traceLinesWith } from './lines.ts';

/** Tells whether a trace, as JSON text, matches the filter. Neither times nor answers are looked at. */
export function matchesTrace(filter: TraceFilter, line: string): boolean {
  const { text } = filter;
  if (text !== undefined && !line.toLowerCase().includes(text.toLowerCase())) return false;
  const wanted = wantedFields(filter);
  // Parsing is what costs, and most lists ask for everything.
  if (wanted.length === 0) return true;
  const trace = JSON.parse(line) as Record<string, unknown>;
  return wanted.every(([name, value]) => {
    const found = trace[name];
    return Array.isArray(found) ? found.includes(value) : found === value;
  });
}

/**
 * Returns a function that finds the lines of a chunk that may match; all that `matchesTrace` takes are among
 * them. A wanted value stands in a trace as JSON writes it. So the bytes of a chunk tell which lines are
 * worth parsing. A search for rare values passes the rest at the speed of a search for bytes.
 */
export function createSearch(filter: TraceFilter): (lines: Buffer) => Iterable<TraceLine> {
  const [rarest, ...others] = wantedFields(filter).map(([, value]) => Buffer.from(JSON.stringify(value)));
  const text = filter.text?.toLowerCase();
  if (rarest)
    return (lines) => (others.every((it) => lines.includes(it)) ? traceLinesWith(lines, rarest) : []);
  if (text === undefined) return traceLines;
  return (lines) => (lines.toString('utf8').toLowerCase().includes(text) ? traceLines(lines) : []);
}

/**
 * Returns the members of a trace that the filter asks for, each with the value that it must equal or, as a
 * list, contain. The rarest come first.
 */
function wantedFields(filter: TraceFilter): [name: string, value: string][] {
  const fields: [string, string | undefined][] = [
    ['tags', filter.tag],
    ['reason_codes', filter.reason],
    ['classifications', filter.dataClass],
    ['agent_id', filter.agentId],
    ['operation', filter.operation],
    ['tool_name', filter.toolName],
    ['risk_band', filter.band],
    ['decision', filter.decision],
  ];
  return fields.filter((it): it is [string, string] => it[1] !== undefined);
}
