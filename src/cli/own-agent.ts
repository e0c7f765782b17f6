import { hash } from 'node:crypto';
import { uuidOf } from '../core/ids.ts';

/** Returns the id of the agent that a command acts as in a tenant, always the same (UUIDv8, RFC 9562). */
export function ownAgentId(command: string, tenant: string): string {
  const hex = hash('sha256', `postern ${command} ${tenant}`);
  return uuidOf(`${hex.slice(0, 12)}8${hex.slice(13, 16)}8${hex.slice(17, 32)}`);
}
