import type { Client } from '../connection/client.ts';
import { printable } from '../output.ts';

/*
 * Judges messages between an MCP client and a server that speaks over standard input and output (MCP
 * 2025-06-18, Transports). What goes to the server is a call of `mcp://NAME`; what comes from it is an answer.
 */

/** What becomes of a message: the text that is passed on, or why it is not. */
export type Judged = { readonly text: string } | { readonly refusal: Refusal };

export interface Refusal {
  readonly message: string;
  /** What a client may show: the trace, the reasons, the approval that is waited for. */
  readonly data: Readonly<Record<string, unknown>>;
}

interface ScanAnswer {
  readonly decision?: string;
  readonly trace_id?: string;
  readonly reason_codes?: readonly string[];
  readonly approval_id?: string;
  readonly sanitized_body?: unknown;
  readonly explanation?: readonly string[];
}

interface ResponseScan {
  readonly injection?: { readonly detected?: boolean };
}

const headers = { 'content-type': 'application/json' };
/** Methods of the protocol have such names; others are judged as a message without a name. */
const methodName = /^[A-Za-z][\w.$-]{0,63}(?:\/[\w.$-]{1,64}){0,4}$/;

export interface McpJudge {
  /** Judges a message to the server. `onTrace` gets the id of its trace. */
  outgoing(text: string, method: string | undefined, onTrace: (traceId: string) => void): Promise<Judged>;
  /** Judges a message of the server; `traceId` is that of the request that it answers. */
  incoming(text: string, traceId: string | undefined): Promise<Judged>;
}

/** Creates a judge of messages to and from the server `name`. What cannot be judged is refused. */
export function createMcpJudge(client: Pick<Client, 'send'>, name: string): McpJudge {
  return {
    async outgoing(text, method, onTrace) {
      const place = method !== undefined && methodName.test(method) ? method : 'message';
      const call = { method: 'POST', url: `mcp://${name}/${place}`, headers, body: text };
      return orRefused(async () => {
        const answer = await client.send<ScanAnswer>('POST', '/v1/scan', call);
        if (answer.trace_id !== undefined) onTrace(answer.trace_id);
        if (answer.decision === 'ALLOW') return { text };
        const { sanitized_body: cut } = answer;
        if (answer.decision === 'SANITIZE' && typeof cut === 'string') return { text: cut };
        return { refusal: refusalOf(answer) };
      });
    },
    async incoming(text, traceId) {
      const asked = { response_body: text, headers, ...(traceId === undefined ? {} : { trace_id: traceId }) };
      return orRefused(async () => {
        const { injection } = await client.send<ResponseScan>('POST', '/v1/scan/response', asked);
        if (injection?.detected === false) return { text };
        const message = 'Postern withholds what the server sent: it gives orders to the agent that reads it.';
        return { refusal: { message, data: { trace_id: traceId, reason_codes: ['PROMPT_INJECTION'] } } };
      });
    },
  };
}

async function orRefused(judge: () => Promise<Judged>): Promise<Judged> {
  try {
    return await judge();
  } catch (error) {
    const message = `Postern cannot judge the message, so it does not pass: ${(error as Error).message}`;
    return { refusal: { message, data: {} } };
  }
}

function refusalOf({ decision, trace_id, reason_codes, approval_id, explanation = [] }: ScanAnswer): Refusal {
  const data = { decision, trace_id, reason_codes, approval_id, explanation };
  const why = explanation.map(printable).join(' ');
  if (decision === 'REQUIRE_APPROVAL' && approval_id !== undefined)
    return {
      message: `Postern holds the call until somebody approves it (postern approval approve ${printable(approval_id)}); then make it again. ${why}`,
      data,
    };
  return { message: `Postern does not let the call out. ${why}`, data };
}
