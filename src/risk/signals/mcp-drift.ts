import type { ToolConcern, ToolConcernKind } from '../../core/call.ts';
import { joined, ownName, type SafeName, safely } from '../../core/safe-name.ts';
import type { SignalEngine } from './engine.ts';

/**
 * The score of each concern alone. A tool that is new or changed and bad as well is worse (`scoreOfConcern`).
 */
const scoreOf: Readonly<Record<ToolConcernKind, number>> = {
  injected: 0.9,
  changed: 0.8,
  risky: 0.6,
  unread: 0.6,
  added: 0.5,
};
const sentenceOf: Readonly<Record<ToolConcernKind, string>> = {
  added: 'it was not on the list before',
  changed: 'its definition has changed',
  risky: 'it asks for what no tool needs, such as the system prompt or the conversation',
  injected: 'its definition gives orders to the agent',
  unread: 'the list of tools could not be read to its end',
};
const namedMax = 8;

/**
 * Reports tools of an MCP server that are not what they were when the tenant's agents came to know them. It
 * counts by the weight of the correlation, because calls of all agents, one after the other, have shown the
 * change.
 */
export const mcpDrift: SignalEngine = {
  name: 'correlation',
  assess({ admission: { toolConcerns } }) {
    if (toolConcerns.length === 0) return undefined;
    return {
      engine: 'correlation',
      name: 'MCP_TOOL_DRIFT',
      score: Math.max(...toolConcerns.map(scoreOfConcern)),
      details: joined(toolConcerns.slice(0, namedMax).map(describe), '; '),
    };
  },
};

function scoreOfConcern({ kinds }: ToolConcern): number {
  const isNew = kinds.includes('changed') || kinds.includes('added');
  const isBad = kinds.includes('injected') || kinds.includes('risky');
  return isNew && isBad ? 1 : Math.max(...kinds.map((it) => scoreOf[it]));
}

const describe = ({ tool, kinds, sinceMs }: ToolConcern): SafeName => {
  const named = tool === '*' ? safely`some tool of this server` : safely`tool ${tool}`;
  const said = ownName(kinds.map((it) => sentenceOf[it]).join(', '));
  return safely`${named}: ${said} (since ${ownName(new Date(sinceMs).toISOString())})`;
};
