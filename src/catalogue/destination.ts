import type { Operation } from '../call.ts';
import { isWebScheme, type Target } from '../target.ts';

/**
 * What a call touches, as "is this destination new" counts it: the repository, channel or bucket where the tool has one,
 * else the host: `github:acme/app`, `slack:#general`, `aws:acme-logs`, `host:api.example.com`, `mcp:search`.
 */
export function destinationOf({ toolName, resource }: Operation, { scheme, host }: Target): string {
  const { repo, channel, bucket } = resource;
  if (repo !== undefined) return `${toolName}:${repo}`;
  // One channel has two spellings, with and without the sign.
  if (channel !== undefined) return `${toolName}:#${channel.startsWith('#') ? channel.slice(1) : channel}`;
  if (bucket !== undefined) return `${toolName}:${bucket}`;
  return `${isWebScheme(scheme) ? 'host' : scheme}:${host}`;
}
