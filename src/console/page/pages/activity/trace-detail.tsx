import type { ComponentChildren } from 'preact';
import type { ShownTrace } from '../../../../api/answers.ts';
import { may } from '../../data/api.ts';
import { useOne } from '../../data/pages.ts';
import { go, href } from '../../data/route.ts';
import { toAbsolute } from '../../data/times.ts';
import { reasonWord, withoutTraces } from '../../data/words.ts';
import {
  BandBadge,
  Copy,
  DecisionBadge,
  decisionWord,
  Facts,
  Problem,
  Skeleton,
  Time,
} from '../../kit/bits.tsx';
import { Marked } from '../../kit/marked.tsx';
import { AnswerBadge, Answers } from './answers.tsx';
import { LetThrough } from './let-through.tsx';
import { Request } from './request.tsx';

/** Shows one call: what it was, what became of it, and why. */
export function TraceDetail({ traceId, back }: { traceId: string; back: string }) {
  const trace = useOne<ShownTrace>(`/v1/traces/${encodeURIComponent(traceId)}`);
  const it = trace.data;
  return (
    <article class="detail" aria-label="The chosen call">
      <div class="detail-head">
        <div class="row">{it && <Outcome trace={it} />}</div>
        <div class="row">
          <Copy text={location.href} label="Copy link" />
          <button type="button" class="ghost small" aria-label="Close the call" onClick={() => go(back)}>
            ✕
          </button>
        </div>
      </div>
      <Problem of={trace.problem} again={trace.reload} />
      {trace.isLoading && <Skeleton lines={10} />}
      {it && (
        <>
          <h2 class="mono">
            <span class="method">{it.method}</span> <Marked text={it.url} />
          </h2>
          <Why trace={it} />
          {(it.decision === 'DENY' || it.decision === 'REQUIRE_APPROVAL') && <LetThrough trace={it} />}
          <Request trace={it} />
          <Signals trace={it} />
          <Rules rules={it.matched_rules} decidedBy={it.rule_id} />
          <CallFacts trace={it} />
          <Answers scans={it.response_scans ?? []} />
          <details>
            <summary>The whole record</summary>
            <pre class="text">{JSON.stringify(it, null, 2)}</pre>
          </details>
        </>
      )}
    </article>
  );
}

function Outcome({ trace: it }: { trace: ShownTrace }) {
  return (
    <>
      <DecisionBadge of={it.decision} />
      {it.would_be && <span class="badge">would be {decisionWord(it.would_be).toLowerCase()}</span>}
      <AnswerBadge scans={it.response_scans ?? []} />
      {it.risk_band && <BandBadge of={it.risk_band} score={it.risk_score} />}
    </>
  );
}

function Part({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <section>
      <h3>{title}</h3>
      {children}
    </section>
  );
}

const verbs = { ALLOW: 'let out', SANITIZE: 'sanitized', REQUIRE_APPROVAL: 'held', DENY: 'denied' } as const;

function Why({ trace }: { trace: ShownTrace }) {
  const lines = trace.explanation ?? (trace.detail ? [trace.detail] : []);
  return (
    <Part title={`Why it was ${verbs[trace.decision]}`}>
      <ul class="why">
        {lines.map((it) => (
          <li key={it}>
            <Marked text={withoutTraces(it)} />
          </li>
        ))}
      </ul>
      <div class="row">
        {(trace.reason_codes ?? []).map((code) => (
          <a
            key={code}
            class="tag"
            href={href('activity', { reason: code })}
            title={`${reasonWord(code)}. Show all calls with it`}
          >
            {code}
          </a>
        ))}
      </div>
    </Part>
  );
}

function Signals({ trace }: { trace: ShownTrace }) {
  const { signals = [], risk } = trace;
  if (signals.length === 0) return null;
  return (
    <Part title="Signals">
      <ul class="parts-bar bars">
        {signals.map((it) => (
          <li key={it.engine + it.name}>
            <span title={it.name}>
              {reasonWord(it.name)} <span class="faint">· {it.engine}</span>
            </span>
            <span class="number">{it.score.toFixed(2)}</span>
            <meter min={0} max={1} value={it.score} aria-hidden="true" />
            <p>
              <Marked text={withoutTraces(it.details)} />
            </p>
          </li>
        ))}
      </ul>
      {risk && (
        <p class="hint">
          Together {trace.risk_score?.toFixed(3)}
          {risk.floor > 0 && `; at least ${risk.floor} for what was found`}
          {risk.modifier !== 0 && `; trust of the agent changes it by ${risk.modifier}`}.
        </p>
      )}
    </Part>
  );
}

function Rules({ rules, decidedBy }: { rules: ShownTrace['matched_rules']; decidedBy: string | undefined }) {
  if (!rules || rules.length === 0) return null;
  return (
    <Part title="Rules that matched">
      <ul class="why">
        {rules.map((it) => (
          <li key={it.policy_id + it.rule_id}>
            <a href={href(['policies', it.policy_name])}>
              {it.policy_name} › {it.rule_id}
            </a>{' '}
            <span class="faint">version {it.version}</span> says {it.action}
            {it.rule_id === decidedBy && <strong>, and decided</strong>}
          </li>
        ))}
      </ul>
    </Part>
  );
}

function KeyName({ id, prefix }: { id: string | undefined; prefix: string }) {
  const name = prefix.startsWith('iv_')
    ? `${prefix}…`
    : `of the ${prefix === 'config' ? 'configuration' : 'inbound route'}`;
  return id !== undefined && may('keys:read') ? <a href={href(['keys', id])}>{name}</a> : <span>{name}</span>;
}

function CallFacts({ trace: it }: { trace: ShownTrace }) {
  const operation = it.operation && `${it.tool_name} › ${it.operation}${it.verb ? ` (${it.verb})` : ''}`;
  return (
    <Part title="The call">
      <Facts
        of={[
          [
            'Agent',
            <a key="agent" href={href(['agents', it.agent_id])}>
              {it.agent_name ?? it.agent_id}
            </a>,
          ],
          [
            'Time',
            <>
              {toAbsolute(Date.parse(it.at))}{' '}
              <span class="faint">
                <Time at={it.at} />
              </span>
            </>,
          ],
          ['Environment', it.env_name],
          ['Operation', operation],
          ['Body', it.body_bytes ? `${it.body_bytes.toLocaleString('en')} bytes` : undefined],
          ['Key', it.key_prefix && <KeyName id={it.key_id} prefix={it.key_prefix} />],
          ['From', it.client_address],
          ['Entrance', it.entrance],
          [
            'Credential',
            it.credential && (
              <a key="c" href={href('routes')}>
                {it.credential}
              </a>
            ),
          ],
          ['Tags', it.tags?.join(', ')],
          ['Outside its scope', it.violations?.join('; ')],
          [
            'Approval',
            it.approval_id && (
              <a key="a" href={href(['approvals', it.approval_id])}>
                Show the approval
              </a>
            ),
          ],
          [
            'Incident',
            it.incidents && (
              <a key="i" href={href('incidents', { agent_id: it.agent_id })}>
                {it.incidents.join(', ')}
              </a>
            ),
          ],
          [
            'Message of',
            it.message_of && (
              <a key="m" href={href(['activity', it.message_of])}>
                the call that opened it
              </a>
            ),
          ],
          ['Trace', <code key="t">{it.trace_id}</code>],
        ]}
      />
    </Part>
  );
}
