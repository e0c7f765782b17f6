import { deserialize, serialize } from 'node:v8';
import { kept } from '../../util/kept.ts';
import { lazily } from '../../util/lazily.ts';
import { type NamedOperation, operationsAt } from './operations.ts';
import type { Extract, Surface, Tool } from './schema.ts';

/*
 * A path can only be one of those that have its number of segments. So the operations of a surface stand in
 * groups by that number. A call waits for its own group alone: the largest tools have thousands of
 * operations.
 */

/** Settings that hold for all operations of a surface. They are plain data. */
export type SurfaceFrame = Pick<
  Surface,
  'base_paths' | 'ignore_case' | 'rpc' | 'graphql' | 'batch' | 'unknown_verb'
> & {
  /** Places of resources, those of the surface before those of its tool. */
  readonly layers: readonly Extract[];
};

/** Operations in groups, by what a request must have to be one of them. */
interface Groups<G> {
  /** Operations by the number of segments below the base, each with its routes of that length. */
  readonly byLength: ReadonlyMap<number, G>;
  /** Operations with their routes of any length. */
  readonly ofAnyLength: G;
  /** Operations that the request names: actions and root fields. */
  readonly named: G;
}

/** A surface, with its operations in groups. */
export interface GroupedSurface<G = () => readonly NamedOperation[]> {
  readonly frame: SurfaceFrame;
  /** All methods that its routes name. */
  readonly methods: readonly string[];
  readonly groups: Groups<G>;
}

export function groupedSurface(tool: Tool, surface: Surface): GroupedSurface {
  const { base_paths, ignore_case, rpc, graphql, batch, unknown_verb } = surface;
  const layers = surface === tool ? [tool.extract] : [surface.extract, tool.extract];
  const byLength = new Map<number, NamedOperation[]>();
  const ofAnyLength: NamedOperation[] = [];
  const named: NamedOperation[] = [];
  const methods = new Set<string>();
  for (const operation of operationsAt(surface)) {
    const { call = [], ...entry } = operation.entry;
    if (entry.rpc ?? entry.graphql) named.push({ ...operation, entry });
    for (const [length, routes] of Map.groupBy(call, lengthOf)) {
      const group = length === undefined ? ofAnyLength : kept(byLength, length, () => []);
      group.push({ ...operation, entry: { ...entry, call: routes } });
    }
    for (const route of call) for (const method of toRoute(route).methods) methods.add(method);
  }
  const frame = { layers, base_paths, ignore_case, rpc, graphql, batch, unknown_verb };
  const groups = { byLength, ofAnyLength, named };
  return { frame, methods: [...methods], groups: mapGroups(groups, (it) => () => it) };
}

/** Stores a surface as bytes. Each group is a piece of its own, which is read when it is asked for. */
export function storeSurface({ groups, ...rest }: GroupedSurface): Uint8Array {
  const stored: GroupedSurface<Uint8Array> = { ...rest, groups: mapGroups(groups, (it) => serialize(it())) };
  return serialize(stored);
}

export function openSurface(bytes: Uint8Array): GroupedSurface {
  const { groups, ...rest }: GroupedSurface<Uint8Array> = deserialize(bytes);
  return { ...rest, groups: mapGroups(groups, (it) => lazily(() => deserialize(it))) };
}

const mapGroups = <A, B>({ byLength, ofAnyLength, named }: Groups<A>, to: (group: A) => B): Groups<B> => ({
  byLength: new Map([...byLength].map(([length, group]) => [length, to(group)])),
  ofAnyLength: to(ofAnyLength),
  named: to(named),
});

/** Takes a route apart that `plainRoute` has written. */
export function toRoute(text: string): { readonly methods: readonly string[]; readonly path: string } {
  const [methods = '', path = '/'] = text.split(' ');
  return { methods: methods.split('|'), path };
}

/** Returns the number of segments in the path of a route; undefined where it may have any number. */
function lengthOf(route: string): number | undefined {
  const { path } = toRoute(route);
  if (path.includes('+}')) return undefined;
  return path === '/' ? 0 : path.split('/').length - 1;
}
