import type { Verb } from '../../core/call.ts';
import { lazily } from '../../util/lazily.ts';
import { type Extraction, toExtraction } from '../extract.ts';
import {
  graphqlMeaning,
  type Named,
  type RequestMeaning,
  rpcMeaning,
  shortMethod,
  strictness,
  verbOf,
} from '../meaning.ts';
import { capturesOf, templateOf } from '../paths.ts';
import { requestsOf } from '../protocols/batch.ts';
import type { RequestReading } from '../reading.ts';
import { type GroupedSurface, groupedSurface, type SurfaceFrame, toRoute } from './groups.ts';
import { type NamedOperation, operationsAt, operationsOf, surfacesOf } from './operations.ts';
import { type MatchedPath, type PathEntry, PathTable } from './routes.ts';
import type { OperationEntry, Tool } from './schema.ts';
import { presenceOf, sourceOf } from './sources.ts';
import type { TemplatePart } from './template.ts';

/** A thing that a path may mean, before the request is asked whether it means it. */
interface Meant {
  readonly conditions: number;
  /** The strictest verb that it may have. */
  readonly verb: Verb;
  /** The name by which messages about mistakes in the table call it. */
  readonly label: string;
  /** Tells whether other surfaces are asked before this meaning counts. */
  readonly isFallback?: true;
  /** Returns the meaning of the request, or undefined where it is something else. */
  meaning(reading: RequestReading, method: string): RequestMeaning | undefined;
}

/** A thing that a path may mean, found by its route. */
export type Candidate = MatchedPath<Meant>;

/** The operations of a surface. Each part of it is compiled when the first call asks for it. */
export type CompiledSurface = ReturnType<typeof compileSurface>;

/** Returns the mistakes of a tool that only show between its entries. */
export function mistakesIn(tool: Tool): readonly string[] {
  const mistakes: string[] = [];
  checkNames(tool, mistakes);
  for (const surface of surfacesOf(tool)) {
    for (const { name, entry } of operationsAt(surface)) {
      if (entry.rpc && !surface.rpc) mistakes.push(`${tool.name}: ${name}: its surface has no rpc`);
      if (entry.graphql && !surface.graphql)
        mistakes.push(`${tool.name}: ${name}: its surface has no graphql`);
    }
    compileRoutes(groupedSurface(tool, surface), (candidates) => {
      const [first, second] = candidates.filter(({ conditions }) => conditions === 0);
      if (first && second)
        mistakes.push(`${tool.name}: ${first.label} and ${second.label} have the same method and path`);
    }).routes.compileAll();
  }
  return mistakes;
}

/**
 * Checks that each name has one verb in a tool, since the name is part of the API. Its category may differ,
 * as with AWS services.
 */
function checkNames(tool: Tool, mistakes: string[]): void {
  const known = new Map<string, Verb>();
  for (const { name, verb } of operationsOf(tool)) {
    const first = known.get(name) ?? verb;
    if (first !== verb) mistakes.push(`${tool.name}: ${name} is both ${first} and ${verb}`);
    known.set(name, first);
  }
}

export function compileSurface(surface: GroupedSurface) {
  const { routes, extraction } = compileRoutes(surface, order);
  return {
    /** Returns all that a method and path may mean, in the order in which the meanings are to be asked. */
    find: (method: string, segments: readonly string[], inAnyCase: boolean) =>
      routes.find(method, segments, inAnyCase),
    /** Returns the meaning of a path without an operation. */
    unknown: (method: string, template: string) =>
      unknownMeaning(surface.frame, extraction(), method, template),
  };
}

function compileRoutes(
  { frame, methods, groups: { byLength, ofAnyLength, named } }: GroupedSurface,
  prepare: (candidates: Candidate[]) => void,
) {
  const extraction = lazily(() => toExtraction(frame.layers));
  const meaningOf = (operation: NamedOperation) => lazily(() => toMeaning(operation, frame, extraction));
  const compiled = (operations: () => readonly NamedOperation[]) =>
    lazily(() => operations().flatMap((it) => routesOf(it, meaningOf(it))));
  const byAction = lazily(() => meaningsByName(named(), 'rpc', meaningOf));
  const byField = lazily(() => meaningsByName(named(), 'graphql', meaningOf));
  const ofSurface = [
    ...protocolRoutes(frame, extraction, {
      rpc: (name) => byAction().get(name)?.(),
      graphql: (name) => byField().get(name)?.(),
    }),
    ...baseRoutes(frame, extraction),
  ];
  const ofAny = compiled(ofAnyLength);
  const routes = new PathTable<Meant>(
    {
      bases: frame.base_paths,
      byLength: new Map([...byLength].map(([length, operations]) => [length, compiled(operations)])),
      ofAnyLength: lazily(() => [...ofAny(), ...ofSurface]),
      methods: [...methods, ...ofSurface.flatMap(({ route }) => toRoute(route).methods)],
    },
    frame.ignore_case,
    prepare,
  );
  return { routes, extraction };
}

function meaningsByName(
  operations: readonly NamedOperation[],
  list: 'rpc' | 'graphql',
  meaningOf: (operation: NamedOperation) => () => RequestMeaning,
): ReadonlyMap<string, () => RequestMeaning> {
  const entries = operations.map((it) => [it.entry[list] ?? [], meaningOf(it)] as const);
  return new Map(entries.flatMap(([names, meaning]) => names.map((name) => [name, meaning] as const)));
}

function routesOf(operation: NamedOperation, meaning: () => RequestMeaning): PathEntry<Meant>[] {
  const of = lazily(() => toMeant(operation, meaning));
  return (operation.entry.call ?? []).map((route) => ({ route, of }));
}

