import type { ShownFeed } from '../../../api/answers.ts';
import { post, session } from '../data/api.ts';
import { useList } from '../data/pages.ts';
import { useAction } from '../data/resource.ts';
import { Empty, PageHead, Problem, Status, Time } from '../kit/bits.tsx';
import { Act } from '../kit/form.tsx';
import { List } from '../kit/list.tsx';

/** Shows the threat feeds, which list hosts and addresses that nobody should call. */
export default function Feeds() {
  const feeds = useList<ShownFeed>('/v1/feeds', {}, { everyMs: 5000 });
  const refresh = useAction(async (name: string) => {
    await post(`/v1/feeds/${encodeURIComponent(name)}/refresh`);
    feeds.reload();
  });
  return (
    <>
      <PageHead
        title="Feeds"
        about="Calls to what a feed lists are denied, unless the allowlist of the tenant has it."
      />
      <Problem of={refresh.problem} />
      <List
        of={feeds}
        stacks
        label="Threat feeds"
        keyOf={(it) => it.name}
        columns={[
          { name: 'Feed', cell: (it) => it.name },
          { name: 'Status', cell: (it) => <Status of={it.status} /> },
          {
            name: 'From',
            kind: 'wide',
            cell: (it) => <span class="clip mono">{it.last_error ?? it.origin}</span>,
          },
          { name: 'In use', kind: 'extra number', cell: (it) => it.indicators.toLocaleString('en') },
          { name: 'Left out', kind: 'extra number', cell: (it) => it.dropped.toLocaleString('en') },
          { name: 'Fetched', kind: 'extra', cell: (it) => <Time at={it.last_success} /> },
          { name: 'Next', kind: 'extra', cell: (it) => <Time at={it.next_fetch} /> },
          {
            name: 'Change',
            cell: (it) =>
              session.value?.role === 'admin' && (
                <Act look="small" isOff={refresh.isRunning} run={() => refresh.run(it.name)}>
                  Fetch now
                </Act>
              ),
          },
        ]}
        empty={
          <Empty
            title="No threat feed is set up."
            command={
              'feeds:\n  - { name: urlhaus, url: https://urlhaus.abuse.ch/downloads/csv_recent/, refresh: 1h }'
            }
          >
            None is fetched unless the configuration names it. This adds one:
          </Empty>
        }
      />
    </>
  );
}
