import { type Mistake, mistakeSentence } from '../config/checks/mistakes.ts';
import type { Config } from '../config/schema.ts';
import type { Store } from '../state/store.ts';
import { openStateOf } from './stored-state.ts';

/** An agent that a key or a route names and that `agents` of the file lacks. */
interface NamedAgent {
  readonly path: string;
  readonly tenantId: string;
  readonly agentId: string;
  /** Tells whether a daemon does not start without it. The agent of a route with keys may come later. */
  readonly isNeeded: boolean;
}

function agentsElsewhere({ agents, keys, inbound }: Config): readonly NamedAgent[] {
  const known = new Set(agents.map((it) => it.id));
  const named = [
    ...keys.map((it, at) => ({ ...it, path: `keys[${at}].agent`, isNeeded: true })),
    ...[...inbound.values()].map((it, at) => ({
      ...it,
      path: `inbound[${at}].agent`,
      isNeeded: it.auth.type !== 'key',
    })),
  ];
  return named.flatMap(({ path, tenantId, agentId, isNeeded }) =>
    agentId === null || known.has(agentId) ? [] : [{ path, tenantId, agentId, isNeeded }],
  );
}

interface UnknownAgents {
  /** Mistakes for which a daemon refuses to start. */
  readonly mistakes: readonly Mistake[];
  readonly warnings: readonly string[];
}

/**
 * Looks in the state for the agents that the file names and does not have. Where there is no state yet, none
 * is known. Where it cannot be read, for example because a daemon has it, that is a warning.
 */
export async function findUnknownAgents(config: Config): Promise<UnknownAgents> {
  const named = agentsElsewhere(config);
  const warn = (agents: readonly NamedAgent[], message: string): readonly string[] =>
    agents.map(({ path }) => mistakeSentence({ path, line: undefined, message }));
  if (named.length === 0) return { mistakes: [], warnings: [] };
  let unknown: readonly NamedAgent[];
  try {
    const store = await openStateOf(config);
    unknown = store ? await unknownTo(store, named) : named;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const message = `does not stand in agents:, and whether the state knows it cannot be told: ${reason}`;
    return { mistakes: [], warnings: warn(named, message) };
  }
  const message = 'there is no such agent, neither in agents: nor in the state';
  return {
    mistakes: unknown.filter((it) => it.isNeeded).map(({ path }) => ({ path, line: undefined, message })),
    warnings: warn(
      unknown.filter((it) => !it.isNeeded),
      message,
    ),
  };
}

async function unknownTo(store: Store, named: readonly NamedAgent[]): Promise<readonly NamedAgent[]> {
  try {
    const unknown: NamedAgent[] = [];
    for (const it of named) {
      const agent = await store.agentById(it.agentId);
      if (agent?.tenantId !== it.tenantId) unknown.push(it);
    }
    return unknown;
  } finally {
    await store.close();
  }
}
