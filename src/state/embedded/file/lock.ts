import { join } from 'node:path';
import { stateUnavailable } from '../../../core/errors.ts';
import { openRaw } from '../sqlite.ts';

/**
 * Locks the state directory for this process, and returns a function that unlocks it. The lock is a file lock
 * that SQLite holds on `lock.db`. The system releases it however the process ends, so nothing stale is left
 * to clean up. A second daemon is refused with STATE_UNAVAILABLE. Before that it waits `waitMs` for the first
 * one to end; meanwhile its process does nothing else.
 */
export function lockDirectory(dir: string, waitMs = 0): () => void {
  const held = openRaw(join(dir, 'lock.db'), waitMs);
  try {
    held.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
  } catch (error) {
    held.close();
    throw stateUnavailable(
      `The state directory ${dir} is in use by another Postern, or cannot be locked; one daemon has one directory.`,
      error,
    );
  }
  return () => held.close();
}
