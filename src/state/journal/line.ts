import { GatewayError } from '../../errors.ts';
import type { RecordedCall } from '../store.ts';

/*
 * A line of the journal: a JSON array of what the store needs beside the trace, a tab, the trace as JSON, a newline. JSON text
 * has neither raw tabs nor newlines in it, so nothing that a caller writes can end its line.
 */

export function toLine(call: RecordedCall): string {
  if (call.line.includes('\n')) throw new GatewayError('INTERNAL', 'A trace is one line.');
  const { traceId, tenantId, agentId, atMs, decision, destination } = call;
  return `${JSON.stringify([traceId, tenantId, agentId, atMs, decision, destination])}\t${call.line}\n`;
}

/** The call of a line without its newline, or undefined where the line is not whole. */
export function parseLine(text: string): RecordedCall | undefined {
  const tab = text.indexOf('\t');
  if (tab === -1 || !text.endsWith('}')) return undefined;
  try {
    const [traceId, tenantId, agentId, atMs, decision, destination] = JSON.parse(text.slice(0, tab));
    return { traceId, tenantId, agentId, atMs, decision, destination, line: text.slice(tab + 1) };
  } catch {
    return undefined;
  }
}
