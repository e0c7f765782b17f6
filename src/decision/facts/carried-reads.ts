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
/** The number of shingles of one agent's answers that shows a read. Fewer may be a turn of phrase. */
export const shinglesEnough = 3;
/** The most reads of one agent that one call names. */
const carriedMax = 16;
const depthMax = 3;
const none: readonly never[] = Object.freeze([]);

/**
 * Creates the function that finds carried reads. It costs nothing where nothing was read lately: only then is
 * the call taken apart. It does so whatever the method, since anything that goes outside can carry something.
 * A call that could not be read is denied for that.
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
    // Body and head are read each by itself. What is looked at is bounded, and a long body must not hide what
    // a header carries.
    const shingles = [ofWrite(bodyTexts(call)), ofWrite(headTexts(call))];
    const byContent = carriedIn(shingles, sightings, mayBe);
    return byContent.length > 0 ? byContent : byClass(call, mayBe);
  };
}

/** Tells whether an event is a read that the call may carry. */
type MayBe = (it: Sighting) => it is SensitiveRead;

/** Creates a test of events. Content that returns to where it came from has not left that place. */
function createMayBe(call: Reader): MayBe {
  const { receivedAtMs, traceId, tenant } = call;
  const goesTo = isForOthers(call, tenant) ? undefined : contentPlaceOf(call);
  return (it): it is SensitiveRead =>
    it.kind === 'read' &&
    receivedAtMs - it.atMs < carriedMs &&
    it.traceId !== traceId &&
    !isPlace(it, goesTo);
}

/**
 * Tells whether a read came from a place. A reported read has no host, and many destinations have none
 * either.
 */
const isPlace = ({ host, account }: SensitiveRead, place: ContentPlace | undefined): boolean =>
  host !== '' && host === place?.host && account === place.account;

/** The answers to one agent. Records that are read one by one can leave as a list. */
interface Answers {
  readonly reads: Map<SensitiveRead, number>;
  /** The number of distinct shingles of all these answers that the call has. */
  shared: number;
}

/**
 * Returns the reads of agents with enough shared shingles. It takes those of which most is in the call, and
 * puts certain ones last.
 */
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

/**
 * Returns the shingles that some read has, each with its reads. Nearly no shingle has one, so the others are
 * not kept.
 */
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

/**
 * Returns the agent's own reads with a class that the call has. That others have read something of the class
 * says nothing.
 */
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
 * Returns URL and headers in all their forms. They were decoded before, within the same bounds and in time.
 * Only headers that the agent writes count. Those of its client are the same in all calls of many agents, and
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

/**
 * Returns the body's texts without known credentials. A token that goes back to those who gave it out, or to
 * whom it was given out for, serves its purpose.
 */
const bodyTexts = ({ inspection, marks: { knownCredentials: known } }: Reader): readonly Buffer[] =>
  known.length === 0
    ? inspection.bodyTexts
    : inspection.bodyTexts.map((it) => Buffer.from(without(known, it.toString('latin1')), 'latin1'));

/**
 * The length from which a known credential is cut out. Shorter texts stand in any prose, which could not be
 * recognised without them.
 */
const knownLengthMin = 16;

const without = (known: readonly string[], text: string): string =>
  known.filter((it) => it.length >= knownLengthMin).reduce((left, it) => left.replaceAll(it, '\n'), text);

/** The length above which the name of a field may carry something. */
const fieldNameLengthMax = 40;

/** The length above which a field is not one of a client. */
const clientFieldLengthMax = 256;
/**
 * Comments of a client (RFC 9110, 10.1.5), of which two short ones may stand there. A quotation of 200
 * letters finds no room in them.
 */
const comment = /\([^()]{1,60}\)/g;
const commentsMax = 2;
const product = /^[\w!#$%&'*+.^`|~-]{1,20}(?:\/[\w!#$%&'*+.^`|~-]{1,20})?$/;
const productsMax = 8;
/** Media types, languages and codings (RFC 9110, 12.5), each with its weight. */
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
