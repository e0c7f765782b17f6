import type { Operation, Unclear } from '../../core/call.ts';
import { isObject } from '../body-path.ts';
import type { OperationSummary, ToolSummary } from '../load/summary.ts';
import { verbOf } from '../meaning.ts';
import { together } from '../parts.ts';
import { splitPath } from '../paths.ts';
import { headerValues, type Request } from '../request.ts';
import { a2aMeaning, a2aOperations, cardPaths } from './a2a.ts';
import { mcpMeaning, mcpOperations } from './mcp.ts';
import type { MessageMeaning } from './message-meaning.ts';

/*
 * Protocols that are spoken at any host: messages of JSON-RPC 2.0 between an agent and a server of tools
 * (MCP), or between two agents (A2A). They are told by their methods, because their hosts are not known.
 */

/** The protocols as tools, which have no hosts of their own. */
export const protocols: readonly ToolSummary[] = [
  protocol('mcp', 'Model Context Protocol', mcpOperations),
  protocol('a2a', 'Agent2Agent protocol', a2aOperations),
];

function protocol(name: string, title: string, operations: readonly OperationSummary[]): ToolSummary {
  return {
    ...{ name, title, hosts: [], operations, fields: [] },
    operationNames: operations.map((it) => it.name),
    // Servers name their tools, and agents their methods, as they like.
    takesOtherNames: true,
    categories: [...new Set(operations.map(({ category }) => category))],
    takesOtherCategories: false,
  };
}

const messagesMax = 100;
const versionLetters = 'jsonrpc';
const versionName = '"jsonrpc"';
const version = '"2.0"';
const versionInAnyCase = /"jsonrpc"/iu;
/**
 * Beginnings of escapes for letters of the name. The common beginning is looked for first: most bodies lack
 * it.
 */
const escapesOfName = ['\\u006', '\\u007'];
const anyEscape = '\\u00';

/** Returns the operation of the messages in a request; undefined where it has none of a known protocol. */
export function messagesOf(request: Request, method: string): Operation | undefined {
  const known = method === 'POST' ? inBody(request) : withoutBody(request, method);
  if (known.length === 0) return undefined;
  const [first, ...others] = known.map((it) => ({ operation: { principals: [], ...it, resource: {} } }));
  return first && (others.length === 0 ? first.operation : together([first, ...others]));
}

function withoutBody({ target, headers }: Request, method: string): readonly MessageMeaning[] {
  const card = `/${splitPath(target.path)?.slice(-2).join('/')}`;
  if (cardPaths.includes(card))
    return [{ toolName: 'a2a', name: 'agent_card', category: 'messaging', verb: verbOf(method) }];
  const hasSession = headerValues(headers, 'mcp-session-id').length > 0;
  if (!hasSession || (method !== 'GET' && method !== 'DELETE')) return [];
  // Streamable HTTP: a GET waits for what the server has to say, a DELETE ends the session.
  const name = method === 'GET' ? 'listen' : 'end_session';
  return [{ toolName: 'mcp', name, category: 'session', verb: method === 'GET' ? 'READ' : 'WRITE' }];
}

function inBody(request: Request): readonly MessageMeaning[] {
  // Every message has this name, which may be written with escapes. Most bodies lack it and are done with
  // here.
  const mentions = (text: string): boolean => request.mentions(text);
  // Looking for letters takes a tenth of the time that looking for a quote does: a body has many quotes.
  const isNamed =
    (mentions(versionLetters) && mentions(versionName)) ||
    (mentions(version) && versionInAnyCase.test(request.bodyText() ?? ''));
  if (!isNamed && !(mentions(anyEscape) && escapesOfName.some(mentions))) return [];
  const body = request.bodyValue();
  if (body.kind === 'none') return [];
  const readings = body.kind === 'value' ? body.readings : [];
  const messages = readings.flatMap((it) => (Array.isArray(it) ? it.slice(0, messagesMax + 1) : [it]));
  const isClear = body.kind === 'value' && messages.length <= messagesMax;
  if (!isClear) return [unclear];
  const meanings = messages.map((it) =>
    isObject(it) && (it['jsonrpc'] === '2.0' || hasOddName(it, ['jsonrpc'])) ? meaningOf(it) : undefined,
  );
  // A message that no protocol has, or that lacks its version, does not make the others harmless.
  return meanings.some(Boolean) ? meanings.map((it) => it ?? unclear) : [];
}

const fieldNames = ['jsonrpc', 'method', 'params', 'result', 'error'];

/** Tells whether servers may take a field for one of these: Go's decoder reads names in any case. */
const hasOddName = (fields: object, names: readonly string[]): boolean =>
  Object.keys(fields).some((name) =>
    names.some((it) => it.length === name.length && it !== name && it === folded(name)),
  );

/** Folds a name as Unicode does: `ſ` is an `s`, and the sign of kelvins a `k`. */
const folded = (name: string): string => name.toUpperCase().toLowerCase();

function meaningOf(message: Record<string, unknown>): MessageMeaning | undefined {
  const { method, params } = message;
  if (hasOddName(message, fieldNames)) return unclear;
  if (method === 'tools/call' && isObject(params) && hasOddName(params, ['name'])) return unclear;
  if (method !== undefined && typeof method !== 'string') return undefined;
  const a2a = method === undefined ? undefined : a2aMeaning(method, params);
  if (a2a) return a2a;
  return mcpMeaning(method, message);
}

/** The meaning of a body that servers may read differently, so it may be any message. */
const unclear: MessageMeaning = {
  ...{ toolName: 'mcp', name: 'unclear', category: 'messages', verb: 'ADMIN' },
  unclear: { toolNames: ['a2a'], anyMethod: false },
};

/** The note on a call to any host whose body may have messages that nobody sees. */
export const ofProtocols: Unclear = { toolNames: ['mcp', 'a2a'], anyMethod: false };

/**
 * Tells whether the body may have messages in another character set, in which their letters are not found.
 */
export const mayHideMessages = (request: Request, method: string): boolean =>
  method === 'POST' && request.isInOtherCharset() && request.bodyValue().kind === 'unclear';
