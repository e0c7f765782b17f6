import type { ReceivedCall } from '../core/call.ts';
import type { Target } from '../core/target.ts';
import type { Catalogues } from '../tenants/catalogues.ts';
import type { Tenants } from '../tenants/tenants.ts';
import type { ToolSettings } from '../tenants/tool-settings.ts';
import { toRequest } from './request.ts';

/**
 * Returns the most bytes that the body of a call may have, as far as that can be told before any of it is
 * read. The route may have a limit (`wayMax`), and the configuration another for the tool at the call's host
 * and path. The smaller of both counts. Where neither is set, the limit of the tenant or of the vendor
 * counts.
 *
 * Sometimes only the body itself tells the tool. The limit of that tool is asked at admission, and can only
 * lower the bound.
 */
export function bodyBytesMaxOf(
  sources: BodyLimitSources,
  tenantId: string,
  { toolName, bodyless, wayMax, target, isOneOfMany = false }: KnownBefore,
): number {
  const toolMax = toolLimit(sources, tenantId, { toolName, bodyless });
  const said = least(wayMax, toolMax);
  if (said !== undefined) return said;
  return isOneOfMany
    ? (sources.tenants.find(tenantId)?.maxBodyBytes ?? 0)
    : unsaidBytesMax(sources, tenantId, target, toolName);
}

/** The places where the limits of a body are written down. */
interface BodyLimitSources {
  readonly tenants: Tenants;
  readonly catalogues: Catalogues;
  readonly toolSettings: ToolSettings;
}

/** The facts about a call before its body is read. */
interface KnownBefore {
  /** The tool, where the route names it. */
  readonly toolName?: string | undefined;
  readonly bodyless: () => ReceivedCall;
  readonly wayMax?: number | undefined;
  readonly target: Pick<Target, 'host' | 'path'>;
  /**
   * The bound is for each of many messages. The limits of vendors are for whole bodies, so they do not count.
   */
  readonly isOneOfMany?: boolean;
}

/**
 * Returns the bound of a body of which neither route nor tool says anything. A limit that the tenant, its
 * plan or the limits of the daemon set counts. Where nobody has written one, it is the default or what the
 * vendor is known to take, whichever is more. It is 0 for an unknown tenant.
 */
export function unsaidBytesMax(
  { tenants, catalogues }: Pick<BodyLimitSources, 'tenants' | 'catalogues'>,
  tenantId: string,
  { host, path }: Pick<Target, 'host' | 'path'>,
  toolName?: string,
): number {
  const tenant = tenants.find(tenantId);
  if (!tenant) return 0;
  const { maxBodyBytes, bodyLimitSetBy } = tenant;
  if (bodyLimitSetBy !== null) return maxBodyBytes;
  const { bodyLimits } = catalogues.of(tenantId);
  const known =
    bodyLimits.at(host, path) ?? (toolName === undefined ? undefined : bodyLimits.ofTool(toolName));
  return Math.max(maxBodyBytes, known ?? 0);
}

function toolLimit(
  { catalogues, toolSettings }: Pick<BodyLimitSources, 'catalogues' | 'toolSettings'>,
  tenantId: string,
  { toolName, bodyless }: Pick<KnownBefore, 'toolName' | 'bodyless'>,
): number | undefined {
  if (toolSettings.smallestMaxBodyBytes === Infinity) return undefined;
  const name = toolName ?? catalogues.of(tenantId).understand(toRequest(bodyless(), 0)).toolName;
  return toolSettings.maxBodyBytes(tenantId, name);
}

/** Returns the smaller of two bounds, each of which may be missing. */
export const least = (one: number | undefined, other: number | undefined): number | undefined =>
  one === undefined || other === undefined ? (one ?? other) : Math.min(one, other);
