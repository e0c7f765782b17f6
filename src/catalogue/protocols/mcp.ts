import { isObject } from '../body-path.ts';
import type { OperationSummary } from '../load/summary.ts';
import type { MessageMeaning } from './message-meaning.ts';

/*
 * Messages of the Model Context Protocol, as a client sends them (specification of 2025-06-18). A call of a
 * tool has the name that the server gives the tool. Only the server knows what its tool does, so the call
 * counts as WRITE.
 */

type Meaning = Pick<OperationSummary, 'name' | 'category' | 'verb'>;

const read = (name: string, category: string): Meaning => ({ name, category, verb: 'READ' });

const methods: ReadonlyMap<string, Meaning> = new Map([
  ['initialize', read('initialize', 'session')],
  ['ping', read('ping', 'session')],
  ['tools/list', read('list_tools', 'tools')],
  ['resources/list', read('list_resources', 'resources')],
  ['resources/templates/list', read('list_resource_templates', 'resources')],
  ['resources/read', read('read_resource', 'resources')],
  ['resources/subscribe', read('subscribe_resource', 'resources')],
  ['resources/unsubscribe', read('unsubscribe_resource', 'resources')],
  ['prompts/list', read('list_prompts', 'prompts')],
  ['prompts/get', read('get_prompt', 'prompts')],
  ['completion/complete', read('complete', 'prompts')],
  ['logging/setLevel', { name: 'set_log_level', category: 'session', verb: 'WRITE' }],
]);

/** Matches tool names that a rule can use. */
const toolName = /^[\w.:/-]{1,128}$/;

/**
 * Returns the meaning of a message; undefined for what the protocol lacks. An answer has no `method`: it
 * carries content, for instance to a server that asks for a completion.
 */
export function mcpMeaning(
  method: string | undefined,
  { params, result, error }: Record<string, unknown>,
): MessageMeaning | undefined {
  const meaning =
    method === undefined ? answer(result ?? error) : (methods.get(method) ?? further(method, params));
  return meaning && { toolName: 'mcp', ...meaning };
}

const answer = (content: unknown): Meaning | undefined =>
  content === undefined ? undefined : { name: 'answer', category: 'messages', verb: 'WRITE' };

function further(method: string, params: unknown): Meaning | undefined {
  if (method.startsWith('notifications/')) return read('notify', 'session');
  if (method !== 'tools/call') return undefined;
  const name = isObject(params) ? params['name'] : undefined;
  const isNamed = typeof name === 'string' && toolName.test(name);
  return { name: isNamed ? name : 'call_tool', category: 'tools', verb: 'WRITE' };
}

/** Operations of the protocol. A call of a tool without a usable name is `call_tool`. */
export const mcpOperations: readonly OperationSummary[] = [
  ...[...methods].map(([method, meaning]) => ({ ...meaning, calls: [`rpc ${method}`] })),
  { name: 'call_tool', category: 'tools', verb: 'WRITE', calls: ['rpc tools/call'] },
  { name: 'notify', category: 'session', verb: 'READ', calls: ['rpc notifications/*'] },
  { name: 'listen', category: 'session', verb: 'READ', calls: ['GET'] },
  { name: 'end_session', category: 'session', verb: 'WRITE', calls: ['DELETE'] },
  { name: 'answer', category: 'messages', verb: 'WRITE', calls: ['an answer to a request of the server'] },
  { name: 'unclear', category: 'messages', verb: 'ADMIN', calls: ['what servers may read differently'] },
];
