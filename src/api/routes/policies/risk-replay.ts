import { z } from 'zod';
import { type Band, bands } from '../../../core/call.ts';
import type { Gate } from '../../../decision/gate.ts';
import type { Trace } from '../../../decision/simulation/call-of-trace.ts';
import { recordedRisk, rescore, type ScoredRisk } from '../../../decision/simulation/rescore.ts';
import type { BandBounds, SignalWeights } from '../../../risk/signals/score.ts';
import { band, instant, ofTenant, uuid } from '../../fields/fields.ts';
import { invalid } from '../../fields/invalid.ts';
import { toFilter } from '../../fields/trace-query.ts';
import { createPause } from '../../pause.ts';
import { type ApiRequest, routesOf } from '../../route.ts';

const route = routesOf('activity');

const tracesMax = 10_000;
const tracesDefault = 1000;
const idsMax = 1000;
const tracesAtOnce = 200;
/** Changed calls that one answer names. */
const changedMax = 1000;
/** Replays that one key may run at once. */
const replaysMax = 1;

const fraction = z.number().min(0).max(1);

const replayRequest = z
  .strictObject({
    ...ofTenant,
    weights: z
      .record(z.string().max(64), fraction)
      .default({})
      .describe('By engine; those left out are in force'),
    bands: z
      .strictObject({ MEDIUM: fraction, HIGH: fraction, CRITICAL: fraction })
      .partial()
      .default({})
      .describe('From which score on; those left out are in force'),
    trace_ids: z.array(uuid).min(1).max(idsMax).optional().describe('These traces, instead of the newest'),
    agent_id: uuid.optional(),
    from: instant.optional().describe('Inclusive'),
    to: instant.optional().describe('Exclusive'),
    limit: z
      .int()
      .min(1)
      .max(tracesMax)
      .optional()
      .describe(`The newest so many; ${tracesDefault} if absent`),
  })
  .refine((it) => !it.trace_ids || [it.agent_id, it.from, it.to, it.limit].every((by) => by === undefined), {
    path: ['trace_ids'],
    error: 'stands alone: leave out agent_id, from, to and limit',
  });

type ReplayRequest = z.output<typeof replayRequest>;
type Request = ApiRequest<ReplayRequest, unknown>;

const publicRisk = z.object({ risk_score: fraction, risk_band: band });
const counts = z.record(band, z.int());

const replayAnswer = z
  .object({
    traces: z.int().describe('Looked at'),
    undetermined: z.int().describe('Of these: refused before they were weighed, or not kept any more'),
    bands: z.object({ before: counts, after: counts }),
    changed_total: z.int(),
    changed: z
      .array(z.object({ trace_id: z.uuid(), before: publicRisk, after: publicRisk }))
      .describe(`The first ${changedMax} of them`),
  })
  .meta({ id: 'RiskReplay' });

type Replay = z.infer<typeof replayAnswer>;

/** `POST /v1/risk/replay` scores recorded calls by other weights and bands. It changes nothing. */
export const replayRisk = route('POST /v1/risk/replay', {
  summary: 'Score recorded calls with other weights and bands',
  access: 'activity:read',
  body: replayRequest,
  perKeyMax: replaysMax,
  answer: replayAnswer,
  async handle(request) {
    const { gate, body } = request;
    const weights = weightsOf(gate, body);
    const bounds = boundsOf(gate, body);
    const replay = emptyReplay();
    for await (const traces of tracesOf(request))
      for (const line of traces) {
        const trace = line === undefined ? undefined : (JSON.parse(line) as Trace);
        const before = trace && recordedRisk(trace);
        replay.traces += 1;
        if (trace && before) note(replay, trace.trace_id, before, rescore(trace, weights, bounds));
        else replay.undetermined += 1;
      }
    return replay;
  },
});

function weightsOf({ simulator }: Gate, { weights: given }: ReplayRequest): SignalWeights {
  const engines = Object.keys(simulator.weights);
  const errors = Object.keys(given)
    .filter((name) => !engines.includes(name))
    .map((name) => ({ path: `weights.${name}`, message: `is no engine; there are ${engines.join(', ')}` }));
  if (errors.length > 0) throw invalid(errors);
  const weights = { ...simulator.weights, ...given };
  if (Object.values(weights).every((it) => it === 0))
    throw invalid([{ path: 'weights', message: 'at least one weight must be above 0' }]);
  return weights;
}

function boundsOf({ simulator }: Gate, { bands: given }: ReplayRequest): BandBounds {
  const { bounds } = simulator;
  const { MEDIUM = bounds.MEDIUM, HIGH = bounds.HIGH, CRITICAL = bounds.CRITICAL } = given;
  const errors = [];
  if (MEDIUM >= HIGH)
    errors.push({ path: 'bands.HIGH', message: `must be above MEDIUM, which is ${MEDIUM}` });
  if (HIGH >= CRITICAL)
    errors.push({ path: 'bands.CRITICAL', message: `must be above HIGH, which is ${HIGH}` });
  if (errors.length > 0) throw invalid(errors);
  return { MEDIUM, HIGH, CRITICAL };
}

/** Yields the traces asked for, some at a time, undefined for a missing one. Others have turns in between. */
async function* tracesOf(request: Request): AsyncGenerator<readonly (string | undefined)[]> {
  const { gate, body, signal, tenantId } = request;
  const { trace_ids, agent_id, from, to, limit } = body;
  const tenant = tenantId();
  const pause = createPause(signal());
  if (trace_ids) {
    for (const id of new Set(trace_ids)) {
      yield [await gate.store.traceById(tenant, id)];
      await pause();
    }
    return;
  }
  const filter = toFilter({ agent_id, from, to });
  let rest = limit ?? tracesDefault;
  let cursor: string | undefined;
  do {
    const page = await gate.store.listTraces(tenant, filter, { limit: Math.min(rest, tracesAtOnce), cursor });
    yield page.items;
    rest -= page.items.length;
    cursor = page.nextCursor ?? undefined;
    // A page may be empty and still have a next one.
    await pause();
  } while (cursor !== undefined && rest > 0);
}

const none = (): Record<Band, number> =>
  Object.fromEntries(bands.map((it) => [it, 0])) as Record<Band, number>;

const emptyReplay = (): Replay => ({
  traces: 0,
  undetermined: 0,
  bands: { before: none(), after: none() },
  changed_total: 0,
  changed: [],
});

function note(replay: Replay, trace_id: string, before: ScoredRisk, after: ScoredRisk): void {
  replay.bands.before[before.band] += 1;
  replay.bands.after[after.band] += 1;
  if (before.score === after.score && before.band === after.band) return;
  replay.changed_total += 1;
  if (replay.changed.length < changedMax)
    replay.changed.push({ trace_id, before: show(before), after: show(after) });
}

const show = ({ score, band }: ScoredRisk): z.infer<typeof publicRisk> => ({
  risk_score: score,
  risk_band: band,
});
