import type { Verb } from '../../core/call.ts';
import { kept } from '../../util/kept.ts';
import { type Extraction, toExtraction } from '../extract.ts';
import {
  graphqlMeaning,
  type RequestMeaning,
  rpcMeaning,
  shortMethod,
  strictness,
  verbOf,
} from '../meaning.ts';
import { type Capture, capturesOf, type PathRoute, PathTree, templateOf } from '../paths.ts';
import { requestsOf } from '../protocols/batch.ts';
import type { RequestReading } from '../reading.ts';
import { type HostPattern, HostTree } from './hosts.ts';
import type { OperationEntry, Surface, Tool } from './schema.ts';
import type { TemplatePart } from './template.ts';

/** One thing that a path may mean. */
export interface Candidate {
  readonly captures: readonly Capture[];
  readonly conditions: number;
  /** The strictest verb that it may have. */
  readonly verb: Verb;
  /** For mistakes in the table. */
  readonly label: string;
  /** Other surfaces are asked before this counts. */
  readonly isFallback?: true;
  /** The meaning of the request, or undefined where it is something else. */
  meaning(reading: RequestReading, method: string): RequestMeaning | undefined;
}

/** A surface of a tool, ready to be asked. */
export interface Mounted {
  readonly toolName: string;
  /** Paths without an operation belong to another tool at this host. */
  readonly isGuest: boolean;
  /** Literal segments below which it lies. */
  readonly under: readonly string[];
  /** Literal paths that its operations stand below: `/api`, or '' where they begin at the root. */
  readonly bases: readonly string[];
  readonly paths: PathTree<Candidate>;
  readonly ignoresCase: boolean;
  readonly isOdata: boolean;
  /** The largest body that the vendor takes here; undefined where that is not known. */
  readonly bodyBytesMax: number | undefined;
  /** The meaning of a path without an operation. */
  unknown(method: string, template: string): RequestMeaning;
}

/** All surfaces, by the hosts that they are found at and by the name of their tool. */
export interface Mounts {
  readonly hosts: HostTree<Mounted>;
  readonly byTool: ReadonlyMap<string, readonly Mounted[]>;
}

/** Compiles all tools. Mistakes that only show between entries are added to `mistakes`. */
export function compile(tools: readonly Tool[], mistakes: string[]): Mounts {
  const hosts = new HostTree<Mounted>();
  const byTool = new Map<string, Mounted[]>();
  const mounts = tools.flatMap((tool) => {
    const compiled = kept(compiledOf, tool, () => compileTool(tool));
    mistakes.push(...compiled.mistakes);
    return compiled.mounts;
  });
  // The surface of the longest path is asked first, and guests before the owner of the host.
  mounts.sort(
    (a, b) =>
      b.pattern.under.length - a.pattern.under.length ||
      Number(b.compiled.isGuest) - Number(a.compiled.isGuest),
  );
  const owners = new Map<string, string>();
  for (const { pattern, compiled, tool } of mounts)
    if (!compiled.isGuest && !owners.has(pattern.text)) owners.set(pattern.text, tool.name);
  for (const { pattern, compiled, tool } of mounts) {
    const { name: toolName, guest_of: host } = tool;
    const owner = owners.get(pattern.text);
    if (host === undefined && owner !== toolName)
      mistakes.push(`${toolName}: ${pattern.text} already belongs to ${owner}`);
    if (host !== undefined && owner !== host)
      mistakes.push(`${toolName}: guest_of: ${pattern.text} does not belong to ${host}`);
    const mounted = { ...compiled, under: pattern.under };
    hosts.add(pattern, mounted);
    byTool.set(toolName, [...(byTool.get(toolName) ?? []), mounted]);
  }
  return { hosts, byTool };
}

interface CompiledTool {
  readonly mounts: readonly Mount[];
  readonly mistakes: readonly string[];
}

interface Mount {
  readonly pattern: HostPattern;
  readonly compiled: Omit<Mounted, 'under'>;
  readonly tool: Tool;
}

/** Tools that several catalogues have are compiled once. */
const compiledOf = new WeakMap<Tool, CompiledTool>();

