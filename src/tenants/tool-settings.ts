import type { Config } from '../config/schema.ts';
import { kept } from '../util/kept.ts';

/**
 * Finds the settings of tools in the configuration. A tenant's own settings take precedence over those for
 * all tenants.
 */
export type ToolSettings = ReturnType<typeof createToolSettings>;

type Setting = Pick<Config['tools'][number], 'name' | 'tenantId' | 'maxBodyBytes' | 'sensitive'>;

export function createToolSettings(tools: readonly Setting[]) {
  /** The settings by tenant (null: all tenants), then by the tool's name. */
  const settings = new Map<string | null, Map<string, Setting>>();
  // The first entry with a setting counts, as among those of `response_scan`.
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
    /** Returns the body limit of calls to the tool, in bytes; undefined where none is set. */
    maxBodyBytes: (tenantId: string, toolName: string) => said(tenantId, toolName, (it) => it.maxBodyBytes),
    /** Tells whether the tool's answers are sensitive reads. Undefined leaves that to their findings. */
    isSensitive: (tenantId: string, toolName: string) => said(tenantId, toolName, (it) => it.sensitive),
    /** The smallest body limit of all tools, in bytes; Infinity where none has one. */
    smallestMaxBodyBytes: tools.reduce((least, it) => Math.min(least, it.maxBodyBytes ?? Infinity), Infinity),
    /** Returns the largest body limit among a tenant's tools, in bytes; 0 where none has one. */
    largestMaxBodyBytes: (tenantId: string) =>
      tools.reduce(
        (most, it) =>
          it.tenantId === null || it.tenantId === tenantId ? Math.max(most, it.maxBodyBytes ?? 0) : most,
        0,
      ),
  };
}
