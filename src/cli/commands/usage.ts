import type { Command } from 'commander';
import { command, shows } from '../ask.ts';

/** `postern usage`: what the tenant has used of its plan in this calendar month (UTC). */
export function addUsage(program: Command): void {
  command(program, 'usage', 'what the tenant has used of its plan this month').action(shows('/v1/usage'));
}
