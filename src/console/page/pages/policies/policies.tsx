import type { ListedPolicy } from '../../../../api/answers.ts';
import { may } from '../../data/api.ts';
import { useList } from '../../data/pages.ts';
import { href, place } from '../../data/route.ts';
import { Empty, PageHead, Status, Time } from '../../kit/bits.tsx';
import { List } from '../../kit/list.tsx';
import { NewPolicy } from './new-policy.tsx';
import { PolicyPage } from './policy-page.tsx';

/** Shows what the policies say, and what they have said before. */
export default function Policies() {
  const { parts, query } = place.value;
  const [name] = parts;
  if (name === undefined) return <PolicyList />;
  if (name === 'new') return <NewPolicy />;
  return <PolicyPage key={`${name} ${query['env'] ?? ''}`} name={name} env={query['env']} />;
}

function PolicyList() {
  const list = useList<ListedPolicy>('/v1/policies', {}, { area: 'policy' });
  return (
    <>
      <PageHead
        title="Policies"
        about="The strictest policy decides; where no rule matches, the posture does."
      >
        {may('policies:write') && (
          <a class="button" href={href(['policies', 'new'])}>
            New policy
          </a>
        )}
      </PageHead>
      <List
        of={list}
        label="Policies"
        keyOf={(it) => it.policy_id + (it.env_name ?? '')}
        columns={[
          {
            name: 'Policy',
            kind: 'wide',
            cell: (it) => (
              <a
                class="clip"
                href={href(['policies', it.name], { env: it.env_name ?? undefined })}
                title={it.description}
              >
                {it.name}
                {it.description && <span class="faint"> · {it.description}</span>}
              </a>
            ),
          },
          {
            name: 'Mode',
            cell: (it) => (it.archived_at ? <Status of="closed" word="archived" /> : <Status of={it.mode} />),
          },
          { name: 'Rules', kind: 'number', cell: (it) => it.rules.length },
          { name: 'Environment', kind: 'extra', cell: (it) => it.env_name ?? 'all' },
          { name: 'Version', kind: 'extra', cell: (it) => (it.source === 'file' ? 'file' : it.version) },
          {
            name: 'Changed',
            kind: 'extra',
            cell: (it) => (it.created_at ? <Time at={it.created_at} /> : 'with the file'),
          },
        ]}
        empty={
          <Empty
            title="There is no policy: the posture decides alone."
            command={
              may('policies:write') ? 'bin/postern policy apply config/policies/packs/starter.yaml' : ''
            }
          >
            Secrets are taken out, high risk waits for a person, critical risk is denied.{' '}
            <a href={href(['policies', 'new'])}>Write the first rule</a>, or begin with a pack.
          </Empty>
        }
      />
    </>
  );
}
