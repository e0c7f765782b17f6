import type { Call } from '../call.ts';
import type { Gate } from './gate.ts';
import { toRequest } from './request.ts';

/**
 * How many bytes the body of a call may have, as far as that can be told before any of it is read: the way that it came on (`wayMax`) and
 * the tool at its host and path may say, then the smaller of both counts; else the tenant. What only the body itself tells of the tool is
 * asked at admission, and lowers the bound alone.
 */
export function bodyBytesMaxOf(
  gate: Pick<Gate, 'tenants' | 'catalogues' | 'toolSettings'>,
  tenantId: string,
  { toolName, bodyless, wayMax }: KnownBefore,
): number {
  const toolMax = toolLimit(gate, tenantId, { toolName, bodyless });
  const said = least(wayMax, toolMax);
  return said ?? gate.tenants.find(tenantId)?.maxBodyBytes ?? 0;
}

/** What is known of a call before its body is read. */
export interface KnownBefore {
  /** Where the way names it. */
  readonly toolName?: string | undefined;
  readonly bodyless: () => Call;
  readonly wayMax?: number | undefined;
}

function toolLimit(
  { catalogues, toolSettings }: Pick<Gate, 'catalogues' | 'toolSettings'>,
  tenantId: string,
  { toolName, bodyless }: KnownBefore,
): number | undefined {
  if (toolSettings.smallestMaxBodyBytes === Infinity) return undefined;
  const name = toolName ?? catalogues.of(tenantId).understand(toRequest(bodyless(), 0)).toolName;
  return toolSettings.maxBodyBytes(tenantId, name);
}

/** Of two bounds, each of which may be missing. */
export const least = (one: number | undefined, other: number | undefined): number | undefined =>
  one === undefined || other === undefined ? (one ?? other) : Math.min(one, other);
