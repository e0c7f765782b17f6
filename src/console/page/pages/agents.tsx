import { useState } from 'preact/hooks';
import type { Agent, Listing, Suspension, TraceRow } from '../../../api/answers.ts';
import { may, post, session } from '../data/api.ts';
import { useList, useOne } from '../data/pages.ts';
import { href, place } from '../data/route.ts';
import { now } from '../data/times.ts';
import {
  CallLink,
  Card,
  DecisionBadge,
  decisionWord,
  Empty,
  Facts,
  PageHead,
  Problem,
  Skeleton,
  Status,
  Time,
} from '../kit/bits.tsx';
import { Confirm } from '../kit/confirm.tsx';
import { List } from '../kit/list.tsx';
import { Table } from '../kit/table.tsx';
import { Trend } from '../kit/trend.tsx';
import { whyOf } from './activity/why.ts';

const refreshMs = 4000;

/** Shows who makes calls, and how far each is trusted. */
export default function Agents() {
  const [shown] = place.value.parts;
  return shown === undefined ? <AgentList /> : <AgentDetail key={shown} agentId={shown} />;
}

const withNote = (note: string) => (note === '' ? {} : { note });

function AgentList() {
  const list = useList<Agent>('/v1/agents', {}, { everyMs: refreshMs, area: 'agent' });
  const all = useOne<Suspension>('/v1/agents/suspension', {}, { everyMs: refreshMs, area: 'tenant' });
  const isSuspended = all.data?.status === 'suspended';
  const change = async (action: 'suspend' | 'reactivate', note: string) => {
    await post(`/v1/agents/${action}`, withNote(note));
    all.reload();
    list.reload();
  };
  return (
    <>
      <PageHead
        title="Agents"
        about="Trust begins at 1.0. Denials, threats and anomalies cost some; clean calls win it back."
      >
        {may('agents:write') && !isSuspended && (
          <Confirm
            word="Suspend all agents"
            says="Every call of every agent of this tenant is denied from the next one on, also of agents that come later. Only the admin secret ends it."
            run={(note) => change('suspend', note)}
            isDanger
            hasNote
            isSmall={false}
          />
        )}
        {isSuspended && session.value?.role === 'admin' && (
          <Confirm
            word="End the suspension"
            says="Agents may make calls again, save those that are suspended one by one."
            run={(note) => change('reactivate', note)}
            hasNote
            isSmall={false}
          />
        )}
      </PageHead>
      {isSuspended && (
        <p class="note warn" role="status">
          All agents have been suspended by {all.data?.by} <Time at={all.data?.since} />
          {all.data?.note && `: ${all.data.note}`}.
        </p>
      )}
      <List
        of={list}
        label="Agents"
        keyOf={(it) => it.agent_id}
        columns={[
          {
            name: 'Agent',
            kind: 'wide',
            cell: (it) => (
              <a class="clip" href={href(['agents', it.agent_id])}>
                {it.name}
              </a>
            ),
          },
          { name: 'Status', cell: (it) => <Status of={it.tenant_suspended ? 'suspended' : it.status} /> },
          { name: 'Trust', cell: (it) => <Trust of={it.trust_score} /> },
          {
            name: 'Trend',
            kind: 'extra',
            cell: (it) => <TrustTrend of={it} />,
          },
          { name: 'Environment', kind: 'extra', cell: (it) => it.env_name },
          { name: 'Runs on', kind: 'extra', cell: (it) => it.runtime_type ?? '—' },
          { name: 'Denied in 24 h', kind: 'extra number', cell: (it) => it.decisions_24h.DENY ?? 0 },
          { name: 'Calls', kind: 'extra number', cell: (it) => it.calls_total.toLocaleString('en') },
          { name: 'Seen', cell: (it) => <Time at={it.last_seen} /> },
        ]}
        empty={
          <Empty title="No agent is known yet." command="bin/postern key mint --name my-agent">
            An agent appears when a key is minted for it, or when it first makes a call.
          </Empty>
        }
      />
    </>
  );
}

/** Shows the trust before and after each loss, up to now. */
function TrustTrend({ of: { trust_trend: losses, trust_score: score }, isLarge }: TrendOfAgent) {
  const points = [...losses, { at: new Date(now.peek()).toISOString(), score }];
  const label = `Trust over time: ${points.map((it) => it.score.toFixed(2)).join(', ')}`;
  return <Trend points={points} label={label} isLarge={isLarge ?? false} />;
}

interface TrendOfAgent {
  readonly of: Agent;
  readonly isLarge?: boolean;
}

function Trust({ of }: { of: number }) {
  return (
    <span class="trust">
      <meter min={0} max={1} low={0.4} high={0.7} optimum={1} value={of} aria-hidden="true" />
      <span class="number">{of.toFixed(2)}</span>
    </span>
  );
}

