import type { Verb } from '../../core/call.ts';
import type { OperationEntry, Surface, Tool } from './schema.ts';

/** Surfaces in the order in which they are asked at one host. */
export const surfacesOf = (tool: Tool): readonly Surface[] => [
  tool,
  ...tool.surfaces,
  ...(tool.table ? [tool.table] : []),
];

/** An operation with its names. */
export interface NamedOperation {
  readonly name: string;
  readonly category: string;
  readonly verb: Verb;
  readonly entry: OperationEntry;
}

/** Yields all named operations of a tool, in the order of its file, then those of its table. */
export function* operationsOf(tool: Tool): Generator<NamedOperation> {
  for (const surface of surfacesOf(tool)) yield* operationsAt(surface);
}

/** Yields the named operations of a surface. */
export function* operationsAt({ operations }: Surface): Generator<NamedOperation> {
  for (const [category, entries] of Object.entries(operations)) {
    for (const [name, entry] of Object.entries(entries)) yield { name, category, verb: entry.verb, entry };
  }
}
