import type { TenantConfig } from '../../config/schema.ts';
import type { CarriedRead, InspectedCall } from '../../core/call.ts';
import type { SensitiveRead, Shingles, Sighting, Sightings } from '../../core/history.ts';
import { decodeViews } from '../../inspect/decode/views.ts';
import type { Shingler } from '../../inspect/fingerprint/shingles.ts';
import { isCertain } from '../../risk/signals/read-then-write.ts';
import { type ContentPlace, contentPlaceOf, isForOthers } from '../../tenants/external.ts';
import { classesOf } from '../verdict.ts';

/** Finds content of earlier answers that a call carries out of the organisation. */
export type FindCarriedReads = (call: Reader, isExternal: boolean) => readonly CarriedRead[];

type Reader = InspectedCall<TenantConfig>;

/** The time after a read in which a call can be matched with it. */
export const carriedMs = 5 * 60_000;
/** Shingles of one agent's answers; fewer may be a turn of phrase. */
export const shinglesEnough = 3;
/** Reads of one agent that one call names. */
const carriedMax = 16;
const depthMax = 3;
const none: readonly never[] = Object.freeze([]);

/**
 * Costs nothing where nothing was read lately: only then is the call taken apart, whatever its method, for
 * anything that goes outside can carry something. A call that could not be read is denied for that.
 */
export function createCarriedReads(shinglerOf: (tenantId: string) => Shingler): FindCarriedReads {
  return function findCarriedReads(call, isExternal) {
    const { tenant, history, readings } = call;
    const { sightings } = history;
    if (!sightings.hasReads || readings.unreadable !== undefined) return none;
    if (!isExternal && !isForOthers(call, tenant)) return none;
    const mayBe = createMayBe(call);
    if (!sightings.all.some(mayBe)) return none;
    const { ofWrite } = shinglerOf(tenant.id);
    // Each by itself: it is bounded what is looked at, and a long body must not hide what a header carries.
    const shingles = [ofWrite(bodyTexts(call)), ofWrite(headTexts(call))];
    const byContent = carriedIn(shingles, sightings, mayBe);
    return byContent.length > 0 ? byContent : byClass(call, mayBe);
  };
}

/** Tells whether an event is a read that the call may carry. */
type MayBe = (it: Sighting) => it is SensitiveRead;

/** Content that returns to where it came from has not left it. */
function createMayBe(call: Reader): MayBe {
  const { receivedAtMs, traceId, tenant } = call;
  const goesTo = isForOthers(call, tenant) ? undefined : contentPlaceOf(call);
  return (it): it is SensitiveRead =>
    it.kind === 'read' &&
    receivedAtMs - it.atMs < carriedMs &&
    it.traceId !== traceId &&
    !isPlace(it, goesTo);
}

/** A reported read has no host, and many destinations have none either. */
const isPlace = ({ host, account }: SensitiveRead, place: ContentPlace | undefined): boolean =>
  host !== '' && host === place?.host && account === place.account;

/** The answers of one agent: records that are read one by one leave as a list. */
interface Answers {
  readonly reads: Map<SensitiveRead, number>;
  /** Distinct ones that the call has of all of them. */
  shared: number;
}

/** The reads of agents with enough shared shingles, of which most is in the call; certain ones come last. */
function carriedIn(
  shingles: readonly Shingles[],
  sightings: Sightings,
  mayBe: MayBe,
): readonly CarriedRead[] {
  const groups = new Map<string, Answers>();
  for (const known of knownOf(shingles, sightings).values()) {
    const seen = new Set<Answers>();
    for (const read of known) {
      if (!mayBe(read)) continue;
      // Slight reads do not add to grave ones.
      const name = `${read.agentId} ${read.isSlight === true}`;
      const answers = groups.get(name) ?? { reads: new Map(), shared: 0 };
      groups.set(name, answers);
      answers.reads.set(read, (answers.reads.get(read) ?? 0) + 1);
      seen.add(answers);
    }
    for (const answers of seen) answers.shared += 1;
  }
  return [...groups.values()]
    .filter(({ shared }) => shared >= shinglesEnough)
    .flatMap(({ reads: found }) => [...found].sort(([, a], [, b]) => a - b).slice(-carriedMax))
    .map(([read]): CarriedRead => ({ read, by: 'content' }))
    .sort((a, b) => Number(isCertain(a)) - Number(isCertain(b)));
}

