import type { ChildProcess } from 'node:child_process';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** The longest block of the event loop since it was asked the last time, of a process that has `loop-delay.ts` preloaded with this file. */
export async function blockedMs(process: ChildProcess, loopFile: string): Promise<number> {
  rmSync(loopFile, { force: true });
  process.kill('SIGUSR2');
  while (!existsSync(loopFile)) await sleep(20);
  await sleep(20);
  return JSON.parse(readFileSync(loopFile, 'utf8')).max;
}
