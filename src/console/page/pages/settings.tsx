import { useState } from 'preact/hooks';
import type { OpenSession, Readiness } from '../../../api/answers.ts';
import { call, session } from '../data/api.ts';
import { fetchConfig } from '../data/config.ts';
import { type ConfigLine, configLinesOf, originWord } from '../data/config-lines.ts';
import { useList, useOne } from '../data/pages.ts';
import { useResource } from '../data/resource.ts';
import { Card, Command, Empty, Facts, PageHead, Problem, Skeleton, Time } from '../kit/bits.tsx';
import { Confirm } from '../kit/confirm.tsx';
import { List } from '../kit/list.tsx';
import { Table } from '../kit/table.tsx';

/** Shows the configuration in effect, and who is signed in. */
export default function Settings() {
  const isAdmin = session.value?.role === 'admin';
  const ready = useOne<Readiness>('/readyz', {}, { everyMs: 10_000 });
  return (
    <>
      <PageHead
        title="Settings"
        about="The configuration is a file. Change it there, then let the daemon take it: bin/postern reload"
      />
      <div class="stack">
        <Card title="Daemon">
          <Problem of={ready.problem} again={ready.reload} />
          {ready.data && (
            <Facts
              of={[
                ['Version', ready.data.version],
                ['State', ready.data.status],
                [
                  'Configuration',
                  <>
                    loaded <Time at={ready.data.config.loaded_at} />
                    {ready.data.config.generation > 1 && `, reload ${ready.data.config.generation - 1}`}
                  </>,
                ],
                ['Last refused', ready.data.config.last_error],
              ]}
            />
          )}
        </Card>
        {isAdmin && <Sessions />}
        {isAdmin ? <Configuration /> : <p class="hint">The admin secret shows the whole configuration.</p>}
      </div>
    </>
  );
}

function Sessions() {
  const list = useList<OpenSession>('/v1/console/sessions', {}, { everyMs: 10_000 });
  return (
    <Card title="Signed in">
      <List
        of={list}
        label="Sessions of the console"
        keyOf={(it) => it.session_id}
        columns={[
          { name: 'Who', kind: 'wide', cell: (it) => <span class="clip">{it.subject}</span> },
          { name: 'From', kind: 'extra', cell: (it) => it.client_address },
          { name: 'Since', cell: (it) => <Time at={it.created_at} /> },
          { name: 'Ends', kind: 'extra', cell: (it) => <Time at={it.expires_at} /> },
          {
            name: 'Change',
            cell: (it) =>
              it.session_id === session.value?.session_id ? (
                <span class="faint">this one</span>
              ) : (
                <Confirm
                  word="End"
                  says="Whoever uses this session must sign in again."
                  run={async () => {
                    await call('DELETE', `/v1/console/sessions/${it.session_id}`);
                    list.reload();
                  }}
                />
              ),
          },
        ]}
        empty={null}
      />
    </Card>
  );
}

function Configuration() {
  const shown = useResource('config', (signal) => fetchConfig(signal));
  const [asked, setAsked] = useState('');
  const [isAll, setAll] = useState(false);
  const data = shown.data;
  const lines = data ? configLinesOf(data) : [];
  const isSet = (it: ConfigLine): boolean => it.origin !== undefined || it.isDerived;
  const rows = lines.filter((it) => (isAll || isSet(it)) && it.path.includes(asked.trim()));
  return (
    <Card
      title="Configuration in effect"
      actions={
        <div class="row">
          <label>
            <input type="checkbox" checked={isAll} onChange={() => setAll(!isAll)} />
            Defaults too
          </label>
          <input
            type="search"
            class="narrow"
            aria-label="Find a key"
            placeholder="Find a key"
            value={asked}
            onInput={(event) => setAsked(event.currentTarget.value)}
          />
        </div>
      }
    >
      <Problem of={shown.problem} again={shown.reload} />
      {shown.isLoading && <Skeleton lines={10} />}
      {data && (
        <>
          <p class="hint">
            {data.file ? (
              <>
                From <code>{data.file}</code>, to which the line numbers belong; secrets are hidden.
              </>
            ) : (
              'There is no file: the first start has made what is set.'
            )}
          </p>
          {rows.length === 0 ? (
            <Empty title="Nothing fits." />
          ) : (
            <Table
              stacks
              label="Values of the configuration"
              rows={rows}
              keyOf={(it) => it.path}
              columns={[
                { name: 'Key', cell: (it) => <code>{it.path}</code> },
                {
                  name: 'Value',
                  kind: 'wide',
                  cell: (it) => (
                    <span class="clip mono" title={it.value}>
                      {it.value}
                    </span>
                  ),
                },
                {
                  name: 'Comes from',
                  cell: (it) => <OriginOf line={it} />,
                },
              ]}
            />
          )}
          <Command text="bin/postern config show" />
        </>
      )}
    </Card>
  );
}

function OriginOf({ line: { origin, isDerived } }: { line: ConfigLine }) {
  if (origin) return <>{originWord(origin)}</>;
  return <span class="faint">{isDerived ? 'follows from others' : 'default'}</span>;
}
