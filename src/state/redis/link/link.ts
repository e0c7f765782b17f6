import type { Commits } from './commits.ts';
import type { RedisConnection } from './connection.ts';
import type { Names } from './names.ts';
import type { Revisions } from './revisions.ts';

/** The connection to Redis, and what all parts of its store share beside it. */
export interface Link {
  readonly connection: RedisConnection;
  readonly names: Names;
  readonly commits: Commits;
  readonly revisions: Revisions;
}
