import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Approval } from '../../../../api/answers.ts';
import { may } from '../../data/api.ts';
import type { Group } from '../../data/groups.ts';
import { href } from '../../data/route.ts';
import { now, toCountdown } from '../../data/times.ts';
import { reasonWord } from '../../data/words.ts';
import { BandBadge, Time } from '../../kit/bits.tsx';
import { Act } from '../../kit/form.tsx';
import { Body } from './body.tsx';
import type { Choice } from './decide.ts';
import { History } from './history.tsx';

interface CardOf {
  readonly group: Group;
  readonly isCurrent: boolean;
  readonly isDenying: boolean;
  /** Note for the record, whatever is decided; undefined where none is written. */
  readonly note: string | undefined;
  readonly onNote: (text: string) => void;
  readonly onChoose: () => void;
  readonly onDeny: (isOpen: boolean) => void;
  readonly onDecide: (choice: Choice) => Promise<void>;
}

const soonMs = 60_000;

/** Shows one call, or several that differ in one argument. */
export function ApprovalCard(props: CardOf) {
  const { group, isCurrent, onChoose } = props;
  const [first] = group.approvals;
  const element = useRef<HTMLElement>(null);
  const isFirst = useRef(true);
  useEffect(() => {
    // The page begins at its head. Whoever goes on to the next call is led there.
    if (isCurrent && !isFirst.current) element.current?.scrollIntoView({ block: 'nearest' });
    isFirst.current = false;
  }, [isCurrent]);
  if (!first) return null;
  const leftMs = Math.min(...group.approvals.map((it) => Date.parse(it.expires_at))) - now.value;
  const count = group.approvals.length;
  return (
    <article
      ref={element}
      class={isCurrent ? 'card approval current' : 'card approval'}
      aria-current={isCurrent ? 'true' : undefined}
    >
      <div class="approval-head">
        <button type="button" class="ghost title" aria-expanded={isCurrent} onClick={onChoose}>
          {count > 1 && <span class="count">{count} calls</span>} <span class="method">{first.method}</span>{' '}
          <span class="mono">{first.url}</span>
        </button>
        <span class={leftMs < soonMs ? 'left soon' : 'left'} title="Then it has run out, and does not go out">
          {toCountdown(leftMs)} left
        </span>
      </div>
      <p class="approval-line">
        <a href={href(['agents', first.agent_id])}>{first.agent_name}</a> · {first.tool_name} ›{' '}
        {first.operation} · <BandBadge of={first.risk_band} score={first.risk_score} /> ·{' '}
        <Time at={first.created_at} />
      </p>
      {group.difference && <Differs group={group} />}
      {isCurrent && <Opened group={group} first={first} />}
      {isCurrent && may('approvals:decide') && <Buttons {...props} count={count} first={first} />}
    </article>
  );
}

function Differs({ group }: { group: Group }) {
  const { difference } = group;
  if (!difference) return null;
  const counts = new Map<string, number>();
  for (const it of difference.values) counts.set(it, (counts.get(it) ?? 0) + 1);
  return (
    <p class="differs">
      <span class="faint">They differ in</span> <code>{difference.place}</code>{' '}
      {[...counts].map(([value, count]) => (
        <span key={value} class="tag">
          {value}
          {count > 1 && ` ×${count}`}
        </span>
      ))}
    </p>
  );
}

function Opened({ group, first }: { group: Group; first: Approval }) {
  return (
    <div class="opened">
      <div class="stack">
        <p class="hint">
          {first.reason_codes.map(reasonWord).join(' · ')}
          {first.rule_id && ` · rule ${first.rule_id}`}
        </p>
        <Body
          text={first.body_preview}
          bytes={first.body_bytes}
          findings={first.findings}
          isWebSocket={first.opens_websocket}
        />
        <p class="hint">
          <a href={href(['activity', first.trace_id])}>The whole trace</a>
          {group.approvals.length > 1 && ` of the first of ${group.approvals.length}`}
        </p>
      </div>
      <History agentId={first.agent_id} toolName={first.tool_name} />
    </div>
  );
}

interface ButtonsOf extends Pick<CardOf, 'isDenying' | 'note' | 'onNote' | 'onDeny' | 'onDecide'> {
  readonly count: number;
  readonly first: Approval;
}

function Buttons({ count, first, isDenying, note, onNote, onDeny, onDecide }: ButtonsOf) {
  const [isRunning, setRunning] = useState(false);
  const run = async (choice: Choice) => {
    setRunning(true);
    await onDecide(choice);
    setRunning(false);
  };
  if (isDenying)
    return (
      <DenyForm
        count={count}
        first={note ?? ''}
        isRunning={isRunning}
        back={() => onDeny(false)}
        deny={run}
      />
    );
  const each = count === 1 ? '' : `Each of the ${count} calls by itself. Of the first: `;
  return (
    <>
      {note !== undefined && <Note text={note} onText={onNote} />}
      <div class="row">
        <Act isOff={isRunning} run={() => run({ decision: 'approved', scope: 'once' })}>
          Approve once {count > 1 && `(${count})`} <kbd>a</kbd>
        </Act>
        <Act look="plain" isOff={isRunning} run={() => run({ decision: 'approved', scope: 'window' })}>
          Approve for {first.covers.lasts} <kbd>w</kbd>
        </Act>
        <button type="button" class="plain" onClick={() => onDeny(true)}>
          Deny… <kbd>d</kbd>
        </button>
        {note === undefined && (
          <button type="button" class="ghost" onClick={() => onNote('')}>
            Add a note <kbd>n</kbd>
          </button>
        )}
      </div>
      <dl class="hint covers">
        <dt>Once</dt>
        <dd>{each + first.covers.once}</dd>
        <dt>For {first.covers.lasts}</dt>
        <dd>{each + first.covers.window}</dd>
      </dl>
    </>
  );
}

function Note({ text, onText }: { text: string; onText: (text: string) => void }) {
  const input = useRef<HTMLInputElement>(null);
  // The field has the focus at once: what is typed next must not be taken for a key that decides.
  useLayoutEffect(() => input.current?.focus(), []);
  return (
    <label>
      Note, for the agent and the record
      <input
        ref={input}
        value={text}
        maxLength={1024}
        onInput={(event) => onText(event.currentTarget.value)}
        // Without the focus, the keys that decide work again.
        onKeyDown={(event) => /^(Escape|Enter)$/.test(event.key) && event.currentTarget.blur()}
      />
    </label>
  );
}

interface DenyOf {
  readonly count: number;
  /** The note that was written before. */
  readonly first: string;
  readonly isRunning: boolean;
  readonly back: () => void;
  readonly deny: (choice: Choice) => Promise<void>;
}

function DenyForm({ count, first, isRunning, back, deny }: DenyOf) {
  const [note, setNote] = useState(first);
  const input = useRef<HTMLInputElement>(null);
  // The field has the focus at once: what is typed next must not be taken for a key that decides.
  useLayoutEffect(() => input.current?.focus(), []);
  return (
    <form
      class="row end"
      onSubmit={(event) => {
        event.preventDefault();
        void deny({ decision: 'denied', note });
      }}
    >
      <label class="grow">
        Why, for the agent and the record (may stay empty)
        <input
          ref={input}
          value={note}
          maxLength={1024}
          onInput={(event) => setNote(event.currentTarget.value)}
          onKeyDown={(event) => event.key === 'Escape' && back()}
        />
      </label>
      <button type="submit" class="danger" disabled={isRunning}>
        Deny {count > 1 && `all ${count}`}
      </button>
      <button type="button" class="plain" onClick={back}>
        Back
      </button>
    </form>
  );
}
