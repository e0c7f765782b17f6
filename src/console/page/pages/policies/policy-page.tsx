import { useEffect, useRef, useState } from 'preact/hooks';
import type { ListedPolicy } from '../../../../api/answers.ts';
import { may } from '../../data/api.ts';
import { draftOf, dropDraft, keepDraft } from '../../data/drafts.ts';
import { useList, useOne } from '../../data/pages.ts';
import { apply, archive, policyTextOf } from '../../data/policy-call.ts';
import { toYaml } from '../../data/policy-text.ts';
import { useAction } from '../../data/resource.ts';
import { Card, PageHead, Problem, Skeleton, Status, Time } from '../../kit/bits.tsx';
import { Confirm } from '../../kit/confirm.tsx';
import { Dialog } from '../../kit/dialog.tsx';
import { Diff } from '../../kit/diff.tsx';
import { Act } from '../../kit/form.tsx';
import { List } from '../../kit/list.tsx';
import { Workbench } from './workbench.tsx';

/** Shows one policy: its text, and all versions of it. */
export function PolicyPage({ name, env }: { name: string; env: string | undefined }) {
  const path = `/v1/policies/by-name/${encodeURIComponent(name)}`;
  const policy = useOne<ListedPolicy>(path, { env }, { area: 'policy' });
  const draft = `${name} ${env ?? ''}`;
  const [text, setText] = useState<string>();
  const [said, setSaid] = useState('');
  const it = policy.data;
  const standing = it ? toYaml(policyTextOf(it)) : '';
  const before = useRef<string | undefined>(undefined);
  useEffect(() => {
    if (!it) return;
    // A text that somebody is writing stays, also when somebody else has applied a version meanwhile.
    const unchanged = before.current;
    setText((own) => (own === undefined ? (draftOf(draft) ?? standing) : own === unchanged ? standing : own));
    before.current = standing;
  }, [standing, text === undefined]);
  const write = (wanted: string) => {
    keepDraft(draft, wanted, standing);
    setText(wanted);
  };
  const applied = (version: number) => {
    dropDraft(draft);
    setText(undefined);
    before.current = undefined;
    setSaid(`Version ${version} is in force from the next call on.`);
    policy.reload();
  };
  const isFile = it?.source === 'file';
  return (
    <>
      <PageHead title={name} about={it?.description} list="policies">
        {it && (it.archived_at ? <Status of="closed" word="archived" /> : <Status of={it.mode} />)}
        {it && !isFile && !it.archived_at && may('policies:write') && (
          <>
            <ModeButton policy={it} onApplied={applied} />
            <Confirm
              word="Archive"
              says={`${name} takes no effect any more. Its versions stay, and applying one brings it back.`}
              run={async () => {
                await archive(name, env);
                setSaid('It is archived.');
                policy.reload();
              }}
              isSmall={false}
            />
          </>
        )}
      </PageHead>
      <p class="said" role="status">
        {said}
      </p>
      <Problem of={policy.problem} again={policy.reload} />
      {policy.isLoading && <Skeleton lines={10} />}
      {isFile && (
        <p class="note">It stands in a policy file of the configuration: change it there, and reload.</p>
      )}
      {it && text !== undefined && (
        <>
          <Workbench
            text={text}
            onText={write}
            standing={standing}
            isReadOnly={isFile || !may('policies:write')}
            onApplied={({ version }) => applied(version)}
          />
          {!isFile && <Versions key={it.version} path={path} env={env} current={it} onApplied={applied} />}
        </>
      )}
    </>
  );
}

interface ChangeOf {
  readonly policy: ListedPolicy;
  readonly onApplied: (version: number) => void;
}

function ModeButton({ policy, onApplied }: ChangeOf) {
  const mode = policy.mode === 'enforce' ? 'monitor' : 'enforce';
  const change = useAction(async () => onApplied((await apply({ ...policyTextOf(policy), mode })).version));
  return (
    <>
      <Problem of={change.problem} />
      <Act look="plain" isOff={change.isRunning} run={change.run}>
        {mode === 'monitor' ? 'Only monitor' : 'Enforce'}
      </Act>
    </>
  );
}

interface VersionsOf {
  readonly path: string;
  readonly env: string | undefined;
  readonly current: ListedPolicy;
  readonly onApplied: (version: number) => void;
}

function Versions({ path, env, current, onApplied }: VersionsOf) {
  const list = useList<ListedPolicy>(`${path}/versions`, { env });
  const [shown, setShown] = useState<ListedPolicy>();
  const rollBack = useAction(async (it: ListedPolicy) => {
    const { version } = await apply(policyTextOf(it));
    setShown(undefined);
    onApplied(version);
  });
  return (
    <section class="section-gap">
      <Card title="Versions">
        <List
          of={list}
          label="Versions, newest first"
          keyOf={(it) => String(it.version)}
          isChosen={(it) => it.version === current.version}
          columns={[
            { name: 'Version', kind: 'number', cell: (it) => it.version },
            { name: 'Mode', cell: (it) => <Status of={it.mode} /> },
            { name: 'By', kind: 'wide', cell: (it) => <span class="clip">{it.created_by}</span> },
            { name: 'When', cell: (it) => <Time at={it.created_at} /> },
            {
              name: 'Compare',
              cell: (it) =>
                it.version === current.version ? (
                  <span class="faint">in force</span>
                ) : (
                  <button type="button" class="small" onClick={() => setShown(it)}>
                    Compare
                  </button>
                ),
            },
          ]}
          empty={<p class="hint">There is no version.</p>}
        />
      </Card>
      {shown && (
        <Dialog
          title={`Version ${shown.version}, compared with ${current.version}`}
          onClose={() => setShown(undefined)}
          isWide
        >
          <div class="stack">
            <Problem of={rollBack.problem} />
            <Diff
              before={toYaml(policyTextOf(current))}
              after={toYaml(policyTextOf(shown))}
              label={`What differs between ${current.version} and ${shown.version}`}
            />
            {may('policies:write') && (
              <div>
                <Act isOff={rollBack.isRunning} run={() => rollBack.run(shown)}>
                  Roll back to version {shown.version}
                </Act>
              </div>
            )}
          </div>
        </Dialog>
      )}
    </section>
  );
}
