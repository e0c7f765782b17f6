import { useState } from 'preact/hooks';
import type { ShownAuditEntry } from '../../../api/answers.ts';
import { useList } from '../data/pages.ts';
import { useAction } from '../data/resource.ts';
import { go, href, place } from '../data/route.ts';
import { canVerify, type Verified, verifyAudit } from '../data/verify-audit.ts';
import { Command, Empty, PageHead, Problem } from '../kit/bits.tsx';
import { Act, Choice } from '../kit/form.tsx';
import { List } from '../kit/list.tsx';
import { useAuditColumns } from './audit-columns.tsx';

const kinds = [
  'session.opened',
  'session.closed',
  'session.revoked',
  'key.created',
  'key.updated',
  'key.revoked',
  'agent.updated',
  'agent.suspended',
  'agent.reactivated',
  'agent.trust_reset',
  'policy.applied',
  'policy.archived',
  'approval.requested',
  'approval.decided',
  'approval.used',
  'approval.expired',
  'incident.opened',
  'incident.changed',
  'credential.set',
  'credential.rotated',
  'credential.revoked',
  'route.created',
  'route.changed',
  'route.deleted',
  'mcp.accepted',
  'config.reloaded',
  'tenant.suspended',
  'tenant.reactivated',
] as const;

/** Shows who did what, in a log in which each entry holds the hash of the one before. */
export default function Audit() {
  const { query } = place.value;
  const { kind, subject } = query;
  const list = useList<ShownAuditEntry>('/v1/audit', { kind, subject }, { everyMs: 5000 });
  const columns = useAuditColumns();
  const [read, setRead] = useState(0);
  const [verified, setVerified] = useState<Verified>();
  const verify = useAction(async () => {
    setVerified(undefined);
    setVerified(await verifyAudit(setRead));
  });
  return (
    <>
      <PageHead
        title="Audit"
        about="Each entry holds the hash of the one before: what is altered or missing shows."
      >
        <Choice word="Kind" value={kind ?? ''} onChoose={(it) => go(href('audit', { ...query, kind: it }))}>
          {kinds.map((it) => (
            <option key={it}>{it}</option>
          ))}
        </Choice>
        {canVerify() && (
          <Act isOff={verify.isRunning} run={verify.run}>
            {verify.isRunning ? `Verifying, ${read.toLocaleString('en')} entries…` : 'Verify the log'}
          </Act>
        )}
      </PageHead>
      {!canVerify() && (
        <div class="note">
          <p>A browser verifies on https or on this machine only. The command line does it anywhere:</p>
          <Command text="bin/postern audit verify" />
        </div>
      )}
      <Problem of={verify.problem} />
      <div role="status">{verified && <Result of={verified} />}</div>
      <List
        of={list}
        stacks
        label="Entries of the audit log, newest first"
        keyOf={(it) => String(it.seq)}
        columns={columns}
        empty={
          <Empty title="No entry fits.">Keys, policies, approvals and incidents leave entries here.</Empty>
        }
      />
    </>
  );
}

function Result({ of: { entries, head, broken } }: { of: Verified }) {
  if (broken)
    return (
      <p class="problem">
        Entry {broken.seq} is {broken.problem}. Somebody other than the gateway has changed the log.
      </p>
    );
  return (
    <p class="note">
      {entries.toLocaleString('en')} entries, none altered or missing. Head: <code>{head}</code>
    </p>
  );
}
