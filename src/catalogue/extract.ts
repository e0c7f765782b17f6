import { unescape as decodePercent } from 'node:querystring';
import type { Resource, UnknownField } from '../core/call.ts';
import { addressesOf } from './addresses.ts';
import { type Extract, type OwnerField, type ResourceField, resourceFields } from './load/schema.ts';
import { presenceOf, type RequestSource, sourceOf, type TagSource, tagSourceOf } from './load/sources.ts';
import type { Capture } from './paths.ts';
import type { RequestReading } from './reading.ts';
import { describedRecipients } from './recipients.ts';

/**
 * Says where resource and principals stand: in places of the operation, then of its surface, then of its
 * tool.
 */
export interface Extraction {
  readonly fields: readonly { readonly field: ResourceField; readonly sources: readonly RequestSource[] }[];
  readonly tags: readonly TagSource[];
  readonly principals: readonly RequestSource[];
  /** The field or places that tell the owner; undefined for the organisation of the resource. */
  readonly owner: OwnerField | readonly RequestSource[] | undefined;
  /** The place of the mail itself; recipients may be described beside it. */
  readonly mail: RequestSource | undefined;
  /** Fields that a call acts on even where no place tells the value. */
  readonly unknown: readonly UnknownField[];
  /** Tells whether names in the path may have encoded slashes. */
  readonly decodesSlashes: boolean;
  /** Tells whether somebody is addressed even where no place tells who. */
  readonly addressesUnknown: boolean;
}

type Draft = { -readonly [Field in keyof Resource]: Resource[Field] };

/** Joins what an operation, its surface and its tool say, in this order. */
export function toExtraction(layers: readonly Extract[]): Extraction {
  const unknown = layers.flatMap((layer) => layer.unknown ?? []);
  const owner = layers.find((layer) => layer.owner !== undefined)?.owner;
  const mail = layers.find((layer) => layer.mail !== undefined)?.mail;
  return {
    fields: resourceFields
      .map((field) => ({ field, sources: layers.flatMap((layer) => layer[field]?.map(sourceOf) ?? []) }))
      .filter(({ sources }) => sources.length > 0),
    tags: layers.flatMap((layer) => layer.tags?.map(tagSourceOf) ?? []),
    principals: layers.flatMap((layer) => layer.principals?.map(sourceOf) ?? []),
    owner: Array.isArray(owner) ? owner.map(sourceOf) : owner,
    mail: mail === undefined ? undefined : presenceOf(mail),
    unknown: unknown.filter((it) => it !== 'principals'),
    addressesUnknown: unknown.includes('principals'),
    decodesSlashes: layers.some((layer) => layer.decode_slashes),
  };
}

const valueLengthMax = 512;
/** Bound on the tags of a call; AWS has 50 for each resource. With more tags the field counts as unknown. */
const tagsMax = 1000;
const principalsMax = 1000;
/**
 * The principal that stands for unread ones, such as the 1,001st. It is nobody's domain: no crowd hides a
 * stranger.
 */
const furtherPrincipals = '*';
const none: readonly never[] = [];

/** Reads the resource of a call. A placeholder of the matched template goes before any other place. */
export function readResource(
  extraction: Extraction,
  captures: readonly Capture[],
  reading: RequestReading,
): Resource {
  const resource: Draft = {};
  for (const { name } of captures) {
    const value = reading.placeholder(name) ?? '';
    if (isResourceField(name)) resource[name] = extraction.decodesSlashes ? withSlashes(value) : value;
  }
  for (const field of reading.hostFields) {
    if (isResourceField(field)) resource[field] ??= reading.placeholder(field) ?? '';
  }
  for (const { field, sources } of extraction.fields) {
    const value = resource[field] ?? valueAt(sources, reading);
    if (value !== undefined) resource[field] = value;
  }
  const tags = extraction.tags.flatMap((read) => read(reading));
  if (tags.length > 0) resource.tags = byName(tags.slice(0, tagsMax));
  const isTold = qualifyRepo(resource);
  const unknown = [...unknownFields(extraction, resource, reading), ...cutFields(resource)];
  if (tags.length > tagsMax) unknown.push('tags');
  if (!isTold) unknown.push('org', 'repo');
  if (unknown.length > 0) resource.unknown = [...new Set(unknown)];
  return resource;
}

/** Cuts fields that are longer than names are, and returns them: nobody can tell what such a value is. */
function cutFields(resource: Draft): readonly UnknownField[] {
  const long = resourceFields.filter((field) => (resource[field]?.length ?? 0) > valueLengthMax);
  for (const field of long) resource[field] = bounded(resource[field] ?? '');
  return long;
}

/** Returns a segment with its encoded slashes decoded, as other segments already are. */
const withSlashes = (name: string): string => (/%2f/i.test(name) ? decodePercent(name) : name);

