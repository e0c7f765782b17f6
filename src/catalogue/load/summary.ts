import type { Verb } from '../../core/call.ts';
import { capturesOf, parseRoute } from '../paths.ts';
import { unknownCategory } from './compile.ts';
import { operationsOf, surfacesOf } from './operations.ts';
import {
  type Extract,
  type OperationEntry,
  type ResourceField,
  resourceFields,
  type Surface,
  type Tool,
} from './schema.ts';

/** Fields that a tool may tell of a call beside its operation. */
type ToldField = ResourceField | 'tags' | 'principals';
export const toldFields: readonly ToldField[] = [...resourceFields, 'tags', 'principals'];

/** Facts about all calls of a tool, beside its operations. */
export interface ToolFacts {
  readonly name: string;
  readonly title: string;
  /** Hosts as the file writes them. */
  readonly hosts: readonly string[];
  /** Names of the operations, one for each, so a name in two categories stands there twice. */
  readonly operationNames: readonly string[];
  /** Tells whether calls may have further names: the vendor's, for actions that the table lacks. */
  readonly takesOtherNames: boolean;
  /** The categories of its calls. */
  readonly categories: readonly string[];
  /** Tells whether calls may have further categories. */
  readonly takesOtherCategories: boolean;
  /** Fields that some call of the tool tells, or is known to act on. */
  readonly fields: readonly ToldField[];
}

/** A tool as it is shown to people. Its operations may be read when they are asked for. */
export interface ToolSummary extends ToolFacts {
  readonly operations: readonly OperationSummary[];
}

export interface OperationSummary {
  readonly name: string;
  readonly category: string;
  readonly verb: Verb;
  /** Methods and paths below the tool's base path, `rpc` with an action, `graphql` with a root field. */
  readonly calls: readonly string[];
}

/**
 * Returns the hosts of a surface; none for a surface without calls. Such a surface only says how large bodies
 * may be, at hosts that the tool has anyway.
 */
function hostsOf(surface: Surface, tool: Tool): NonNullable<Surface['hosts']> {
  const { operations, rpc, graphql, batch, max_body_bytes: bodyBytesMax, hosts = [] } = surface;
  const hasCalls = Object.keys(operations).length > 0 || (rpc ?? graphql ?? batch) !== undefined;
  return surface !== tool && bodyBytesMax !== undefined && !hasCalls ? [] : hosts;
}

/** Returns each operation once, with all calls that it stands for. */
export function operationSummariesOf(tool: Tool): readonly OperationSummary[] {
  const operations = new Map<string, OperationSummary & { readonly calls: string[] }>();
  for (const { name, category, verb, entry } of operationsOf(tool)) {
    const known = operations.get(`${category} ${name}`);
    if (known) known.calls.push(...callsOf(entry));
    else operations.set(`${category} ${name}`, { name, category, verb, calls: callsOf(entry) });
  }
  return [...operations.values()];
}

export function factsOf(tool: Tool): ToolFacts {
  const surfaces = surfacesOf(tool);
  const operations = operationSummariesOf(tool);
  const takesOtherCategories = surfaces.some(({ rpc }) => rpc?.category_from !== undefined);
  return {
    name: tool.name,
    title: tool.title,
    hosts: [...new Set(surfaces.flatMap((it) => hostsOf(it, tool)).map(({ text }) => text))],
    operationNames: operations.map(({ name }) => name),
    takesOtherNames: surfaces.some(({ rpc, graphql }) => rpc ?? graphql),
    categories: takesOtherCategories
      ? [...new Set(operations.map(({ category }) => category))]
      : [...new Set([unknownCategory, ...surfaces.flatMap(categoriesOf)])],
    takesOtherCategories,
    fields: fieldsOf(tool, surfaces),
  };
}

const callsOf = ({ call = [], rpc = [], graphql = [] }: OperationEntry): string[] => [
  ...call,
  ...rpc.map((it) => `rpc ${it}`),
  ...graphql.map((it) => `graphql ${it}`),
];

const categoriesOf = ({ operations, rpc, graphql }: Surface): string[] => [
  ...Object.keys(operations),
  ...(rpc ? [rpc.category] : []),
  ...(graphql ? ['graphql'] : []),
];

function fieldsOf(tool: Tool, surfaces: readonly Surface[]): ToldField[] {
  const names = new Set([...tool.hosts, ...surfaces.flatMap(({ hosts = [] }) => hosts)].flatMap(namesInHost));
  for (const { extract, base_paths, rpc, graphql } of surfaces) {
    for (const name of namesIn(extract)) names.add(name);
    const routes = [...(rpc?.call ?? []), ...(graphql?.call ?? [])];
    for (const { name } of base_paths.flatMap(capturesOf)) names.add(name);
    for (const name of routes.flatMap(namesInRoute)) names.add(name);
  }
  for (const { entry } of operationsOf(tool)) {
    for (const name of namesIn(entry.extract ?? {})) names.add(name);
    for (const name of (entry.call ?? []).flatMap(namesInRoute)) names.add(name);
  }
  // A repository always tells its organisation, too.
  if (names.has('repo')) names.add('org');
  return toldFields.filter((field) => names.has(field));
}

const namesInHost = ({ labels }: Tool['hosts'][number]): string[] =>
  labels.flatMap((label) => (label.kind === 'literal' ? [] : label.name));

const namesInRoute = (route: string): string[] =>
  capturesOf(parseRoute(route)?.parts ?? []).map(({ name }) => name);

const namesIn = ({ unknown = [], ...places }: Extract): string[] => [...Object.keys(places), ...unknown];