function compileTool(tool: Tool): CompiledTool {
  const mistakes: string[] = [];
  checkNames(tool, mistakes);
  const mounts = surfacesOf(tool).flatMap((surface) => {
    const compiled = compileSurface(tool, surface, mistakes);
    return (surface.hosts ?? tool.hosts).map((pattern) => ({ pattern, compiled, tool }));
  });
  return { mounts, mistakes };
}

/** A name is part of the API: within a tool it has one verb. Its category may differ, as that of AWS's services does. */
function checkNames(tool: Tool, mistakes: string[]): void {
  const known = new Map<string, Verb>();
  for (const { name, verb } of operationsOf(tool)) {
    const first = known.get(name) ?? verb;
    if (first !== verb) mistakes.push(`${tool.name}: ${name} is both ${first} and ${verb}`);
    known.set(name, first);
  }
}

/** Surfaces in the order in which they are asked at one host. */
export const surfacesOf = (tool: Tool): readonly Surface[] => [
  tool,
  ...tool.surfaces,
  ...(tool.table ? [tool.table] : []),
];

/** All named operations of a tool, in the order of its file, those of its table behind them. */
export function* operationsOf(
  tool: Tool,
): Generator<{ name: string; category: string; verb: Verb; entry: OperationEntry }> {
  for (const { operations } of surfacesOf(tool)) {
    for (const [category, entries] of Object.entries(operations)) {
      for (const [name, entry] of Object.entries(entries)) yield { name, category, verb: entry.verb, entry };
    }
  }
}

function compileSurface(tool: Tool, surface: Surface, mistakes: string[]): Omit<Mounted, 'under'> {
  const layers = surface === tool ? [tool.extract] : [surface.extract, tool.extract];
  const extraction = toExtraction(layers);
  const paths = new PathTree<Candidate>(surface.ignore_case);
  const byAction = new Map<string, RequestMeaning>();
  const byField = new Map<string, RequestMeaning>();
  for (const [category, entries] of Object.entries(surface.operations)) {
    for (const [name, entry] of Object.entries(entries)) {
      const { verb, call = [], rpc = [], graphql = [], extract, public: isPublic } = entry;
      const own = Object.keys(extract).length > 0 ? toExtraction([extract, ...layers]) : extraction;
      const meaning = { name, category, verb, extraction: own, ...(isPublic ? { isPublic } : {}) };
      for (const action of rpc) byAction.set(action, meaning);
      for (const field of graphql) byField.set(field, meaning);
      addRoutes(paths, surface, call, toCandidate(meaning, entry));
      if (rpc.length > 0 && !surface.rpc) mistakes.push(`${tool.name}: ${name}: its surface has no rpc`);
      if (graphql.length > 0 && !surface.graphql)
        mistakes.push(`${tool.name}: ${name}: its surface has no graphql`);
    }
  }
  const { rpc, graphql } = surface;
  const any = { conditions: 0, verb: 'ADMIN' } as const;
  if (rpc) {
    const meaning = (reading: RequestReading) => rpcMeaning(rpc, byAction, extraction, reading);
    addRoutes(paths, surface, rpc.call, { ...any, label: 'rpc', meaning });
  }
  if (graphql) {
    const meaning = (reading: RequestReading) => graphqlMeaning(byField, extraction, reading);
    addRoutes(paths, surface, graphql.call, { ...any, label: 'graphql', meaning });
  }
  for (const batch of surface.batch ?? []) {
    const meaning = (reading: RequestReading) => ({
      ...{ name: 'batch', category: 'batch', verb: 'ADMIN' as const, extraction },
      batch: { requests: requestsOf(batch, reading) },
    });
    addRoutes(paths, surface, batch.call, { ...any, label: 'batch', meaning });
  }
  addBases(surface, paths, extraction);
  for (const candidates of paths.leaves()) order(candidates, tool.name, mistakes);
  const bases = surface.base_paths.flatMap((base) => textOf(base) ?? []);
  const isGuest = tool.guest_of !== undefined;
  return {
    toolName: tool.name,
    isGuest,
    bases,
    paths,
    ignoresCase: surface.ignore_case,
    isOdata: surface.odata,
    bodyBytesMax: surface.max_body_bytes ?? tool.max_body_bytes,
    unknown: unknownOf(surface, extraction),
  };
}

