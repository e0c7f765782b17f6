import { useState } from 'preact/hooks';
import type { FailedMessage, ShownChannel } from '../../../api/answers.ts';
import { post, session } from '../data/api.ts';
import { useList } from '../data/pages.ts';
import { useAction } from '../data/resource.ts';
import { href } from '../data/route.ts';
import { Card, Empty, PageHead, Problem, Status, Time } from '../kit/bits.tsx';
import { Act } from '../kit/form.tsx';
import { List } from '../kit/list.tsx';

const health = { closed: 'ok', open: 'failed', half_open: 'stale' } as const;
const healthWords = { closed: 'delivers', open: 'paused after failures', half_open: 'is tried' } as const;
const example = `notifications:
  - { name: sec-chat, type: slack, url: "\${env:SLACK_HOOK}", min_severity: HIGH }`;

/** Shows who is told, and what could not be delivered. */
export default function Notifications() {
  const channels = useList<ShownChannel>('/v1/notifications', {}, { everyMs: 5000 });
  const failed = useList<FailedMessage>('/v1/notifications/failed', {}, { everyMs: 5000 });
  const [told, setTold] = useState<{ readonly text: string; readonly isBad: boolean }>();
  const test = useAction(async (name: string) => {
    setTold(undefined);
    const { delivered, reason } = await post<{ delivered: boolean; reason: string | null }>(
      '/v1/notifications/test',
      { name },
    );
    setTold({
      text: delivered ? `${name} has taken the test.` : `${name} has not taken the test: ${reason}`,
      isBad: !delivered,
    });
    channels.reload();
  });
  const replay = useAction(async (id: string) => {
    await post(`/v1/notifications/failed/${id}/replay`);
    failed.reload();
  });
  const isAdmin = session.value?.role === 'admin';
  return (
    <>
      <PageHead
        title="Notifications"
        about="Channels are set up in the configuration; a reload takes them over."
      />
      <Problem of={test.problem ?? replay.problem} />
      <p class={told ? (told.isBad ? 'problem' : 'note') : 'hidden'} role="status">
        {told?.text}
      </p>
      <List
        of={channels}
        stacks
        label="Channels"
        keyOf={(it) => it.name}
        columns={[
          { name: 'Channel', cell: (it) => it.name },
          { name: 'Type', kind: 'extra', cell: (it) => <span class="tag">{it.type}</span> },
          {
            name: 'Health',
            cell: (it) => <Status of={health[it.circuit]} word={healthWords[it.circuit]} />,
          },
          {
            name: 'Last problem',
            kind: 'wide',
            cell: (it) => <span class="clip faint">{it.last_error ?? 'no problem'}</span>,
          },
          { name: 'Delivered', kind: 'extra number', cell: (it) => it.delivered.toLocaleString('en') },
          { name: 'Waiting', kind: 'extra number', cell: (it) => it.waiting.toLocaleString('en') },
          { name: 'Failed', kind: 'extra number', cell: (it) => it.failed.toLocaleString('en') },
          { name: 'Last', kind: 'extra', cell: (it) => <Time at={it.last_delivered} /> },
          {
            name: 'Try',
            cell: (it) =>
              isAdmin && (
                <Act look="small" isOff={test.isRunning} run={() => test.run(it.name)}>
                  Send a test
                </Act>
              ),
          },
        ]}
        empty={
          <Empty title="Nobody is told of anything yet." command={example}>
            Slack, Teams, Discord, mail, webhooks and SIEMs can be. This tells a Slack channel of what is
            serious:
          </Empty>
        }
      />
      <section class="section-gap">
        <Card title="Could not be delivered">
          <List
            of={failed}
            stacks
            label="Messages that were given up"
            keyOf={(it) => it.id}
            columns={[
              { name: 'Channel', cell: (it) => it.channel },
              { name: 'Event', kind: 'extra', cell: (it) => <span class="tag">{it.type}</span> },
              {
                name: 'Message',
                kind: 'wide',
                cell: (it) => (
                  <span class="clip" title={it.reason}>
                    {it.trace_ids[0] ? (
                      <a href={href(['activity', it.trace_ids[0]])}>{it.summary}</a>
                    ) : (
                      it.summary
                    )}
                    <span class="faint"> · {it.reason}</span>
                  </span>
                ),
              },
              { name: 'Given up', kind: 'extra', cell: (it) => <Time at={it.failed_at} /> },
              {
                name: 'Try',
                cell: (it) =>
                  isAdmin && (
                    <Act look="small" isOff={replay.isRunning} run={() => replay.run(it.id)}>
                      Send again
                    </Act>
                  ),
              },
            ]}
            empty={<p class="hint">No message was given up. Those that wait are tried again.</p>}
          />
        </Card>
      </section>
    </>
  );
}
