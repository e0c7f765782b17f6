import type { CatalogueSurface, CatalogueTool } from './catalogue-tool.ts';
import { type HostPattern, HostTree } from './hosts.ts';

/** A surface of a tool at one of its hosts. */
export interface Mounted extends Omit<CatalogueSurface, 'hosts'> {
  readonly toolName: string;
  /** Tells whether another tool has the paths without an operation at this host. */
  readonly isGuest: boolean;
  /** Literal segments that the paths of the surface begin with. */
  readonly under: readonly string[];
}

/** All surfaces, by the hosts that they are found at and by the name of their tool. */
export interface Mounts {
  readonly hosts: HostTree<Mounted>;
  readonly byTool: ReadonlyMap<string, readonly Mounted[]>;
}

interface Mount {
  readonly pattern: HostPattern;
  readonly mounted: Mounted;
  readonly guestOf: string | undefined;
}

/** Puts all tools at their hosts, and adds mistakes that only show between tools to `mistakes`. */
export function mountAll(tools: readonly CatalogueTool[], mistakes: string[]): Mounts {
  const mounts = tools.flatMap(mountsOf);
  // The surface of the longest path is asked first, and guests before the owner of the host.
  mounts.sort(
    (a, b) =>
      b.pattern.under.length - a.pattern.under.length ||
      Number(b.mounted.isGuest) - Number(a.mounted.isGuest),
  );
  checkOwners(mounts, mistakes);
  const hosts = new HostTree<Mounted>();
  for (const { pattern, mounted } of mounts) hosts.add(pattern, mounted);
  const byTool = Map.groupBy(
    mounts.map(({ mounted }) => mounted),
    ({ toolName }) => toolName,
  );
  return { hosts, byTool };
}

function mountsOf({ head, surfaces }: CatalogueTool): Mount[] {
  const isGuest = head.guestOf !== undefined;
  return surfaces.flatMap(({ hosts, ...surface }) =>
    hosts.map((pattern) => ({
      pattern,
      mounted: { ...surface, toolName: head.name, isGuest, under: pattern.under },
      guestOf: head.guestOf,
    })),
  );
}

/** Checks that one tool owns each host pattern, and that its guests name this tool. */
function checkOwners(mounts: readonly Mount[], mistakes: string[]): void {
  const owners = new Map<string, string>();
  for (const { pattern, mounted } of mounts)
    if (!mounted.isGuest && !owners.has(pattern.text)) owners.set(pattern.text, mounted.toolName);
  for (const { pattern, mounted, guestOf } of mounts) {
    const owner = owners.get(pattern.text);
    if (guestOf === undefined && owner !== mounted.toolName)
      mistakes.push(`${mounted.toolName}: ${pattern.text} already belongs to ${owner}`);
    if (guestOf !== undefined && owner !== guestOf)
      mistakes.push(`${mounted.toolName}: guest_of: ${pattern.text} does not belong to ${guestOf}`);
  }
}