/** A path of literals alone; undefined for one with placeholders. */
const textOf = (parts: readonly TemplatePart[]): string | undefined =>
  parts.every((it) => it.kind === 'literal') ? parts.map((it) => `/${it.text}`).join('') : undefined;

type AnyPath = Omit<Candidate, 'captures'>;

/** The operation, where all its conditions hold. */
function toCandidate(meaning: RequestMeaning, { when }: OperationEntry): AnyPath {
  const holds = (reading: RequestReading) =>
    when.every(({ read, value }) =>
      value === true ? read(reading).length > 0 : read(reading).some((it) => isSame(it, value, reading)),
    );
  return {
    conditions: when.length,
    verb: meaning.verb,
    label: meaning.name,
    meaning: (reading) => (holds(reading) ? meaning : undefined),
  };
}

const isSame = (a: string, b: string, { ignoresCase }: RequestReading): boolean =>
  a === b || (ignoresCase && a.toLowerCase() === b.toLowerCase());

/** Below each base path of the surface. */
function addRoutes(
  paths: PathTree<Candidate>,
  surface: Surface,
  routes: readonly PathRoute[],
  candidate: AnyPath,
): void {
  for (const base of surface.base_paths) {
    for (const { methods, parts } of routes) {
      const whole = [...base, ...parts];
      paths.add({ methods, parts: whole }, { ...candidate, captures: capturesOf(whole) });
    }
  }
}

/** The category of paths without an operation. */
export const unknownCategory = 'other';

/** Segments of paths below which every vendor says who has which rights. */
const rights =
  /\/(?:acls?|admins?|administrators|collaborators|grants?|invit(?:e|es|ation|ations)|owners|permissions?|role-?assignments?|roles?)(?:\/|$)/i;

/** Whoever changes rights administers, also by a path that no table has. */
function unknownVerb(method: string, template: string): Verb {
  const verb = verbOf(method);
  return verb === 'WRITE' && rights.test(template) ? 'ADMIN' : verb;
}

/** Makes the meaning of a path without an operation. */
const unknownOf =
  ({ unknown_verb: verb }: Surface, extraction: Extraction) =>
  (method: string, template: string): RequestMeaning => ({
    name: `${shortMethod(method)}:${template}`,
    category: unknownCategory,
    verb: verb ?? unknownVerb(method, template),
    extraction,
  });

/** Below a base path with placeholders unknown paths, too, act on what the base names: `POST:/repos/{org}/{repo}/new`. */
function addBases(surface: Surface, paths: PathTree<Candidate>, extraction: Extraction): void {
  const unknown = unknownOf(surface, extraction);
  for (const base of surface.base_paths) {
    const captures = capturesOf(base);
    if (captures.length === 0) continue;
    const candidate: Candidate = {
      captures,
      conditions: 0,
      verb: 'ADMIN',
      label: 'unknown',
      isFallback: true,
      meaning: ({ segments }, method) => unknown(method, templateOf(segments, base)),
    };
    paths.add({ methods: ['*'], parts: base }, candidate);
    paths.add({ methods: ['*'], parts: [...base, { kind: 'rest', name: 'below' }] }, candidate);
  }
}

/**
 * Operations with conditions go first, and the strictest of those that match counts. A second one without conditions
 * would be unreachable.
 */
function order(candidates: Candidate[], toolName: string, mistakes: string[]): void {
  candidates.sort(
    (a, b) =>
      Number(b.conditions > 0) - Number(a.conditions > 0) ||
      strictness(b.verb) - strictness(a.verb) ||
      b.conditions - a.conditions,
  );
  const [first, second] = candidates.filter(({ conditions }) => conditions === 0);
  if (first && second)
    mistakes.push(`${toolName}: ${first.label} and ${second.label} have the same method and path`);
}
