import type { Random } from './random.ts';
import type { Customer } from './texts.ts';

/** One call of an agent, as it is described to the gateway. */
export interface Step {
  /** Since the step before. */
  readonly afterMs: number;
  readonly method: string;
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** What the upstream answered, where the agent has it classified. */
  readonly answer?: unknown;
}

/** What an agent works with, from the first day on. */
export interface Desk {
  readonly random: Random;
  readonly customers: readonly Customer[];
  /** Names of repositories, channels, buckets, services: some of those that its kind knows. */
  readonly places: readonly string[];
  /** Its own credentials at vendors, by name. */
  readonly tokens: Readonly<Record<string, string>>;
}

/** Something that is done in one go. */
export type Routine = (desk: Desk) => readonly Step[];

/** What agents of one kind do. */
export interface Kind {
  readonly runtimeType: string;
  readonly places: readonly string[];
  /** Names of tokens that its agents send themselves; all others are injected by the gateway. */
  readonly tokens: readonly string[];
  readonly routines: readonly (readonly [weight: number, routine: Routine])[];
  /** What is done once a day, at the agent's own hour. */
  readonly daily?: Routine;
}

/** People and programs take some seconds between two calls. */
export const pauseMs = (random: Random): number => Math.round(1_500 + random.logNormal(6_000, 0.8));
