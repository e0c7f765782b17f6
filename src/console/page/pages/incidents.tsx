import { useState } from 'preact/hooks';
import type { Incident, TimelineEntry } from '../../../api/answers.ts';
import { bands } from '../../../core/verdict.ts';
import { useNames } from '../data/agents.ts';
import { call, may, post } from '../data/api.ts';
import { useList, useOne } from '../data/pages.ts';
import { useAction } from '../data/resource.ts';
import { go, href, place } from '../data/route.ts';
import { BandBadge, Card, Empty, Facts, PageHead, Problem, Skeleton, Status, Time } from '../kit/bits.tsx';
import { Act, Choice, Form } from '../kit/form.tsx';
import { List } from '../kit/list.tsx';
import { IncidentForm } from './incident-form.tsx';

const statuses = ['open', 'investigating', 'closed'] as const;
const codes = [
  'false_positive',
  'agent_misbehavior',
  'agent_compromised',
  'policy_gap',
  'infrastructure',
] as const;
const refreshMs = 15_000;

/** Shows what somebody must look into. */
export default function Incidents() {
  const [shown] = place.value.parts;
  return shown === undefined ? <IncidentList /> : <IncidentDetail key={shown} incidentId={shown} />;
}

function IncidentList() {
  const { query } = place.value;
  const names = useNames();
  const { status, severity, agent_id } = query;
  const list = useList<Incident>(
    '/v1/incidents',
    { status, severity, agent_id },
    { everyMs: refreshMs, area: 'incident' },
  );
  const set = (name: string, value: string) => go(href('incidents', { ...query, [name]: value }));
  return (
    <>
      <PageHead
        title="Incidents"
        about="Opened by the gateway, by a rule with OPEN_INCIDENT, or by a person."
      >
        <Choice word="Status" value={status ?? ''} onChoose={(it) => set('status', it)}>
          {statuses.map((it) => (
            <option key={it}>{it}</option>
          ))}
        </Choice>
        <Choice word="Severity" value={severity ?? ''} onChoose={(it) => set('severity', it)}>
          {bands.map((it) => (
            <option key={it}>{it}</option>
          ))}
        </Choice>
        {may('incidents:write') && <IncidentForm onOpened={(id) => go(href(['incidents', id]))} />}
      </PageHead>
      <List
        of={list}
        stacks
        label="Incidents, newest first"
        keyOf={(it) => it.incident_id}
        columns={[
          { name: 'Severity', cell: (it) => <BandBadge of={it.severity} /> },
          { name: 'Status', cell: (it) => <Status of={it.status} /> },
          {
            name: 'Incident',
            kind: 'wide',
            cell: (it) => (
              <a class="clip" href={href(['incidents', it.incident_id])}>
                {it.title}
              </a>
            ),
          },
          { name: 'Agent', kind: 'extra', cell: (it) => names.get(it.agent_id) ?? it.agent_id.slice(0, 8) },
          { name: 'Calls', kind: 'extra number', cell: (it) => it.trace_count },
          { name: 'Opened', cell: (it) => <Time at={it.opened_at} /> },
        ]}
        empty={
          <Empty title="There is no incident." command="bin/postern incident open AGENT_ID 'What happened'">
            Attacks, sudden losses of trust and rules with OPEN_INCIDENT open one; so can you.
          </Empty>
        }
      />
    </>
  );
}

interface WithTimeline extends Incident {
  readonly timeline: readonly TimelineEntry[];
}

