import { useState } from 'preact/hooks';
import type { Credential, ShownRoute } from '../../../api/answers.ts';
import { useNames } from '../data/agents.ts';
import { call, may, post } from '../data/api.ts';
import { useList } from '../data/pages.ts';
import { useAction } from '../data/resource.ts';
import { Card, Empty, PageHead, Status, Time } from '../kit/bits.tsx';
import { Confirm } from '../kit/confirm.tsx';
import { Dialog } from '../kit/dialog.tsx';
import { AgentOptions, Form } from '../kit/form.tsx';
import { List } from '../kit/list.tsx';
import { CredentialForm } from './credential-form.tsx';

/** Shows inbound routes and the credentials that go out with calls. Secrets are written and never read. */
export default function Routes() {
  return (
    <>
      <PageHead
        title="Routes and credentials"
        about="A secret that is put in here is sealed, and shown to nobody again; calls that may go out carry it."
      />
      <div class="stack">
        <Credentials />
        <InboundRoutes />
      </div>
    </>
  );
}

function Credentials() {
  const list = useList<Credential>('/v1/credentials', {}, { everyMs: 10_000, area: 'credential' });
  const [setting, setSetting] = useState<{ name: string; type: string }>();
  return (
    <Card
      title="Credentials"
      actions={
        may('credentials:write') && (
          <button type="button" class="small" onClick={() => setSetting({ name: '', type: 'bearer' })}>
            Set a credential
          </button>
        )
      }
    >
      {setting && (
        <CredentialForm
          name={setting.name}
          type={setting.type}
          onClose={() => setSetting(undefined)}
          onSet={() => {
            setSetting(undefined);
            list.reload();
          }}
        />
      )}
      <List
        of={list}
        stacks
        label="Credentials"
        keyOf={(it) => it.name}
        columns={[
          { name: 'Name', kind: 'wide', cell: (it) => <span class="clip">{it.name}</span> },
          { name: 'Type', kind: 'extra', cell: (it) => <span class="tag">{it.type}</span> },
          { name: 'Stands in', kind: 'extra', cell: (it) => it.source },
          { name: 'Uses', kind: 'extra number', cell: (it) => it.uses.toLocaleString('en') },
          { name: 'Used', kind: 'extra', cell: (it) => <Time at={it.last_used_at} /> },
          {
            name: 'Changed',
            kind: 'extra',
            cell: (it) => (it.changed_at ? <Time at={it.changed_at} /> : 'with the file'),
          },
          {
            name: 'Change',
            cell: (it) =>
              it.source === 'vault' && (
                <div class="row">
                  <button type="button" class="small" onClick={() => setSetting(it)}>
                    Replace
                  </button>
                  <Confirm
                    word="Revoke"
                    says={`${it.name} is deleted from the vault. Calls that need it are answered CREDENTIAL_UNAVAILABLE.`}
                    run={async () => {
                      await call('DELETE', `/v1/credentials/${encodeURIComponent(it.name)}`);
                      list.reload();
                    }}
                    isDanger
                  />
                </div>
              ),
          },
        ]}
        empty={
          <Empty
            title="The vault holds no credential."
            command="bin/postern credential set github-bot < token.txt"
          >
            credentials[] of the configuration says to which hosts one goes; its secret is put in here.
          </Empty>
        }
      />
    </Card>
  );
}

function InboundRoutes() {
  const list = useList<ShownRoute>('/v1/inbound-routes');
  const names = useNames();
  const [isMaking, setMaking] = useState(false);
  return (
    <Card
      title="Inbound routes"
      actions={
        may('routes:write') && (
          <button type="button" class="small" onClick={() => setMaking(true)}>
            Make a route
          </button>
        )
      }
    >
      {isMaking && (
        <RouteForm
          onClose={() => setMaking(false)}
          onMade={() => {
            setMaking(false);
            list.reload();
          }}
        />
      )}
      <List
        of={list}
        stacks
        label="Inbound routes"
        keyOf={(it) => it.prefix}
        columns={[
          {
            name: 'Callers send to',
            kind: 'wide',
            cell: (it) => (
              <span class="clip mono" title={it.url}>
                {it.url}
              </span>
            ),
          },
          { name: 'Goes to', cell: (it) => <span class="clip route-cell mono">{it.upstream}</span> },
          { name: 'Known by', kind: 'extra', cell: (it) => <span class="tag">{it.auth.type}</span> },
          {
            name: 'Agent',
            kind: 'extra',
            cell: (it) => (it.agent ? (names.get(it.agent) ?? it.agent.slice(0, 8)) : 'of the key'),
          },
          { name: 'Credential', kind: 'extra', cell: (it) => it.credential ?? '—' },
          {
            name: 'Care',
            kind: 'extra',
            cell: (it) =>
              it.warnings.length > 0 && (
                <span title={it.warnings.join(' ')}>
                  <Status
                    of="stale"
                    word={`${it.warnings.length} warning${it.warnings.length > 1 ? 's' : ''}`}
                  />
                </span>
              ),
          },
          {
            name: 'Change',
            cell: (it) =>
              it.source === 'api' && (
                <Confirm
                  word="Delete"
                  says={`Calls to /inbound/${it.prefix}/ are answered 404 from then on.`}
                  run={async () => {
                    await call('DELETE', `/v1/inbound-routes/${encodeURIComponent(it.prefix)}`);
                    list.reload();
                  }}
                  isDanger
                />
              ),
          },
        ]}
        empty={
          <Empty title="There is no inbound route." command={routeCommand}>
            A route is for programs that cannot be given a proxy: they call the gateway by an address of its
            own, and it calls the upstream.
          </Empty>
        }
      />
    </Card>
  );
}

const routeCommand = `echo '{ prefix: github, upstream: "https://api.github.com" }' | bin/postern inbound-route create -`;

function RouteForm({ onClose, onMade }: { onClose: () => void; onMade: () => void }) {
  const names = useNames();
  const make = useAction(async (form: HTMLFormElement) => {
    const fields = Object.fromEntries(new FormData(form));
    await post('/v1/inbound-routes', {
      prefix: fields['prefix'],
      upstream: fields['upstream'],
      agent: fields['agent'] || null,
      credential: fields['credential'] || null,
    });
    onMade();
  });
  return (
    <Dialog title="Make a route" onClose={onClose}>
      <Form action={make}>
        <label>
          Prefix: callers send to /inbound/&lt;prefix&gt;/…
          <input name="prefix" required maxLength={64} />
        </label>
        <label>
          Upstream
          <input name="upstream" type="url" required placeholder="https://api.example.com" />
        </label>
        <label>
          Agent
          <select name="agent">
            <option value="">that of the key</option>
            <AgentOptions names={names} />
          </select>
        </label>
        <label>
          Credential that is sent (empty: none)
          <input name="credential" maxLength={64} />
        </label>
        <div>
          <button type="submit" disabled={make.isRunning}>
            Make it
          </button>
        </div>
      </Form>
    </Dialog>
  );
}
