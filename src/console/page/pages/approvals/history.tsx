import type { Agent, Listing, TraceRow } from '../../../../api/answers.ts';
import { get } from '../../data/api.ts';
import { useResource } from '../../data/resource.ts';
import { href } from '../../data/route.ts';
import { withoutTraces } from '../../data/words.ts';
import { DecisionBadge, decisionWord, Facts, Skeleton, Time } from '../../kit/bits.tsx';

/** Shows what else the agent has done: its trust, its day, and its last calls to the same tool. */
export function History({ agentId, toolName }: { agentId: string; toolName: string }) {
  const history = useResource(`${agentId} ${toolName}`, async (signal) => {
    const [agent, calls] = await Promise.all([
      get<Agent>(`/v1/agents/${agentId}`, {}, signal),
      get<Listing<TraceRow>>('/v1/traces', { agent_id: agentId, tool_name: toolName, limit: 5 }, signal),
    ]);
    return { agent, calls: calls.items };
  });
  if (!history.data)
    return history.isLoading ? (
      <Skeleton lines={4} />
    ) : (
      <p class="hint">The history of the agent cannot be shown.</p>
    );
  const { agent, calls } = history.data;
  const day = Object.entries(agent.decisions_24h)
    .filter(([, count]) => count > 0)
    .map(([name, count]) => `${count} ${decisionWord(name).toLowerCase()}`)
    .join(', ');
  return (
    <div class="stack history">
      <h2>The agent before</h2>
      <Facts
        of={[
          ['Trust', agent.trust_score.toFixed(2)],
          ['Held against it', agent.trust_reasons.slice(0, 3).map(withoutTraces).join('; ')],
          ['Last 24 hours', day || 'no calls'],
          ['Known since', <Time key="t" at={agent.first_seen} />],
        ]}
      />
      <ul class="found">
        {calls.map((it) => (
          <li key={it.trace_id}>
            <DecisionBadge of={it.decision} />{' '}
            <a class="call" href={href(['activity', it.trace_id])}>
              {it.method} {it.operation}
            </a>{' '}
            <span class="faint">
              <Time at={it.at} />
            </span>
          </li>
        ))}
      </ul>
    </div>
  );
}