function IncidentDetail({ incidentId }: { incidentId: string }) {
  const names = useNames();
  const path = `/v1/incidents/${encodeURIComponent(incidentId)}`;
  const incident = useOne<WithTimeline>(path, {}, { everyMs: refreshMs, area: 'incident' });
  const it = incident.data;
  return (
    <>
      <PageHead title={it?.title ?? 'Incident'} list="incidents">
        {it && (
          <a class="button plain" href={href('activity', { agent_id: it.agent_id })}>
            Calls of the agent
          </a>
        )}
      </PageHead>
      <Problem of={incident.problem} again={incident.reload} />
      {incident.isLoading && <Skeleton lines={8} />}
      {it && (
        <div class="grid two">
          <Card title="Timeline">
            <Timeline steps={it.timeline} names={names} />
          </Card>
          <div class="stack">
            <Card title="State">
              <Facts
                of={[
                  ['Status', <Status key="s" of={it.status} />],
                  ['Severity', <BandBadge key="b" of={it.severity} />],
                  ['Trigger', it.trigger],
                  [
                    'Agent',
                    <a key="a" href={href(['agents', it.agent_id])}>
                      {names.get(it.agent_id) ?? it.agent_id}
                    </a>,
                  ],
                  ['Environment', it.env_name],
                  ['Calls', it.trace_count],
                  ['Opened', <Time key="o" at={it.opened_at} />],
                  ['Closed', it.closed_at && <Time key="c" at={it.closed_at} />],
                  ['As', it.close_code?.replaceAll('_', ' ')],
                  ['By', it.closed_by],
                ]}
              />
            </Card>
            {may('incidents:write') && <Moves incident={it} path={path} reload={incident.reload} />}
          </div>
        </div>
      )}
    </>
  );
}

function Timeline({ steps, names }: { steps: readonly TimelineEntry[]; names: ReadonlyMap<string, string> }) {
  return (
    <ol class="timeline">
      {steps.map((it) => (
        <li key={it.at + it.kind + (it.trace_id ?? it.text ?? '')} class={`step-${it.kind}`}>
          <span class="faint">
            <Time at={it.at} /> · {names.get(it.by) ?? it.by}
          </span>
          <div>
            {it.kind === 'opened' && 'opened it'}
            {it.kind === 'note' && <span class="said-text">{it.text}</span>}
            {it.kind === 'trace' && (
              <a href={href(['activity', it.trace_id ?? ''])}>made a call that belongs to it</a>
            )}
            {it.kind === 'transition' &&
              `moved it from ${it.from} to ${it.to}${it.code ? `: ${it.code.replaceAll('_', ' ')}` : ''}`}
            {it.kind === 'severity' && `set the severity from ${it.from} to ${it.to}`}
          </div>
        </li>
      ))}
    </ol>
  );
}

function Moves({ incident, path, reload }: { incident: Incident; path: string; reload: () => void }) {
  const [note, setNote] = useState('');
  const [code, setCode] = useState('');
  const addNote = useAction(async () => {
    await post(`${path}/notes`, { text: note.trim() });
    setNote('');
    reload();
  });
  const move = useAction(async (status: 'investigating' | 'closed') => {
    await post(`${path}/transition`, { status, ...(status === 'closed' ? { code } : {}) });
    reload();
  });
  const grade = useAction(async (severity: string) => {
    await call('PATCH', path, { body: { severity } });
    reload();
  });
  return (
    <Card title="What next">
      <div class="stack">
        <Problem of={move.problem ?? grade.problem} />
        <Form action={addNote}>
          <label>
            Note
            <textarea
              rows={3}
              required
              maxLength={1024}
              value={note}
              onInput={(event) => setNote(event.currentTarget.value)}
            />
          </label>
          <div>
            <button type="submit" class="plain" disabled={addNote.isRunning}>
              Add the note
            </button>
          </div>
        </Form>
        <label>
          Severity
          <select value={incident.severity} onChange={(event) => void grade.run(event.currentTarget.value)}>
            {bands.map((it) => (
              <option key={it}>{it}</option>
            ))}
          </select>
        </label>
        {incident.status === 'open' && (
          <div>
            <Act look="plain" isOff={move.isRunning} run={() => move.run('investigating')}>
              Begin to investigate
            </Act>
          </div>
        )}
        {incident.status !== 'closed' && (
          <div class="row end">
            <label>
              Close it as
              <select value={code} onChange={(event) => setCode(event.currentTarget.value)}>
                <option value="">Choose…</option>
                {codes.map((it) => (
                  <option key={it} value={it}>
                    {it.replaceAll('_', ' ')}
                  </option>
                ))}
              </select>
            </label>
            <Act isOff={move.isRunning || code === ''} run={() => move.run('closed')}>
              Close the incident
            </Act>
          </div>
        )}
      </div>
    </Card>
  );
}
