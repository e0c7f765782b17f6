import { deserialize, serialize } from 'node:v8';
import { lazily } from '../../util/lazily.ts';
import { type CompiledSurface, compileSurface, mistakesIn } from './compile.ts';
import { type GroupedSurface, groupedSurface, openSurface, storeSurface } from './groups.ts';
import type { HostPattern } from './hosts.ts';
import { surfacesOf } from './operations.ts';
import type { Tool } from './schema.ts';
import { factsOf, operationSummariesOf, type ToolSummary } from './summary.ts';
import type { TemplatePart } from './template.ts';

/*
 * To start, the daemon needs the hosts and the names of a tool. Most tools are never called, so their
 * operations are kept as bytes until somebody asks for them.
 */

/** Facts of a surface that a start needs. */
interface SurfaceHead {
  readonly hosts: readonly HostPattern[];
  /** Literal paths that its operations stand below: `/api`, or '' where they begin at the root. */
  readonly bases: readonly string[];
  readonly ignoresCase: boolean;
  readonly isOdata: boolean;
  /** The largest body that the vendor takes here; undefined where that is not known. */
  readonly bodyBytesMax: number | undefined;
}

export interface CatalogueSurface extends SurfaceHead {
  /** Compiles the operations of the surface when they are first asked for. */
  readonly compiled: () => CompiledSurface;
}

/** Facts of a tool that a start needs: plain data. */
type ToolHead = ReturnType<typeof headOf>;

/** A tool of a catalogue. */
export interface CatalogueTool {
  readonly head: ToolHead;
  readonly summary: ToolSummary;
  readonly surfaces: readonly CatalogueSurface[];
  /** Returns the tool as its file describes it. */
  readonly tool: () => Tool;
  /** Mistakes that only show between the entries of the tool. */
  readonly mistakes: readonly string[];
}

/** A tool without mistakes, as it is kept. */
export interface StoredTool {
  readonly head: ToolHead;
  /** The `Tool`, serialised. */
  readonly bytes: Uint8Array;
  /** The surfaces as `storeSurface` writes them. */
  readonly surfaces: readonly Uint8Array[];
}

/** Returns a tool whose file has just been read. */
export const openTool = (tool: Tool): CatalogueTool =>
  toCatalogueTool(
    headOf(tool),
    () => tool,
    surfacesOf(tool).map((it) => () => groupedSurface(tool, it)),
    mistakesIn(tool),
  );

export function storeTool({ head, tool }: CatalogueTool): StoredTool {
  const surfaces = surfacesOf(tool()).map((it) => storeSurface(groupedSurface(tool(), it)));
  return { head, bytes: serialize(tool()), surfaces };
}

export const openStored = ({ head, bytes, surfaces }: StoredTool): CatalogueTool =>
  toCatalogueTool(
    head,
    lazily(() => deserialize(bytes)),
    surfaces.map((it) => () => openSurface(it)),
    [],
  );

function toCatalogueTool(
  head: ToolHead,
  tool: () => Tool,
  surfaces: readonly (() => GroupedSurface)[],
  mistakes: readonly string[],
): CatalogueTool {
  const operations = lazily(() => operationSummariesOf(tool()));
  return {
    head,
    tool,
    mistakes,
    surfaces: surfaces.map((open, index) => ({
      ...(head.surfaces[index] as SurfaceHead),
      compiled: lazily(() => compileSurface(open())),
    })),
    summary: {
      ...head.facts,
      get operations() {
        return operations();
      },
    },
  };
}

function headOf(tool: Tool) {
  const surfaces = surfacesOf(tool).map((surface) => ({
    hosts: surface.hosts ?? tool.hosts,
    bases: surface.base_paths.flatMap((base) => textOf(base) ?? []),
    ignoresCase: surface.ignore_case,
    isOdata: surface.odata,
    bodyBytesMax: surface.max_body_bytes ?? tool.max_body_bytes,
  }));
  return { name: tool.name, guestOf: tool.guest_of, surfaces, facts: factsOf(tool) };
}

/** Returns a path of literals alone; undefined for one with placeholders. */
const textOf = (parts: readonly TemplatePart[]): string | undefined =>
  parts.every((it) => it.kind === 'literal') ? parts.map((it) => `/${it.text}`).join('') : undefined;
