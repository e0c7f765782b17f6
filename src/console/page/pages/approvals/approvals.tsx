import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Approval, Listing } from '../../../../api/answers.ts';
import { get, may } from '../../data/api.ts';
import { type Group, toGroups } from '../../data/groups.ts';
import { useOne } from '../../data/pages.ts';
import { href, place } from '../../data/route.ts';
import { pending, pendingProblem, readPending } from '../../data/waiting.ts';
import { CallLink, Card, Empty, PageHead, Problem, Skeleton, Status, Time } from '../../kit/bits.tsx';
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

/** Shows waiting calls, oldest first. A decision here counts in Slack and on the command line as well. */
export default function Approvals() {
  const [shown] = place.value.parts;
  const items = pending.value;
  useEffect(() => void readPending(), []);
  const isWaiting = shown === undefined || (items ?? []).some((it) => it.approval_id === shown);
  // An approval that was opened while it waited stays in the queue when it ends. The queue says what became
  // of it.
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
      {items === undefined ? (
        !pendingProblem.value && <Skeleton lines={8} />
      ) : (
        <Queue items={items} shown={shown} />
      )}
      <Past />
    </>
  );
}

const idsOf = (group: Group): readonly string[] => group.approvals.map((it) => it.approval_id);

/**
 * Returns the cards, and which one is open. The open card keeps the calls that it had when it was opened, so
 * that a decision covers what was seen. When these end, no other card is opened in its place.
 */
function useQueue(items: readonly Approval[], shown: string | undefined) {
  const [chosen, setChosen] = useState<readonly string[] | undefined>(
    shown === undefined ? undefined : [shown],
  );
  const sorted = [...items].sort((a, b) => a.created_at.localeCompare(b.created_at));
  const groups = toGroups(sorted, chosen);
  // The first card is open from the first moment on, so that nothing is scrolled to.
  const [first] = groups;
  const open = chosen ?? (first && idsOf(first));
  const index = groups.findIndex((it) => it.approvals.some((own) => open?.includes(own.approval_id)));
  useLayoutEffect(() => {
    if (chosen === undefined && first) setChosen(idsOf(first));
  });
  return { groups, index, current: groups[index], chosen, setChosen };
}

function Queue({ items, shown }: { items: readonly Approval[]; shown: string | undefined }) {
  const { groups, index, current, chosen, setChosen } = useQueue(items, shown);
  const [denying, setDenying] = useState<readonly string[]>();
  const [noted, setNoted] = useState<{ readonly of: readonly string[] | undefined; readonly text: string }>();
  const note = noted !== undefined && noted.of === chosen ? noted.text : undefined;
  const [said, setSaid] = useState<Told>({ text: '' });
  const isBusy = useRef(false);
  const decided = useRef<ReadonlySet<string>>(new Set());
  const choose = (group: Group) => group !== current && setChosen(idsOf(group));
  const run = async (group: Group, choice: Choice) => {
    if (isBusy.current) return;
    isBusy.current = true;
    const next = groups[index + 1] ?? groups[index - 1];
    setDenying(undefined);
    decided.current = new Set(idsOf(group));
    const text = (choice.note ?? note ?? '').trim();
    const told = await decide(group.approvals, { ...choice, ...(text === '' ? {} : { note: text }) });
    isBusy.current = false;
    setSaid(told);
    if (told.problem !== undefined) {
      decided.current = new Set();
      return;
    }
    // Whoever has chosen another card meanwhile stays there.
    setChosen((now) => (now === chosen ? next && idsOf(next) : now));
  };
  useKeys({
    groups,
    index,
    choose,
    deny: () => setDenying(chosen),
    note: () => setNoted({ of: chosen, text: note ?? '' }),
    run: (it, choice) => void run(it, choice),
  });
  const isGone = current === undefined && !chosen?.some((it) => decided.current.has(it));
  return (
    <>
      <Ended id={isGone ? chosen?.[0] : undefined} hasOthers={groups.length > 0} />
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
            <li key={it === current ? (chosen?.[0] ?? it.key) : it.key}>
              <ApprovalCard
                group={it}
                isCurrent={it === current}
                isDenying={it === current && denying === chosen}
                note={it === current ? note : undefined}
                onNote={(text) => setNoted({ of: chosen, text })}
                onChoose={() => choose(it)}
                onDeny={(isOpen) => setDenying(isOpen ? chosen : undefined)}
                onDecide={(choice) => run(it, choice)}
              />
            </li>
          ))}
        </ul>
      )}
      {groups.length > 0 && may('approvals:decide') && (
        <p class="hint keys">
          <kbd>j</kbd> <kbd>k</kbd> next and previous · <kbd>a</kbd> approve once · <kbd>w</kbd> approve for
          the window · <kbd>n</kbd> add a note · <kbd>d</kbd> deny
        </p>
      )}
    </>
  );
}

/** Says that the call that was looked at has been decided elsewhere, or has run out. */
function Ended({ id, hasOthers }: { id: string | undefined; hasOthers: boolean }) {
  const [ended, setEnded] = useState<Approval>();
  useEffect(() => {
    if (id === undefined) return;
    get<Approval>(`/v1/approvals/${encodeURIComponent(id)}`).then(setEnded, () => undefined);
  }, [id]);
  return (
    <p class={id === undefined ? 'hidden' : 'note'} role="status">
      {id !== undefined && (
        <>
          {ended?.approval_id === id ? endOf(ended) : 'The call that you were looking at has ended.'}
          {hasOthers && ' No other is open until you choose it.'}
        </>
      )}
    </p>
  );
}

function endOf({ status, decided_by: by }: Approval): string {
  if (status === 'pending') return 'The call that you were looking at is not in this list any more.';
  return status === 'expired'
    ? 'The call that you were looking at has run out: nobody decided in time, so it does not go out.'
    : `The call that you were looking at was ${status} by ${by ?? 'somebody'}.`;
}

/** Shows what was decided lately. */
function Past() {
  const every = { everyMs: 15_000, area: 'approval' } as const;
  const past = useOne<Listing<Approval>>('/v1/approvals', { limit: 50 }, every);
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
              cell: (it) => <CallLink of={it} to={href(['approvals', it.approval_id])} />,
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
