import { useState } from 'preact/hooks';
import type { Key, MintedKey, ShownAuditEntry } from '../../../../api/answers.ts';
import { useNames } from '../../data/agents.ts';
import { call, may, post } from '../../data/api.ts';
import { useList, useOne } from '../../data/pages.ts';
import { href } from '../../data/route.ts';
import { Card, Facts, PageHead, Problem, Skeleton, Status, Time } from '../../kit/bits.tsx';
import { Confirm } from '../../kit/confirm.tsx';
import { List } from '../../kit/list.tsx';
import { useAuditColumns } from '../audit-columns.tsx';
import { mayMint, Prefix } from './keys.tsx';
import { Minted } from './mint.tsx';

/** Shows one key: what it may do, how it is used, and what was done to it. */
export function KeyPage({ keyId }: { keyId: string }) {
  const path = `/v1/keys/${encodeURIComponent(keyId)}`;
  const names = useNames();
  const columns = useAuditColumns();
  const key = useOne<Key>(path, {}, { everyMs: 10_000 });
  const audit = useList<ShownAuditEntry>(`${path}/audit`);
  const [minted, setMinted] = useState<MintedKey>();
  const it = key.data;
  const changed = () => {
    key.reload();
    audit.reload();
  };
  return (
    <>
      <PageHead title={it?.name ?? 'Key'} about={it?.description ?? undefined} list="keys">
        {it?.status === 'active' && it.type === 'live' && mayMint() && (
          <Confirm
            word="Rotate"
            says="A new key with the same agent, permissions and addresses is minted. This one goes on until you revoke it, so that nothing breaks in between."
            run={async () => {
              setMinted(await post<MintedKey>('/v1/keys', successorOf(it)));
            }}
            isSmall={false}
          />
        )}
        {it?.status === 'active' && may('keys:revoke') && (
          <Confirm
            word="Revoke"
            says={`Calls with ${it.name} are refused from the next one on. It cannot be undone.`}
            run={async () => {
              await call('DELETE', path);
              changed();
            }}
            isDanger
            isSmall={false}
          />
        )}
      </PageHead>
      {minted && <Minted of={minted} onDone={() => setMinted(undefined)} />}
      <Problem of={key.problem} again={key.reload} />
      {key.isLoading && <Skeleton lines={8} />}
      {it && (
        <div class="grid two">
          <Card title="Use">
            <Facts
              of={[
                ['Status', <Status key="s" of={it.status} />],
                ['Calls in 24 h', it.calls_24h.toLocaleString('en')],
                ['Refused attempts', it.blocked_attempts.toLocaleString('en')],
                ['Last seen', <Time key="l" at={it.last_seen} />],
                ['Minted', <Time key="c" at={it.created_at} />],
                ['Ends', it.expires_at ? <Time key="e" at={it.expires_at} /> : 'never'],
                ['Revoked', it.revoked_at && <Time key="r" at={it.revoked_at} />],
                ['By', it.revoked_by],
              ]}
            />
          </Card>
          <Card title="What it may do">
            <Facts
              of={[
                ['Begins', <Prefix key="p" of={it} />],
                [
                  'Agent',
                  <a key="a" href={href(['agents', it.default_agent_id])}>
                    {names.get(it.default_agent_id) ?? it.default_agent_id}
                  </a>,
                ],
                ['Environment', [it.env_name, ...it.env_names].join(', ')],
                ['Permissions', it.permissions.join(', ')],
                ['Only from', it.ip_allowlist?.join(', ')],
                ['Calls a minute', it.per_minute],
                ['Nonce', it.require_nonce && 'needed'],
                [
                  'Made of',
                  it.parent_key_id && (
                    <a key="m" href={href(['keys', it.parent_key_id])}>
                      another key
                    </a>
                  ),
                ],
              ]}
            />
          </Card>
        </div>
      )}
      <section class="section-gap">
        <Card title="What was done to it">
          <List
            of={audit}
            label="Audit entries of the key"
            keyOf={(entry) => String(entry.seq)}
            columns={columns}
            empty={<p class="hint">Nothing yet.</p>}
          />
        </Card>
      </section>
    </>
  );
}

const successorOf = (it: Key) => ({
  name: it.name,
  default_agent_id: it.default_agent_id,
  env_names: it.env_names,
  permissions: it.permissions,
  ip_allowlist: it.ip_allowlist,
  description: it.description,
  per_minute: it.per_minute,
  require_nonce: it.require_nonce,
});