/** Returns routes for paths that stand for many things, which the request tells apart. */
function protocolRoutes(
  { rpc, graphql, batch: batches = [] }: SurfaceFrame,
  extraction: () => Extraction,
  named: { readonly rpc: Named; readonly graphql: Named },
): PathEntry<Meant>[] {
  const any = { conditions: 0, verb: 'ADMIN' } as const;
  const at = (calls: readonly string[], label: string, meaning: Meant['meaning']): PathEntry<Meant>[] =>
    calls.map((route) => ({ route, of: () => ({ ...any, label, meaning }) }));
  const procedures = lazily(() => rpc && { ...rpc, actions: rpc.action.map(sourceOf) });
  return [
    ...at(rpc?.call ?? [], 'rpc', (reading) => {
      const known = procedures();
      return known && rpcMeaning(known, named.rpc, extraction(), reading);
    }),
    ...at(graphql?.call ?? [], 'graphql', (reading) => graphqlMeaning(named.graphql, extraction(), reading)),
    // Servers take a document in the query, too (GraphQL over HTTP, 6.2).
    ...at(byGet(graphql?.call ?? []), 'graphql by GET', (reading) =>
      reading.graphql().length > 0 ? graphqlMeaning(named.graphql, extraction(), reading) : undefined,
    ),
    ...batches.flatMap((batch) =>
      at(batch.call, 'batch', (reading) => ({
        ...{ name: 'batch', category: 'batch', verb: 'ADMIN', extraction: extraction() },
        batch: { requests: requestsOf(batch, reading) },
      })),
    ),
  ];
}

/** Returns routes of the same paths for GET, but for those that there are already. */
function byGet(calls: readonly string[]): readonly string[] {
  const routes = calls.map(toRoute);
  const isMissing = (path: string): boolean =>
    !routes.some((it) => it.path === path && it.methods.some((method) => method === 'GET' || method === '*'));
  return [...new Set(routes.map(({ path }) => path))].filter(isMissing).map((path) => `GET ${path}`);
}

function toMeaning(
  { name, category, verb, entry }: NamedOperation,
  { layers }: SurfaceFrame,
  extraction: () => Extraction,
): RequestMeaning {
  const own = entry.extract ? toExtraction([entry.extract, ...layers]) : extraction();
  return { name, category, verb, extraction: own, ...(entry.public ? { isPublic: true } : {}) };
}

/** Makes a meaning that holds where all conditions of its operation hold. */
function toMeant({ name, verb, entry: { when = {} } }: NamedOperation, meaning: () => RequestMeaning): Meant {
  const holds = lazily(() => conditionOf(when));
  return {
    conditions: Object.keys(when).length,
    verb,
    label: name,
    meaning: (reading) => (holds()(reading) ? meaning() : undefined),
  };
}

function conditionOf(when: NonNullable<OperationEntry['when']>): (reading: RequestReading) => boolean {
  const conditions = Object.entries(when).map(([place, value]) =>
    value === true ? isThere(place) : isValue(place, value),
  );
  return (reading) => conditions.every((holds) => holds(reading));
}

function isThere(place: string): (reading: RequestReading) => boolean {
  const read = presenceOf(place);
  return (reading) => read(reading).length > 0;
}

function isValue(place: string, value: string): (reading: RequestReading) => boolean {
  const read = sourceOf(place);
  return (reading) => read(reading).some((it) => isSame(it, value, reading));
}

const isSame = (a: string, b: string, { ignoresCase }: RequestReading): boolean =>
  a === b || (ignoresCase && a.toLowerCase() === b.toLowerCase());

/** The category of paths without an operation. */
export const unknownCategory = 'other';

/** Matches segments below which every vendor says who has which rights. */
const rights =
  /\/(?:acls?|admins?|administrators|collaborators|grants?|invit(?:e|es|ation|ations)|owners|permissions?|role-?assignments?|roles?)(?:\/|$)/i;

/** Returns the verb of a path that no table has. Whoever changes rights administers. */
function unknownVerb(method: string, template: string): Verb {
  const verb = verbOf(method);
  return verb === 'WRITE' && rights.test(template) ? 'ADMIN' : verb;
}

/** Returns the meaning of a path without an operation. */
const unknownMeaning = (
  { unknown_verb: verb }: SurfaceFrame,
  extraction: Extraction,
  method: string,
  template: string,
): RequestMeaning => ({
  name: `${shortMethod(method)}:${template}`,
  category: unknownCategory,
  verb: verb ?? unknownVerb(method, template),
  extraction,
});

/**
 * Returns routes for unknown paths below bases with placeholders. Such a path acts on what the base names:
 * `POST:/repos/{org}/{repo}/new`.
 */
function baseRoutes(frame: SurfaceFrame, extraction: () => Extraction): PathEntry<Meant>[] {
  if (frame.base_paths.every((base) => capturesOf(base).length === 0)) return [];
  const of = (base: readonly TemplatePart[]): Meant | undefined =>
    capturesOf(base).length === 0
      ? undefined
      : {
          ...{ conditions: 0, verb: 'ADMIN', label: 'unknown', isFallback: true },
          meaning: ({ segments }, method) =>
            unknownMeaning(frame, extraction(), method, templateOf(segments, base)),
        };
  return ['* /', '* /{below+}'].map((route) => ({ route, of }));
}

/** Sorts meanings: those with conditions go first, and the strictest of those that match counts. */
function order(candidates: Candidate[]): void {
  candidates.sort(
    (a, b) =>
      Number(b.conditions > 0) - Number(a.conditions > 0) ||
      strictness(b.verb) - strictness(a.verb) ||
      b.conditions - a.conditions,
  );
}
