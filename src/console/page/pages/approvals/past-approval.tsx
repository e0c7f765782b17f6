import type { Approval } from '../../../../api/answers.ts';
import { useOne } from '../../data/pages.ts';
import { href } from '../../data/route.ts';
import { BandBadge, Card, Facts, PageHead, Problem, Skeleton, Status, Time } from '../../kit/bits.tsx';
import { Body } from './body.tsx';

const covers = {
  once: 'the identical call, one time',
  window: 'the identical call, while the grant lasts',
} as const;

/** Shows an approval that does not wait any more. */
export function PastApproval({ approvalId }: { approvalId: string }) {
  const approval = useOne<Approval>(`/v1/approvals/${encodeURIComponent(approvalId)}`);
  const it = approval.data;
  return (
    <>
      <PageHead title="An approval" list="approvals" />
      <Problem of={approval.problem} again={approval.reload} />
      {approval.isLoading && <Skeleton />}
      {it && (
        <Card>
          <div class="stack">
            <p class="row">
              <Status of={it.status} />
              <span class="mono">
                <span class="method">{it.method}</span> {it.url}
              </span>
            </p>
            <Facts
              of={[
                [
                  'Agent',
                  <a key="a" href={href(['agents', it.agent_id])}>
                    {it.agent_name}
                  </a>,
                ],
                ['Operation', `${it.tool_name} › ${it.operation}`],
                ['Risk', <BandBadge key="b" of={it.risk_band} score={it.risk_score} />],
                ['Asked', <Time key="c" at={it.created_at} />],
                ['Decided', it.decided_at && <Time key="d" at={it.decided_at} />],
                ['Ran out', it.status === 'expired' && <Time key="e" at={it.expires_at} />],
                ['By', it.decided_by],
                ['Covers', it.scope && covers[it.scope]],
                ['Note', it.note],
                [
                  'Trace',
                  <a key="t" href={href(['activity', it.trace_id])}>
                    Show the call
                  </a>,
                ],
              ]}
            />
            <Body
              text={it.body_preview}
              bytes={it.body_bytes}
              findings={it.findings}
              isWebSocket={it.opens_websocket}
            />
          </div>
        </Card>
      )}
    </>
  );
}
