import type { Command } from 'commander';
import { command, showOne } from '../ask.ts';

/** Adds `postern usage`, which tells what the tenant has used of its plan in this calendar month (UTC). */
export function addUsage(program: Command): void {
  command(program, 'usage', 'what the tenant has used of its plan this month').action(showOne('/v1/usage'));
}
