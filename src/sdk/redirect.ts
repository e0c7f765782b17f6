import { PosternError } from './errors.ts';
import { type OutgoingCall, toTarget } from './outgoing.ts';

/** Redirects that a guarded call may follow. */
export const redirectsMax = 10;

const redirects: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
/** Headers of a body, which go with it. */
const fieldsOfContent = [
  'content-encoding',
  'content-language',
  'content-location',
  'content-type',
  'content-length',
];
/** Headers that were meant for the origin that they were sent to. */
const fieldsOfOrigin = ['authorization', 'proxy-authorization', 'cookie', 'host'];

/** Returns the call that a redirect leads to, by the rules of `fetch`; undefined where there is none. */
export function nextCall(
  call: OutgoingCall,
  status: number,
  location: string | null,
): OutgoingCall | undefined {
  if (!redirects.has(status) || location === null) return undefined;
  const url = toLocation(location, call.url);
  const isGet = call.method === 'GET' || call.method === 'HEAD';
  const becomesGet = status === 303 ? !isGet : (status === 301 || status === 302) && call.method === 'POST';
  const isElsewhere = new URL(url).origin !== new URL(call.url).origin;
  const dropped = [...(becomesGet ? fieldsOfContent : []), ...(isElsewhere ? fieldsOfOrigin : [])];
  return {
    method: becomesGet ? 'GET' : call.method,
    url,
    headers: new Map([...call.headers].filter(([name]) => !dropped.includes(name))),
    body: becomesGet ? undefined : call.body,
  };
}

function toLocation(location: string, base: string): string {
  const refused = (cause?: unknown): PosternError =>
    new PosternError('REDIRECT_REFUSED', 'The answer leads to no address that a call may go to.', { cause });
  try {
    const { username, password } = new URL(location, base);
    if (username !== '' || password !== '') throw refused();
    return toTarget(new URL(location, base).href);
  } catch (error) {
    throw error instanceof PosternError && error.code === 'REDIRECT_REFUSED' ? error : refused(error);
  }
}
