import { hash } from 'node:crypto';

/** Returns the id of the agent that a command acts as in a tenant, always the same (UUIDv8, RFC 9562). */
export function ownAgentId(command: string, tenant: string): string {
  const hex = hash('sha256', `postern ${command} ${tenant}`);
  const parts = [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`];
  return [...parts, hex.slice(20, 32)].join('-');
}