/**
 * Returns fields of unknown value: those of the file, those of an unclear body, and a repository by its
 * number.
 */
function unknownFields(
  extraction: Extraction,
  resource: Draft,
  reading: RequestReading,
): readonly UnknownField[] {
  const isByNumber = resource.repo !== undefined && resource.org === undefined;
  if (!isByNumber && !reading.isUnclear && extraction.unknown.length === 0) return none;
  const fields: UnknownField[] = extraction.unknown.filter((field) => resource[field] === undefined);
  if (isByNumber) fields.push('org', 'repo');
  if (reading.isUnclear) {
    const isInBody = ({ field }: { field: UnknownField }) => reading.placeholder(field) === undefined;
    fields.push(...extraction.fields.filter(isInBody).map(({ field }) => field));
    if (extraction.tags.length > 0) fields.push('tags');
  }
  return fields;
}

const isResourceField = (name: string): name is ResourceField =>
  (resourceFields as readonly string[]).includes(name);

const bounded = (value: string): string =>
  value.length > valueLengthMax ? value.slice(0, valueLengthMax) : value;

/**
 * Returns the value that stands at the places. Several different values are joined by commas, since we cannot
 * know which of them the vendor takes. Joined they equal no name of a policy, so a rule that allows one name
 * allows no pair of names.
 */
function valueAt(sources: readonly RequestSource[], reading: RequestReading): string | undefined {
  const values = new Set<string>();
  for (const read of sources) for (const value of read(reading)) values.add(value);
  return values.size > 0 ? [...values].join(',') : undefined;
}

function byName(tags: readonly (readonly [name: string, value: string])[]): NonNullable<Resource['tags']> {
  const named = Map.groupBy(tags, ([name]) => bounded(name));
  // `fromEntries` defines own fields, even for a tag that is called `__proto__`.
  return Object.fromEntries(
    [...named].map(([name, list]) => [name, [...new Set(list.map(([, value]) => bounded(value)))]]),
  );
}

/** Bound on the repositories of one call, in all combinations. */
const reposMax = 100;

/**
 * Rewrites `repo` as `org/name`, without the `.git` that clones append. With several names or organisations,
 * joined by commas, it makes all combinations. Returns whether they can be told: nobody names over 100, or
 * writes over 512 characters, in good faith.
 */
function qualifyRepo(resource: Draft): boolean {
  const { repo, org } = resource;
  if (repo === undefined) return true;
  if (Math.max(repo.length, org?.length ?? 0) > valueLengthMax) return false;
  const names = repo.split(',').map((name) => (name.endsWith('.git') ? name.slice(0, -4) : name));
  const slash = names[0]?.indexOf('/') ?? -1;
  if (slash > 0) resource.org ??= names[0]?.slice(0, slash) ?? '';
  const orgs = resource.org?.split(',') ?? [];
  if (names.length * Math.max(1, orgs.length) > reposMax) return false;
  const whole = names.flatMap((name) =>
    name.indexOf('/') > 0 || orgs.length === 0 ? name : orgs.map((it) => `${it}/${name}`),
  );
  resource.repo = whole.join(',');
  return true;
}

/**
 * Returns the owners of what the call acts on, where they are told by something else than the organisation.
 * Returns undefined where the organisation tells them.
 */
export function readOwners(
  { owner }: Extraction,
  resource: Resource,
  reading: RequestReading,
): readonly string[] | undefined {
  if (owner === undefined) return undefined;
  if (owner === 'nobody') return none;
  if (typeof owner === 'string') return resource[owner]?.split(',') ?? none;
  return owner.flatMap((read) => read(reading)).slice(0, principalsMax);
}

/** Returns the principals that the call addresses, each once, at most 1000 and then `*` for the rest. */
export function readPrincipals(
  { principals: sources, mail, addressesUnknown }: Extraction,
  reading: RequestReading,
): readonly string[] {
  if (sources.length === 0) return addressesUnknown ? [furtherPrincipals] : none;
  const principals = new Set<string>();
  const add = (read: RequestSource): boolean => {
    for (const value of read(reading)) {
      for (const principal of addressesOf(value)) {
        principals.add(bounded(principal));
        if (principals.size >= principalsMax) return false;
      }
    }
    return true;
  };
  if (!sources.every(add)) return [...principals, furtherPrincipals];
  let isTold = principals.size > 0;
  if (mail) {
    if (!add(describedRecipients)) return [...principals, furtherPrincipals];
    // Recipients beside a mail hide nobody whom the mail itself may go to.
    isTold ||= principals.size > 0 && mail(reading).length === 0;
  }
  // Nobody can tell whom an unclear body addresses: it may be a stranger.
  if (reading.isUnclear || (addressesUnknown && !isTold)) principals.add(furtherPrincipals);
  return principals.size > 0 ? [...principals] : none;
}
