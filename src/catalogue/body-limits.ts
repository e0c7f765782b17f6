import type { Mounts } from './load/mounts.ts';
import { splitPath } from './paths.ts';

/**
 * The largest bodies that vendors take, which are asked for before a body is read; undefined where they are
 * unknown.
 */
export type BodyLimits = ReturnType<typeof createBodyLimits>;

export function createBodyLimits({ hosts, byTool }: Mounts) {
  /** Known limits by tool name. */
  const all = new Map<string, number>();
  for (const [toolName, mounts] of byTool) {
    const most = mounts.reduce((max, it) => Math.max(max, it.bodyBytesMax ?? 0), 0);
    if (most > 0) all.set(toolName, most);
  }
  return {
    /**
     * Returns the most that a vendor takes at a host and path. It costs one look-up by host, and a look at
     * the path where a host has several limits.
     */
    at(host: string, path: string) {
      const mounts = hosts.find(host)?.values;
      let most: number | undefined;
      let segments: readonly string[] | undefined;
      for (const { under, bodyBytesMax } of mounts ?? []) {
        if (bodyBytesMax === undefined || bodyBytesMax <= (most ?? 0)) continue;
        if (under.length > 0) segments ??= splitPath(path) ?? [];
        if (under.every((name, index) => segments?.[index] === name)) most = bodyBytesMax;
      }
      return most;
    },
    byTool: all,
    /** Returns the most that a tool takes anywhere, for ways that name the tool and hide its host. */
    ofTool: (toolName: string) => all.get(toolName),
    /** The largest known limit; 0 where there is none. */
    largest: Math.max(0, ...all.values()),
  };
}
