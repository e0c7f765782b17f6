import type { Operation } from '../core/call.ts';
import { isWebScheme, type Target } from '../core/target.ts';

/**
 * Names the destination that a call touches, as "is this destination new" counts it. It is the repository,
 * channel or bucket where the tool has one, else the host. Examples are `github:acme/app`, `slack:#general`,
 * `aws:acme-logs`, `host:api.example.com` and `mcp:search`. A call to several places at once has all of them,
 * joined by ` + `. Such a group is new until a single call of the agent has been to all its places. So
 * nothing new hides beside what is known.
 */
export function destinationOf(operation: Operation, target: Target): string {
  if (!operation.parts) return placeOf(operation, target);
  const places = new Set(operation.parts.map((it) => placeOf(it.operation, it.target ?? target)));
  return [...places].sort().join(' + ');
}

type Part = Pick<Operation, 'toolName' | 'resource'>;

function placeOf({ toolName, resource }: Part, { scheme, host }: Target): string {
  const { repo, channel, bucket } = resource;
  if (repo !== undefined) return `${toolName}:${repo}`;
  // One channel has two spellings, with and without the sign.
  if (channel !== undefined) return `${toolName}:#${channel.startsWith('#') ? channel.slice(1) : channel}`;
  if (bucket !== undefined) return `${toolName}:${bucket}`;
  return `${isWebScheme(scheme) ? 'host' : scheme}:${host}`;
}
