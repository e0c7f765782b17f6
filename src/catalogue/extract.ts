import type { Resource } from '../call.ts';
import type { Capture } from './paths.ts';
import type { Reading } from './reading.ts';
import { type Extract, type ResourceField, resourceFields } from './schema.ts';
import type { Source, TagSource } from './sources.ts';

/** Where resource and principals of an operation are told: the operation's places first, then the surface's, then the tool's. */
export interface Extraction {
  readonly fields: readonly { readonly field: ResourceField; readonly sources: readonly Source[] }[];
  readonly tags: readonly TagSource[];
  readonly principals: readonly Source[];
}

/** Joins what an operation, its surface and its tool say, in this order. */
export function toExtraction(layers: readonly Extract[]): Extraction {
  return {
    fields: resourceFields
      .map((field) => ({ field, sources: layers.flatMap((layer) => layer[field] ?? []) }))
      .filter(({ sources }) => sources.length > 0),
    tags: layers.flatMap((layer) => layer.tags ?? []),
    principals: layers.flatMap((layer) => layer.principals ?? []),
  };
}

const valueLengthMax = 512;
const tagsMax = 100;
const principalsMax = 1000;
/** Stands for the principals past the thousandth: nobody's domain, so that a crowd never hides a stranger. */
const furtherPrincipals = '*';
const none: readonly string[] = [];

/** What the call acts on. A placeholder of the matched template goes before any other place. */
export function readResource(
  extraction: Extraction,
  captures: readonly Capture[],
  reading: Reading,
): Resource {
  const resource: { -readonly [Field in keyof Resource]: Resource[Field] } = {};
  for (const { name } of captures) {
    if (isResourceField(name)) resource[name] = bounded(reading.placeholder(name) ?? '');
  }
  for (const field of reading.hostFields) {
    if (isResourceField(field)) resource[field] ??= bounded(reading.placeholder(field) ?? '');
  }
  for (const { field, sources } of extraction.fields) {
    if (resource[field] !== undefined) continue;
    const value = firstOf(sources, reading);
    if (value !== undefined) resource[field] = bounded(value);
  }
  const tags = extraction.tags.length > 0 ? readTags(extraction.tags, reading) : undefined;
  if (tags) resource.tags = tags;
  return qualifyRepo(resource);
}

const isResourceField = (name: string): name is ResourceField =>
  (resourceFields as readonly string[]).includes(name);

const bounded = (value: string): string =>
  value.length > valueLengthMax ? value.slice(0, valueLengthMax) : value;

/**
 * The value at the first place that has one. Where a place has several different ones, we cannot know which the vendor takes:
 * joined by commas they equal no name of a policy, so that a rule that allows one name allows no pair of names.
 */
function firstOf(sources: readonly Source[], reading: Reading): string | undefined {
  for (const read of sources) {
    const values = read(reading);
    if (values.length === 1) return values[0];
    if (values.length > 1) return [...new Set(values)].join(',');
  }
  return undefined;
}

function readTags(sources: readonly TagSource[], reading: Reading): Record<string, string> | undefined {
  const tags = sources.flatMap((read) => read(reading)).slice(0, tagsMax);
  if (tags.length === 0) return undefined;
  // fromEntries defines own fields, also for a tag that is called __proto__.
  return Object.fromEntries(tags.map(([name, value]) => [bounded(name), bounded(value)]));
}

/** `repo` is `org/name`, without the `.git` that clones append. */
function qualifyRepo(resource: { -readonly [Field in keyof Resource]: Resource[Field] }): Resource {
  if (resource.repo === undefined) return resource;
  const name = resource.repo.endsWith('.git') ? resource.repo.slice(0, -'.git'.length) : resource.repo;
  const slash = name.indexOf('/');
  if (slash > 0) resource.org ??= name.slice(0, slash);
  resource.repo = slash > 0 || resource.org === undefined ? name : `${resource.org}/${name}`;
  return resource;
}

/** `Ann <ann@acme.com>` is ann@acme.com. */
function addressOf(text: string): string {
  const open = text.endsWith('>') ? text.lastIndexOf('<') : -1;
  return open < 0 ? text : text.slice(open + 1, -1);
}

/** Whom the call addresses, each once, at most 1000 and then `*` for the rest. */
export function readPrincipals(sources: readonly Source[], reading: Reading): readonly string[] {
  if (sources.length === 0) return none;
  const principals = new Set<string>();
  for (const read of sources) {
    for (const value of read(reading)) {
      for (const name of value.split(',')) {
        const principal = addressOf(name.trim());
        if (principal !== '') principals.add(bounded(principal));
        if (principals.size >= principalsMax) return [...principals, furtherPrincipals];
      }
    }
  }
  return principals.size > 0 ? [...principals] : none;
}
