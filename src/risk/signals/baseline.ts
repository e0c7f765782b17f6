import type { InspectedCall } from '../../core/call.ts';
import { type Habits, sizeClassOf, sizedMin, sizeStepMin } from '../../core/history.ts';
import { joined, type SafeName, safely } from '../../core/safe-name.ts';
import type { SignalEngine } from './engine.ts';

/** The number of calls from which it is known what is usual for an agent. */
export const callsMin = 50;
/** The time after an agent's first call from which an hour can be unusual. It spans several days. */
export const hourKnownMs = 3 * 86_400_000;
/** The share of calls around an hour that makes the hour usual, and a number of calls that always does. */
const usualHourShare = 0.01;
const usualHourCalls = 10;
/** The size, in bytes, below which no body is unusual. Smaller ones carry little. */
export const sizeBytesMin = 4_096;
const deviationsMax = 4;

interface Oddity {
  readonly score: number;
  readonly details: SafeName;
}

/** Reports what is new for the agent: a host, an operation of a known tool, an hour, a much larger body. */
export const baseline: SignalEngine = {
  name: 'baseline',
  assess(call) {
    if (call.history.habits.calls < callsMin) return undefined;
    const oddities = [newHost(call), newOperation(call), unusualHour(call), unusualSize(call)].filter(
      (it) => it !== undefined,
    );
    if (oddities.length === 0) return undefined;
    // The oddities are combined as independent causes: together they weigh more, and never more than 1.
    const score = 1 - oddities.reduce((left, it) => left * (1 - it.score), 1);
    return {
      engine: 'baseline',
      name: 'BASELINE_ANOMALY',
      score: Math.round(score * 100) / 100,
      details: joined(
        oddities.map((it) => it.details),
        '; ',
      ),
    };
  },
};

const newHost = ({ history }: InspectedCall): Oddity | undefined =>
  history.isNewHost ? { score: 0.5, details: safely`the agent has never called this host` } : undefined;

const newOperation = ({ history, operation, safeName }: InspectedCall): Oddity | undefined =>
  history.isNewOperation
    ? {
        score: 0.3,
        details: safely`the agent knows ${safeName(operation.toolName)}, but has never done this with it`,
      }
    : undefined;

function unusualHour({ history: { habits }, receivedAtMs }: InspectedCall): Oddity | undefined {
  const { calls, firstMs, callsAroundHour } = habits;
  if (
    receivedAtMs - firstMs < hourKnownMs ||
    callsAroundHour >= Math.max(usualHourCalls, calls * usualHourShare)
  )
    return undefined;
  const hour = new Date(receivedAtMs).getUTCHours();
  return {
    score: 0.4,
    details: safely`the agent hardly ever calls around ${hour}:00 UTC (${callsAroundHour} of ${calls} calls)`,
  };
}

function unusualSize({ history: { habits }, body }: InspectedCall): Oddity | undefined {
  if (habits.sized < sizedMin || body.length < sizeBytesMin) return undefined;
  const { mean, deviation } = sizesOf(habits);
  if (sizeClassOf(body.length) <= mean + Math.max(deviationsMax * deviation, sizeStepMin)) return undefined;
  const usualBytes = Math.round(2 ** (mean / 8));
  return {
    score: 0.6,
    details: safely`a body of ${body.length} bytes, where ${usualBytes} are usual for the agent`,
  };
}

function sizesOf({ sized, sizeSum, sizeSquares }: Habits): { mean: number; deviation: number } {
  const mean = sizeSum / sized;
  return { mean, deviation: Math.sqrt(Math.max(0, sizeSquares / sized - mean * mean)) };
}