function AgentDetail({ agentId }: { agentId: string }) {
  const path = `/v1/agents/${encodeURIComponent(agentId)}`;
  const agent = useOne<Agent>(path, {}, { everyMs: refreshMs, area: 'agent' });
  const it = agent.data;
  const change = async (action: string, note: string) => {
    await post(`${path}/${action}`, withNote(note));
    agent.reload();
  };
  return (
    <>
      <PageHead title={it?.name ?? 'Agent'} list="agents">
        {it && may('agents:write') && (
          <>
            {it.status === 'active' ? (
              <Confirm
                word="Suspend"
                says={`Every call of ${it.name} is denied from the next one on, until somebody reactivates it.`}
                run={(note) => change('suspend', note)}
                isDanger
                hasNote
                isSmall={false}
              />
            ) : (
              <Confirm
                word="Reactivate"
                says={`${it.name} may make calls again.`}
                run={(note) => change('reactivate', note)}
                hasNote
                isSmall={false}
              />
            )}
            <Confirm
              word="Reset trust"
              says={`What is held against ${it.name} is forgotten, and its trust is 1.0 again.`}
              run={(note) => change('reset-trust', note)}
              hasNote
              isSmall={false}
            />
          </>
        )}
      </PageHead>
      <Problem of={agent.problem} again={agent.reload} />
      {agent.isLoading && <Skeleton lines={8} />}
      {it && (
        <div class="grid two">
          <Card title="Trust">
            <div class="stack">
              <p class="row">
                <Trust of={it.trust_score} /> <Status of={it.tenant_suspended ? 'suspended' : it.status} />
                {it.tenant_suspended && <span class="faint">with all agents of the tenant</span>}
              </p>
              <TrustTrend of={it} isLarge />
              {it.trust_reasons.length === 0 ? (
                <p class="hint">Nothing is held against it.</p>
              ) : (
                <TrustReasons reasons={it.trust_reasons} score={it.trust_score} />
              )}
            </div>
          </Card>
          <Card title="About">
            <Facts
              of={[
                ['Id', <code key="i">{it.agent_id}</code>],
                ['Environment', it.env_name],
                ['Runs on', it.runtime_type],
                ['Calls', it.calls_total.toLocaleString('en')],
                ['First call', <Time key="f" at={it.first_seen} />],
                ['Last call', <Time key="l" at={it.last_seen} />],
                ...Object.entries(it.decisions_24h).map(
                  ([decision, count]) => [`${decisionWord(decision)} in 24 h`, count] as const,
                ),
              ]}
            />
          </Card>
        </div>
      )}
      {it && (
        <section class="section-gap">
          <LastCalls agentId={agentId} />
        </section>
      )}
    </>
  );
}

const lost = /\((-\d+(?:\.\d+)?), ([^,]+), trace ([0-9a-f-]{36})\)$/;

const reasonsShown = 5;

/** Shows what each reason took from the trust, newest first, and the trust now. */
function TrustReasons({ reasons, score }: { reasons: readonly string[]; score: number }) {
  const [isAll, setAll] = useState(false);
  return (
    <>
      <ul class="found trend">
        {reasons.slice(0, isAll ? undefined : reasonsShown).map((reason, index) => {
          const [, amount, at, traceId] = lost.exec(reason) ?? [];
          return (
            <li key={index}>
              <span class="number loss">{amount ?? ''}</span> {reason.replace(lost, '')}{' '}
              {at && (
                <span class="faint">
                  <Time at={at} />
                </span>
              )}{' '}
              {traceId && <a href={href(['activity', traceId])}>the call</a>}
            </li>
          );
        })}
        <li class="faint">Now {score.toFixed(2)}; clean calls win it back.</li>
      </ul>
      {!isAll && reasons.length > reasonsShown && (
        <div>
          <button type="button" class="small" onClick={() => setAll(true)}>
            Show all {reasons.length}
          </button>
        </div>
      )}
    </>
  );
}

function LastCalls({ agentId }: { agentId: string }) {
  const asked = { agent_id: agentId, limit: 12 };
  const calls = useOne<Listing<TraceRow>>('/v1/traces', asked, { everyMs: refreshMs });
  return (
    <Card title="Last calls" actions={<a href={href('activity', { agent_id: agentId })}>All its calls</a>}>
      <Problem of={calls.problem} />
      {calls.data?.items.length === 0 && <p class="hint">It has made no call yet.</p>}
      {(calls.data?.items.length ?? 0) > 0 && (
        <Table
          stacks
          label="Last calls of the agent"
          rows={calls.data?.items ?? []}
          keyOf={(it) => it.trace_id}
          columns={[
            { name: 'Time', cell: (it) => <Time at={it.at} isClock /> },
            { name: 'Decision', cell: (it) => <DecisionBadge of={it.decision} /> },
            {
              name: 'Call',
              kind: 'wide',
              cell: (it) => <CallLink of={it} to={href(['activity', it.trace_id])} />,
            },
            { name: 'Why', kind: 'extra', cell: whyOf },
          ]}
        />
      )}
    </Card>
  );
}
