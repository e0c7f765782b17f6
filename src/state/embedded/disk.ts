import type { AuditEvent } from '../store.ts';
import type { Audit } from './audit.ts';
import type { GroupCommit } from './group-commit.ts';
import type { Database } from './sqlite.ts';

/** The database `state.db`, its transactions, and the audit log in it. */
export interface Disk {
  readonly db: Database;
  readonly commits: GroupCommit;
  readonly audit: Pick<Audit, 'append'>;
}

/**
 * Writes a change with its audit entry. It writes no entry where `work` returns that there is nothing to
 * change.
 */
export const writeAudited = <T>(
  { commits, audit }: Disk,
  event: AuditEvent,
  work: () => T,
  apply?: (result: T) => void,
): Promise<T> =>
  commits.write(() => {
    const changed = work();
    if (changed) audit.append(event);
    return changed;
  }, apply);
