import type { Config } from '../config/schema.ts';
import { kept } from '../util/kept.ts';

/** What the configuration says of tools beside what the catalogue knows of them: what a tenant has of its own goes before what holds for all. */
export interface ToolSettings {
  /** Of the body of a call to the tool; undefined where nothing is said. */
  maxBodyBytes(tenantId: string, toolName: string): number | undefined;
  /** Whether what the tool answers is a sensitive read; undefined: as is found in it. */
  isSensitive(tenantId: string, toolName: string): boolean | undefined;
  /** Of all tools, whosever: a body of so many bytes is too large for none of them. Infinity where none has a limit. */
  readonly smallestMaxBodyBytes: number;
  /** Of all tools of a tenant; 0 where none has a limit. */
  largestMaxBodyBytes(tenantId: string): number;
}

type Setting = Pick<Config['tools'][number], 'name' | 'tenantId' | 'maxBodyBytes' | 'sensitive'>;

export function createToolSettings(tools: readonly Setting[]): ToolSettings {
  /** By tenant (null: all), then by name. */
  const settings = new Map<string | null, Map<string, Setting>>();
  // The first that says something counts, as among response_scan.
  for (const it of tools) {
    const ofTenant = kept(settings, it.tenantId, () => new Map<string, Setting>());
    const before = ofTenant.get(it.name);
    const maxBodyBytes = before?.maxBodyBytes ?? it.maxBodyBytes;
    ofTenant.set(it.name, { ...it, maxBodyBytes, sensitive: before?.sensitive ?? it.sensitive });
  }
  const said = <T>(tenantId: string, toolName: string, of: (setting: Setting) => T | null): T | undefined => {
    if (settings.size === 0) return undefined;
    for (const owner of [tenantId, null]) {
      const setting = settings.get(owner)?.get(toolName);
      const value = setting && of(setting);
      if (value !== undefined && value !== null) return value;
    }
    return undefined;
  };
  return {
    maxBodyBytes: (tenantId, toolName) => said(tenantId, toolName, (it) => it.maxBodyBytes),
    isSensitive: (tenantId, toolName) => said(tenantId, toolName, (it) => it.sensitive),
    smallestMaxBodyBytes: tools.reduce((least, it) => Math.min(least, it.maxBodyBytes ?? Infinity), Infinity),
    largestMaxBodyBytes: (tenantId) =>
      tools.reduce(
        (most, it) =>
          it.tenantId === null || it.tenantId === tenantId ? Math.max(most, it.maxBodyBytes ?? 0) : most,
        0,
      ),
  };
}
