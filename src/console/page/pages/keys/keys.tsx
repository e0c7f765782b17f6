import { useState } from 'preact/hooks';
import type { Key, MintedKey } from '../../../../api/answers.ts';
import { useNames } from '../../data/agents.ts';
import { may, session } from '../../data/api.ts';
import { useList } from '../../data/pages.ts';
import { href, place } from '../../data/route.ts';
import { Empty, PageHead, Status, Time } from '../../kit/bits.tsx';
import { List } from '../../kit/list.tsx';
import { KeyPage } from './key-page.tsx';
import { Minted, MintForm } from './mint.tsx';

/** Shows the keys that agents call with. The text of a key is shown once, when it is minted. */
export default function Keys() {
  const [shown] = place.value.parts;
  return shown === undefined ? <KeyList /> : <KeyPage key={shown} keyId={shown} />;
}

/** Shows how a key begins. Of a key in the configuration only the hash is known. */
export const Prefix = ({ of: { prefix } }: { of: Key }) =>
  prefix.startsWith('iv_') ? <code>{prefix}…</code> : <span class="faint">not known</span>;

export const mayMint = (): boolean => session.value?.role === 'admin' || may('admin');

function KeyList() {
  const names = useNames();
  const list = useList<Key>('/v1/keys', {}, { everyMs: 10_000, area: 'key' });
  const [isMinting, setMinting] = useState(place.value.query['mint'] !== undefined);
  const [minted, setMinted] = useState<MintedKey>();
  return (
    <>
      <PageHead
        title="Keys"
        about="The text of a key is shown once. Here are names, uses, and attempts that were refused."
      >
        {mayMint() && (
          <button type="button" onClick={() => setMinting(true)}>
            Mint a key
          </button>
        )}
      </PageHead>
      {minted && <Minted of={minted} onDone={() => setMinted(undefined)} />}
      {isMinting && (
        <MintForm
          onClose={() => setMinting(false)}
          onMinted={(it) => {
            setMinting(false);
            setMinted(it);
            list.reload();
          }}
        />
      )}
      <List
        of={list}
        label="Keys, newest first"
        keyOf={(it) => it.key_id}
        columns={[
          {
            name: 'Name',
            kind: 'wide',
            cell: (it) => (
              <a class="clip" href={href(['keys', it.key_id])}>
                {it.name}
                {it.type === 'ephemeral' && <span class="faint"> · ephemeral</span>}
              </a>
            ),
          },
          { name: 'Begins', kind: 'extra', cell: (it) => <Prefix of={it} /> },
          { name: 'Status', cell: (it) => <Status of={it.status} /> },
          {
            name: 'Agent',
            kind: 'extra',
            cell: (it) => names.get(it.default_agent_id) ?? it.default_agent_id.slice(0, 8),
          },
          { name: 'Calls in 24 h', kind: 'extra number', cell: (it) => it.calls_24h.toLocaleString('en') },
          { name: 'Refused', kind: 'extra number', cell: (it) => it.blocked_attempts.toLocaleString('en') },
          { name: 'Seen', cell: (it) => <Time at={it.last_seen} /> },
        ]}
        empty={
          <Empty title="There is no key yet." command="bin/postern key mint --name my-agent">
            An agent needs one to make calls.
          </Empty>
        }
      />
    </>
  );
}
