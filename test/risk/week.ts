import { type Attack, plant } from './attacks/index.ts';
import { type Agent, hire, laidOut, ordinaryWeek, type TimedStep } from './workforce.ts';

/** One call of the week; `attack` is missing where it is clean. */
export interface PlannedCall extends TimedStep {
  readonly attack?: string;
}

export interface Week {
  readonly startMs: number;
  readonly agents: readonly Agent[];
  readonly attacks: readonly Attack[];
  /** In the order of their times. */
  readonly calls: readonly PlannedCall[];
}

/** A week of twenty agents with attacks in it; the same one for the same seed. It begins on a Monday. */
export function planWeek(seed: string): Week {
  const startMs = Date.UTC(2026, 5, 1);
  const agents = hire(seed);
  const attacks = plant(seed);
  const calls: PlannedCall[] = [...ordinaryWeek(agents, startMs)];
  for (const { name, acts } of attacks) {
    for (const { agent, atMs, steps } of acts) {
      const who = agents.find((it) => it.name === agent);
      if (!who) throw new Error(`nobody is called ${agent}`);
      for (const step of laidOut(who, steps, startMs + atMs)) calls.push({ ...step, attack: name });
    }
  }
  return { startMs, agents, attacks, calls: calls.sort((a, b) => a.atMs - b.atMs) };
}
