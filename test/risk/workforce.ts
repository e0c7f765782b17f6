import { hash } from 'node:crypto';
import { derivedId } from '../../src/core/ids.ts';
import type { Desk, Kind, Step } from './agent.ts';
import { coding } from './kinds/coding.ts';
import { data } from './kinds/data.ts';
import { finance } from './kinds/finance.ts';
import { marketing } from './kinds/marketing.ts';
import { ops } from './kinds/ops.ts';
import { support } from './kinds/support.ts';
import { createRandom, type Random } from './random.ts';
import { newCustomer } from './texts.ts';
import { isVendor, newToken } from './tokens.ts';

/* Twenty agents, their hours, and what they do all week when nobody has taken them over. All times are UTC. */

export interface Agent {
  readonly id: string;
  readonly name: string;
  readonly kind: Kind;
  readonly desk: Desk;
}

interface Hours {
  readonly from: number;
  readonly to: number;
  /** Sessions on a usual working day. */
  readonly sessions: number;
  /** Of that, on a day of the weekend. */
  readonly weekend: number;
  /** When the daily batch starts. */
  readonly batchAt?: number;
}

/** A step of the ordinary week, or of an attack, at its time. */
export interface TimedStep extends Omit<Step, 'afterMs'> {
  readonly atMs: number;
  readonly agent: Agent;
}

export const hourMs = 3_600_000;
export const dayMs = 24 * hourMs;
const days = 7;

const staff: readonly (readonly [name: string, kind: Kind, hours: Hours])[] = [
  ['support-emea', support, { from: 7, to: 17, sessions: 18, weekend: 0.4 }],
  ['support-us', support, { from: 13, to: 23, sessions: 16, weekend: 0.4 }],
  ['support-apac', support, { from: 0, to: 9, sessions: 14, weekend: 0.3 }],
  ['support-billing', support, { from: 8, to: 17, sessions: 13, weekend: 0 }],
  ['coding-web', coding, { from: 7, to: 17, sessions: 14, weekend: 0 }],
  ['coding-api', coding, { from: 8, to: 18, sessions: 16, weekend: 0.1 }],
  ['coding-mobile', coding, { from: 8, to: 17, sessions: 11, weekend: 0 }],
  ['coding-infra', coding, { from: 9, to: 19, sessions: 13, weekend: 0.2 }],
  ['data-sales', data, { from: 7, to: 17, sessions: 13, weekend: 0, batchAt: 2 }],
  ['data-events', data, { from: 8, to: 18, sessions: 14, weekend: 0, batchAt: 3 }],
  ['data-science', data, { from: 9, to: 19, sessions: 16, weekend: 0.2 }],
  ['data-export', data, { from: 6, to: 15, sessions: 11, weekend: 0, batchAt: 1 }],
  ['finance-invoices', finance, { from: 7, to: 16, sessions: 16, weekend: 0 }],
  ['finance-payouts', finance, { from: 8, to: 17, sessions: 13, weekend: 0, batchAt: 5 }],
  ['ops-oncall', ops, { from: 0, to: 24, sessions: 16, weekend: 0.9 }],
  ['ops-platform', ops, { from: 7, to: 17, sessions: 14, weekend: 0, batchAt: 6 }],
  ['ops-cost', ops, { from: 9, to: 18, sessions: 11, weekend: 0 }],
  ['marketing-crm', marketing, { from: 7, to: 16, sessions: 16, weekend: 0 }],
  ['marketing-mail', marketing, { from: 8, to: 17, sessions: 14, weekend: 0 }],
  ['marketing-events', marketing, { from: 9, to: 18, sessions: 13, weekend: 0.2 }],
];

const toUuid = (name: string): string => derivedId(hash('sha256', name));

function deskOf(kind: Kind, random: Random): Desk {
  const places = kind.places.filter(() => random.chance(0.7));
  return {
    random,
    customers: Array.from({ length: 40 }, () => newCustomer(random)),
    places: places.length > 0 ? places : kind.places,
    tokens: Object.fromEntries(kind.tokens.filter(isVendor).map((it) => [it, newToken(it, random)])),
  };
}

export const hire = (seed: string): readonly Agent[] =>
  staff.map(([name, kind]) => ({
    id: toUuid(`${seed} ${name}`),
    name,
    kind,
    desk: deskOf(kind, createRandom(`${seed} ${name}`)),
  }));

/** How busy it is at a part of the working day, 0 to 1: less at its ends, and at noon. */
function busyness(part: number): number {
  if (part < 0.1 || part > 0.92) return 0.5;
  return part > 0.45 && part < 0.55 ? 0.55 : 1;
}

/** Times at which a working day has its sessions: a Poisson process, thinned by how busy it is. */
function* sessionsOn(
  startMs: number,
  sessions: number,
  { from, to }: Hours,
  random: Random,
): Generator<number> {
  // Somebody is early now and then.
  const begin = from - (random.chance(0.1) ? random.fraction() * 0.75 : 0);
  const lengthMs = (to - begin) * hourMs;
  // Thinning leaves five of six.
  const meanMs = lengthMs / (sessions * 1.2);
  for (let atMs = random.exponential(meanMs); atMs < lengthMs; atMs += random.exponential(meanMs)) {
    if (random.chance(busyness(atMs / lengthMs))) yield Math.round(startMs + begin * hourMs + atMs);
  }
}

/** Lays out what is done in one go. */
export function* laidOut(agent: Agent, steps: readonly Step[], startMs: number): Generator<TimedStep> {
  let atMs = startMs;
  for (const { afterMs, ...step } of steps) {
    atMs += afterMs;
    yield { ...step, atMs, agent };
  }
}

function* weekOf(agent: Agent, hours: Hours, mondayMs: number): Generator<TimedStep> {
  const { random } = agent.desk;
  for (let day = 0; day < days; day += 1) {
    const startMs = mondayMs + day * dayMs;
    const usual = day < 5 ? 1 : hours.weekend;
    const sessions = hours.sessions * usual * (0.75 + 0.5 * random.fraction());
    if (sessions > 0) {
      for (const atMs of sessionsOn(startMs, sessions, hours, random))
        yield* laidOut(agent, random.pickWeighted(agent.kind.routines)(agent.desk), atMs);
    }
    if (hours.batchAt !== undefined && agent.kind.daily)
      yield* laidOut(
        agent,
        agent.kind.daily(agent.desk),
        startMs + hours.batchAt * hourMs + random.integer(60_000, 240_000),
      );
  }
}

/** All that the agents do in the week that begins there, by agent. */
export function* ordinaryWeek(agents: readonly Agent[], mondayMs: number): Generator<TimedStep> {
  for (const [at, agent] of agents.entries()) {
    const [, , hours] = staff[at] ?? [];
    if (hours) yield* weekOf(agent, hours, mondayMs);
  }
}
