import { type ClassifiedCall, type Operation, operationAndParts } from '../../core/call.ts';
import { type Target, toAuthority } from '../../core/target.ts';
import type { McpCall } from '../../state/store.ts';
import { bodyValue } from './body.ts';

/* The catalogue's classification of a call, in the terms of the memory of MCP tools. */

/**
 * The names of servers that speak over standard input and output, as `postern mcp-server run` takes them and
 * as hosts of `mcp://`.
 */
export const pipedServerName = '[a-z][a-z0-9-]{0,63}';

type Done = Omit<Operation, 'parts'>;

const isOfMcp = ({ toolName }: Done): boolean => toolName === 'mcp';
const isToolCall = (it: Done): boolean => isOfMcp(it) && it.category === 'tools' && it.verb === 'WRITE';
const isToolList = (it: Done): boolean => isOfMcp(it) && it.name === 'list_tools' && it.verb === 'READ';

/** Tells whether `is` holds for the operation or for one of its parts. It is asked for every call. */
const does = (operation: Operation | undefined, is: (it: Done) => boolean): boolean =>
  operation !== undefined && (is(operation) || (operation.parts?.some((it) => is(it.operation)) ?? false));

/** Returns the identity of a server. Its path is left out, since it may change with every session. */
export const serverOrigin = ({ scheme, host, port }: Target): string =>
  `${scheme}://${toAuthority(scheme, host, port)}`;

/** Returns the tools of a server that are called; undefined where there are none. */
export function mcpCallOf(operation: Operation, target: Target): McpCall | undefined {
  if (!does(operation, isToolCall)) return undefined;
  const tools = new Set(
    operationAndParts(operation)
      .filter(isToolCall)
      .map(({ name }) => name),
  );
  return { origin: serverOrigin(target), tools: [...tools] };
}

export const speaksMcp = ({ operation }: ClassifiedCall): boolean => does(operation, isOfMcp);

/** Tells whether the call asks the server for its tools. */
export const asksForTools = ({ operation }: ClassifiedCall): boolean => does(operation, isToolList);

/** Tells whether the call asks for a further page of the tools. */
export function asksForFurtherPage(call: ClassifiedCall, maxDecodedBytes: number): boolean {
  const body = bodyValue(call.received, maxDecodedBytes);
  const messages = body.kind === 'value' ? body.readings.flat() : [];
  return messages.some((it) => {
    const { method, params } = (it ?? {}) as { method?: unknown; params?: { cursor?: unknown } | null };
    return method === 'tools/list' && params?.cursor !== undefined && params.cursor !== null;
  });
}
