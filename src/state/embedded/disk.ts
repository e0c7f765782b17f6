import type { Audit } from './audit.ts';
import type { GroupCommit } from './group-commit.ts';
import type { Database } from './sqlite.ts';

/** The database `state.db`, its transactions, and the audit log in it. */
export interface Disk {
  readonly db: Database;
  readonly commits: GroupCommit;
  readonly audit: Pick<Audit, 'append'>;
}