/** Returns those that some read has, once each. Nearly none is, so the others are not kept. */
function knownOf(
  shingles: readonly Shingles[],
  sightings: Sightings,
): ReadonlyMap<number, readonly SensitiveRead[]> {
  const known = new Map<number, readonly SensitiveRead[]>();
  for (const list of shingles)
    for (let at = 0; at < list.length; at += 1) {
      const shingle = list[at] as number;
      const reads = sightings.readsWith(shingle);
      if (reads.length > 0) known.set(shingle, reads);
    }
  return known;
}

/** Only of the agent's own: that others have read something of the class says nothing. */
function byClass(call: Reader, mayBe: MayBe): readonly CarriedRead[] {
  const classes = classesOf(call);
  if (classes.length === 0) return none;
  return call.history.sightings.all
    .filter(mayBe)
    .filter((it) => it.agentId === call.identity.agentId)
    .filter((it) => it.classes.some((name) => classes.includes(name)))
    .slice(-carriedMax)
    .map((read) => ({ read, by: 'class' }));
}

/**
 * URL and headers in all their forms: they were decoded before, within the same bounds and in time. Of
 * headers only those count that the agent writes. Its client's are the same in all calls of many agents, and
 * anybody can put them on a page.
 */
function headTexts({ target, headers, marks, tenant }: Reader): readonly Buffer[] {
  const texts = [target.href, target.fragment];
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const [name = '', value = ''] = [headers[i], headers[i + 1]];
    if (name.length > fieldNameLengthMax) texts.push(name);
    if (!isOfClient(name.toLowerCase(), value)) texts.push(value);
  }
  const text = Buffer.from(without(marks.knownCredentials, texts.join('\n')), 'latin1');
  const { views } = decodeViews(text, {
    maxDecodedBytes: tenant.maxDecodedBytes,
    depthMax,
    isOver: () => false,
  });
  return views.map((it) => it.bytes);
}

/** A token goes back to those who gave it out, or to whom it was given out for: that is what it is for. */
const bodyTexts = ({ inspection, marks: { knownCredentials: known } }: Reader): readonly Buffer[] =>
  known.length === 0
    ? inspection.bodyTexts
    : inspection.bodyTexts.map((it) => Buffer.from(without(known, it.toString('latin1')), 'latin1'));

/** Shorter texts stand in any prose: without them nothing of it would be known again. */
const knownLengthMin = 16;

const without = (known: readonly string[], text: string): string =>
  known.filter((it) => it.length >= knownLengthMin).reduce((left, it) => left.replaceAll(it, '\n'), text);

/** Longer ones carry something. */
const fieldNameLengthMax = 40;

/** A longer field is that of no client. */
const clientFieldLengthMax = 256;
/** RFC 9110, 10.1.5, with two short comments: who quotes something finds no room for 200 letters of it. */
const comment = /\([^()]{1,60}\)/g;
const commentsMax = 2;
const product = /^[\w!#$%&'*+.^`|~-]{1,20}(?:\/[\w!#$%&'*+.^`|~-]{1,20})?$/;
const productsMax = 8;
/** RFC 9110, 12.5: media types, languages and codings, each with what weighs it. */
const preference =
  /^(?:[a-z*]{1,11}\/[\w*.+-]{1,40}|[a-z]{1,3}(?:-[0-9A-Za-z]{2,4}){0,2}|\*|gzip|deflate|identity|compress|zstd)(?:;(?:q|v)=[\w.]{1,5}){0,2}$/;

function isOfClient(name: string, value: string): boolean {
  if (value.length > clientFieldLengthMax) return false;
  if (name.startsWith('accept')) return value.split(/, ?/).every((it) => preference.test(it));
  if (name !== 'user-agent') return false;
  const words = value.replace(comment, '').split(/ +/).filter(Boolean);
  const comments = value.match(comment)?.length ?? 0;
  return comments <= commentsMax && words.length <= productsMax && words.every((it) => product.test(it));
}
