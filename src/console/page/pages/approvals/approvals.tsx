import { useEffect, useRef, useState } from 'preact/hooks';
import { get, may } from '../../data/api.ts';
import { type Group, toGroups } from '../../data/groups.ts';
import { useResource } from '../../data/resource.ts';
import { href, place } from '../../data/route.ts';
import type { Approval, Page } from '../../data/types.ts';
import { pending, pendingProblem } from '../../data/waiting.ts';
import { Card, Empty, PageHead, Problem, Skeleton, Status, Time } from '../../kit/bits.tsx';
import { Table } from '../../kit/table.tsx';
import { Alerts } from './alerts.tsx';
import { ApprovalCard } from './approval-card.tsx';
import { type Choice, decide, type Told } from './decide.ts';
import { PastApproval } from './past-approval.tsx';
import { useKeys } from './use-keys.ts';
import '../../style/approvals.css';

const emptyCommand = `cat > ask.yaml <<'EOF'
name: ask-first
rules:
  - { rule_id: ask, match: { methods: [DELETE] }, action: REQUIRE_APPROVAL }
EOF
bin/postern policy apply ask.yaml`;

/** The calls that wait for a person, oldest first: what is decided here is so in Slack and on the command line as well. */
export default function Approvals() {
  const [shown] = place.value.parts;
  const items = pending.value;
  const groups = toGroups([...(items ?? [])].sort((a, b) => a.created_at.localeCompare(b.created_at)));
  const isWaiting =
    shown === undefined || groups.some((it) => it.approvals.some((own) => own.approval_id === shown));
  // What was opened while it waited stays in the queue when it ends: the queue says what became of it.
  const [opened] = useState(shown !== undefined && isWaiting ? shown : undefined);
  if (shown !== undefined && items !== undefined && !isWaiting && opened !== shown)
    return <PastApproval approvalId={shown} />;
  return (
    <>
      <PageHead
        title="Approvals"
        about="Calls that wait for a person. Deciding here, in Slack or on the command line is the same."
      >
        <Alerts count={items?.length ?? 0} />
      </PageHead>
      <Problem of={pendingProblem.value} />
      {items === undefined ? <Skeleton lines={8} /> : <Queue groups={groups} shown={shown} />}
      <Past />
    </>
  );
}

const holds = (group: Group, id: string | undefined): boolean =>
  group.key === id || group.approvals.some((it) => it.approval_id === id);

function Queue({ groups, shown }: { groups: readonly Group[]; shown: string | undefined }) {
  const [chosen, setChosen] = useState(shown);
  const [denying, setDenying] = useState<string>();
  const [said, setSaid] = useState<Told>({ text: '' });
  const isBusy = useRef(false);
  const index = Math.max(
    0,
    groups.findIndex((it) => holds(it, chosen)),
  );
  const current = groups[index];
  const decided = useRef(new Set<string>());
  const run = async (group: Group, choice: Choice) => {
    if (isBusy.current) return;
    isBusy.current = true;
    const next = groups[index + 1] ?? groups[index - 1];
    setDenying(undefined);
    decided.current = new Set(group.approvals.map((it) => it.approval_id));
    const told = await decide(group.approvals, choice);
    isBusy.current = false;
    setSaid(told);
    if (told.problem === undefined) setChosen(next?.key);
  };
  useKeys({
    groups,
    index,
    choose: (it) => setChosen(it.key),
    deny: (it) => setDenying(it.key),
    run: (it, choice) => void run(it, choice),
  });
  return (
    <>
      <Ended groups={groups} current={current} ownDecisions={decided.current} />
      <p class="said" role="status">
        {said.text}
      </p>
      <Problem of={said.problem} />
      {groups.length === 0 ? (
        <Empty title="No call waits for a person." command={emptyCommand}>
          A rule with action REQUIRE_APPROVAL holds calls, and so does a high risk. This one holds all
          deletes:
        </Empty>
      ) : (
        <ul class="queue">
          {groups.map((it) => (
            <li key={it.key}>
              <ApprovalCard
                group={it}
                isCurrent={it === current}
                isDenying={denying === it.key}
                onChoose={() => setChosen(it.key)}
                onDeny={(isOpen) => setDenying(isOpen ? it.key : undefined)}
                onDecide={(choice) => run(it, choice)}
              />
            </li>
          ))}
        </ul>
      )}
      {groups.length > 0 && may('approvals:decide') && (
        <p class="hint keys">
          <kbd>j</kbd> <kbd>k</kbd> next and previous · <kbd>a</kbd> approve once · <kbd>w</kbd> approve for
          the window · <kbd>d</kbd> deny with a note
        </p>
      )}
    </>
  );
}

interface EndedOf {
  readonly groups: readonly Group[];
  readonly current: Group | undefined;
  readonly ownDecisions: ReadonlySet<string>;
}

/** Says so when the call that is looked at has been decided elsewhere, or has run out. */
function Ended({ groups, current, ownDecisions }: EndedOf) {
  const seen = useRef<string | undefined>(undefined);
  const [ended, setEnded] = useState<string>();
  const key = groups.map((it) => it.key).join(' ');
  useEffect(() => {
    const before = seen.current;
    seen.current = current?.key;
    if (before === undefined || ownDecisions.has(before) || groups.some((it) => holds(it, before))) return;
    get<Approval>(`/v1/approvals/${before}`).then(
      (it) =>
        setEnded(
          it.status === 'expired'
            ? 'The call that you were looking at has run out: nobody decided in time, so it does not go out.'
            : `The call that you were looking at was ${it.status} by ${it.decided_by ?? 'somebody'}.`,
        ),
      () => undefined,
    );
  }, [key, current?.key]);
  return (
    <p class={ended === undefined ? 'hidden' : 'note'} role="status">
      {ended}
    </p>
  );
}

/** What was decided lately. */
function Past() {
  const past = useResource('past', (signal) => get<Page<Approval>>('/v1/approvals', { limit: 50 }, signal), {
    everyMs: 15_000,
    area: 'approval',
  });
  const rows = (past.data?.items ?? []).filter((it) => it.status !== 'pending').slice(0, 20);
  if (rows.length === 0) return null;
  return (
    <section class="past">
      <Card title="Decided lately">
        <Table
          label="Approvals that were decided or have run out"
          rows={rows}
          keyOf={(it) => it.approval_id}
          columns={[
            { name: 'Status', cell: (it) => <Status of={it.status} /> },
            {
              name: 'Call',
              kind: 'wide',
              cell: (it) => (
                <a class="clip call" href={href(['approvals', it.approval_id])} title={it.url}>
                  <span class="method">{it.method}</span> {it.url}
                </a>
              ),
            },
            { name: 'Agent', kind: 'extra', cell: (it) => it.agent_name },
            { name: 'By', kind: 'extra', cell: (it) => <span class="clip by">{it.decided_by ?? '—'}</span> },
            { name: 'When', cell: (it) => <Time at={it.decided_at ?? it.expires_at} /> },
          ]}
        />
      </Card>
    </section>
  );
}
