import type { Claimed, PresentedKey } from '../core/call.ts';
import { parseUuid } from '../core/ids.ts';

/** The client of the proxy, as it says who it is. */
export interface ProxyUser {
  readonly key: PresentedKey;
  /** Claims by the user name: a UUID is the agent's id, any other text a name for telemetry. */
  readonly claimed: Claimed;
  /** Tells whether the client has brought no key. The key is then the gateway's own for such calls. */
  readonly isKeyless?: boolean;
}

const credentialsLengthMax = 1024;
const nameLengthMax = 128;
/** User names that say nothing, as the printed exports contain them. */
const anonymous = new Set(['', 'agent']);

/**
 * Reads `Proxy-Authorization` (RFC 9110, 11.7.2): `Basic user:key`, `Basic key:`, or `Bearer key`. Returns
 * undefined where there is no key in it. The answer is then 407, whatever was wrong, so that nothing is
 * learnt by trying.
 */
export function readProxyAuthorization(
  field: string | undefined,
  readKey: (text: string) => PresentedKey | undefined,
): ProxyUser | undefined {
  if (field === undefined || field.length > credentialsLengthMax) return undefined;
  const space = field.indexOf(' ');
  const scheme = field.slice(0, space).toLowerCase();
  const credentials = field.slice(space + 1).trim();
  const isBasic = scheme === 'basic';
  if (!isBasic && scheme !== 'bearer') return undefined;
  const text = isBasic ? Buffer.from(credentials, 'base64').toString('utf8') : credentials;
  const colon = isBasic ? text.indexOf(':') : -1;
  const [user, password] = colon < 0 ? [text, ''] : [text.slice(0, colon), text.slice(colon + 1)];
  // A key alone stands where others have the user.
  const key = readKey(password === '' ? user : password);
  return key && { key, claimed: password === '' ? {} : claimedBy(user) };
}

function claimedBy(user: string): Claimed {
  if (anonymous.has(user)) return {};
  const agentId = parseUuid(user);
  return agentId ? { agentId } : { agentName: user.slice(0, nameLengthMax) };
}
