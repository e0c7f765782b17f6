import type { Call, CarriedRead } from '../call.ts';
import type { TenantConfig } from '../config/schema.ts';
import type { SensitiveRead, Sightings } from '../history.ts';
import type { Shingler } from '../text/shingles.ts';
import { goesOutside } from './external.ts';
import { classesOf } from './opinion.ts';

/** What of earlier answers a call carries out of the organisation. */
export type FindCarriedReads = (call: Call, tenant: TenantConfig) => readonly CarriedRead[];

/** What is sent later than this after it was read is not brought together with it. */
export const carriedMs = 5 * 60_000;
/** Fewer may be a turn of phrase. */
export const shinglesEnough = 3;
/** That one call names. */
const carriedMax = 16;
/** A longer query, path or body of a call that reads can hold a good piece of content. */
const carrierLengthMin = 200;
const none: readonly never[] = Object.freeze([]);

/** Costs nothing where nothing was read lately: only then is the call taken apart. */
export function createCarriedReads(shinglerOf: (tenantId: string) => Shingler): FindCarriedReads {
  return function findCarriedReads(call, tenant) {
    const { sightings } = call;
    if (!sightings.hasReads || !isWrite(call) || !goesOutside(call, tenant)) return none;
    const { target, receivedAtMs } = call;
    // What goes back to where it came from has not left it.
    const mayBe = (it: SensitiveRead): boolean =>
      receivedAtMs - it.atMs < carriedMs && it.host !== target.host && it.traceId !== call.traceId;
    const byContent = readsIn(shinglerOf(tenant.id).ofWrite(textsOf(call)), sightings).filter(mayBe);
    const found: CarriedRead[] = byContent.map((read) => ({ read, by: 'content' }));
    if (found.length === 0) found.push(...byClass(call, mayBe));
    return found.slice(-carriedMax);
  };
}

const isWrite = ({ operation, target, body }: Call): boolean =>
  operation?.verb !== 'READ' || Math.max(target.path.length, body.length) >= carrierLengthMin;

/** The reads of which enough is in there. */
function readsIn(shingles: Float64Array, sightings: Sightings): readonly SensitiveRead[] {
  const shared = new Map<SensitiveRead, number>();
  for (const shingle of shingles)
    for (const read of sightings.readsWith(shingle)) shared.set(read, (shared.get(read) ?? 0) + 1);
  return [...shared].filter(([, count]) => count >= shinglesEnough).map(([read]) => read);
}

/** Only of the agent's own: that others have read something of the class says nothing. */
function byClass(call: Call, mayBe: (it: SensitiveRead) => boolean): CarriedRead[] {
  const classes = classesOf(call);
  if (classes.length === 0) return [];
  return call.sightings.all
    .filter((it) => it.kind === 'read')
    .filter((it) => it.agentId === call.identity?.agentId && mayBe(it))
    .filter((it) => it.classes.some((name) => classes.includes(name)))
    .map((read) => ({ read, by: 'class' }));
}

/** The body in all its forms, and what a query can carry. */
function textsOf({ bodyTexts, target }: Call): readonly Buffer[] {
  if (target.path.length < carrierLengthMin) return bodyTexts;
  return [...bodyTexts, Buffer.from(decoded(target.path))];
}

/** As a lenient server reads it: what is no escape stands for itself, and what is no UTF-8 for nothing. */
const decoded = (path: string): string =>
  path
    .replaceAll('+', ' ')
    .replace(/(?:%[0-9a-f]{2})+/gi, (run) => Buffer.from(run.replaceAll('%', ''), 'hex').toString());
