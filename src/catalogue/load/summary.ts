import type { Verb } from '../../core/call.ts';
import { capturesOf, partText } from '../paths.ts';
import { operationsOf, surfacesOf, unknownCategory } from './compile.ts';
import {
  type Extract,
  type OperationEntry,
  type ResourceField,
  resourceFields,
  type Surface,
  type Tool,
} from './schema.ts';

/** Fields that a tool may tell of a call beside its operation. */
export type ToldField = ResourceField | 'tags' | 'principals';
export const toldFields: readonly ToldField[] = [...resourceFields, 'tags', 'principals'];

/** A tool as it is shown to people, and what can be said of its calls without one. */
export interface ToolSummary {
  readonly name: string;
  readonly title: string;
  /** Hosts as the file writes them. */
  readonly hosts: readonly string[];
  readonly operations: readonly OperationSummary[];
  /** Tells whether calls may have further names: the vendor's, for actions that the table lacks. */
  readonly takesOtherNames: boolean;
  /** All that its calls have; undefined where a call may name others. */
  readonly categories: readonly string[] | undefined;
  /** Fields that some call of the tool tells, or is known to act on. */
  readonly fields: readonly ToldField[];
}

export interface OperationSummary {
  readonly name: string;
  readonly category: string;
  readonly verb: Verb;
  /** Methods and paths below the tool's base path, `rpc` with an action, `graphql` with a root field. */
  readonly calls: readonly string[];
}

/** A surface without calls only says how large bodies may be, at hosts that the tool has anyway. */
function hostsOf(surface: Surface, tool: Tool): NonNullable<Surface['hosts']> {
  const { operations, rpc, graphql, batch, max_body_bytes: bodyBytesMax, hosts = [] } = surface;
  const hasCalls = Object.keys(operations).length > 0 || (rpc ?? graphql ?? batch) !== undefined;
  return surface !== tool && bodyBytesMax !== undefined && !hasCalls ? [] : hosts;
}

export function toSummary(tool: Tool): ToolSummary {
  const surfaces = surfacesOf(tool);
  const operations = new Map<string, OperationSummary>();
  for (const { name, category, verb, entry } of operationsOf(tool)) {
    const known = operations.get(`${category} ${name}`);
    const calls = [...(known?.calls ?? []), ...callsOf(entry)];
    operations.set(`${category} ${name}`, { name, category, verb, calls });
  }
  return {
    name: tool.name,
    title: tool.title,
    hosts: [...new Set(surfaces.flatMap((it) => hostsOf(it, tool)).map(({ text }) => text))],
    operations: [...operations.values()],
    takesOtherNames: surfaces.some(({ rpc, graphql }) => rpc ?? graphql),
    categories: surfaces.some(({ rpc }) => rpc?.category_from !== undefined)
      ? undefined
      : [...new Set([unknownCategory, ...surfaces.flatMap(categoriesOf)])],
    fields: fieldsOf(tool, surfaces),
  };
}

const callsOf = ({ call = [], rpc = [], graphql = [] }: OperationEntry): string[] => [
  ...call.map(({ methods, parts }) => `${methods.join('|')} ${parts.map(partText).join('') || '/'}`),
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
    const routes = [...(rpc?.call ?? []), ...(graphql?.call ?? [])].map(({ parts }) => parts);
    for (const { name } of [...base_paths, ...routes].flatMap(capturesOf)) names.add(name);
  }
  for (const { entry } of operationsOf(tool)) {
    for (const name of namesIn(entry.extract)) names.add(name);
    for (const { name } of (entry.call ?? []).flatMap(({ parts }) => capturesOf(parts))) names.add(name);
  }
  // A repository is told with its organisation.
  if (names.has('repo')) names.add('org');
  return toldFields.filter((field) => names.has(field));
}

const namesInHost = ({ labels }: Tool['hosts'][number]): string[] =>
  labels.flatMap((label) => (label.kind === 'literal' ? [] : label.name));

const namesIn = ({ unknown = [], ...places }: Extract): string[] => [...Object.keys(places), ...unknown];
