import type { TraceFilter } from '../store.ts';

/** Whether a trace, as JSON text, is one of those asked for. Times are not looked at here: the id has them. */
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

/** Members of a trace, some of them lists, and what they must be or have in them. */
function wantedFields(filter: TraceFilter): [name: string, value: string | undefined][] {
  const fields: [string, string | undefined][] = [
    ['agent_id', filter.agentId],
    ['tool_name', filter.toolName],
    ['operation', filter.operation],
    ['decision', filter.decision],
    ['risk_band', filter.band],
    ['reason_codes', filter.reason],
    ['classifications', filter.dataClass],
    ['tags', filter.tag],
  ];
  return fields.filter(([, value]) => value !== undefined);
}
