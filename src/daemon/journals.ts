import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../config/schema.ts';
import { lockDirectory } from '../state/embedded/file/lock.ts';
import { Journal, type JournalOptions } from '../state/journal.ts';
import type { WorkerSlot } from './worker-slot.ts';

/*
 * Each process of a daemon has a journal of its own, by its place: `journal` is that of the first process,
 * `journal/worker-2` that of the second. A process that is started in the place of another ships what that
 * one has left behind. A daemon may have fewer processes than it had before: then the first one ships the
 * journals of places that no longer exist.
 */

/** Milliseconds that the process before this one may take to end after its parent was killed. */
const handOverMs = 15_000;
const nameOfWorker = /^worker-(\d{1,2})$/;

const dirOf = (stateDir: string, slot: number): string =>
  slot === 1 ? join(stateDir, 'journal') : join(stateDir, 'journal', `worker-${slot}`);

/**
 * Returns the folder of this process's journal, which no other process uses until this one ends. Throws
 * STATE_UNAVAILABLE where another daemon writes there. An embedded state is locked as a whole.
 */
export function holdJournal(
  { url, dir: stateDir }: Config['state'],
  place: WorkerSlot,
  closers: AsyncDisposableStack,
): string {
  const dir = dirOf(stateDir, place.slot);
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  if (url.driver !== 'embedded') closers.defer(lockDirectory(dir, handOverMs));
  return dir;
}

/** Ships the journals of places that the daemon has no more. Rejects where the state does not take them. */
export async function shipLeftBehind(
  stateDir: string,
  { slot, workers }: WorkerSlot,
  options: Omit<JournalOptions, 'dir'>,
): Promise<void> {
  if (slot !== 1) return;
  const root = dirOf(stateDir, 1);
  if (!existsSync(root)) return;
  for (const name of readdirSync(root)) {
    const [, digits] = nameOfWorker.exec(name) ?? [];
    if (digits === undefined || Number(digits) <= workers) continue;
    const dir = join(root, name);
    const release = lockDirectory(dir, handOverMs);
    try {
      const journal = new Journal({ ...options, dir });
      try {
        await journal.flush();
      } finally {
        await journal.close();
      }
      rmSync(dir, { recursive: true });
    } finally {
      release();
    }
  }
}
