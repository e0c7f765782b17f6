import { signal } from '@preact/signals';
import type { ShownSession } from '../../../api/answers.ts';

/* Calls the public API with the session's cookie, and with the token that proves that this page asks. */

interface InvalidField {
  readonly path: string;
  readonly message: string;
}

/** Says that the API answered a failure instead of what was asked for. */
export class ApiProblem extends Error {
  readonly status: number;
  readonly code: string;
  readonly errors: readonly InvalidField[];
  constructor(status: number, code: string, detail: string, errors: readonly InvalidField[] = []) {
    super(detail);
    this.status = status;
    this.code = code;
    this.errors = errors;
  }
}

/** The session of whoever is signed in. */
export const session = signal<ShownSession | null | undefined>(undefined);

/** Set when a session has ended by itself, which the sign-in then says. */
export const hasEnded = signal(false);

/** The tenant that the admin secret has chosen to look at; undefined for that of the session. */
export const chosenTenant = signal<string | undefined>(undefined);

export type Query = Readonly<Record<string, string | number | undefined>>;

interface Asked {
  readonly query?: Query | undefined;
  readonly body?: unknown;
  /** A body that is sent as it is, in place of JSON. */
  readonly text?: { readonly type: string; readonly content: string } | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Returns the address of an endpoint, relative to the page: a path prefix in front of the daemon stays. */
export function apiUrl(path: string, query: Query = {}): string {
  const url = new URL(`..${path}`, document.baseURI);
  if (chosenTenant.value !== undefined && path.startsWith('/v1/'))
    url.searchParams.set('tenant_id', chosenTenant.value);
  for (const [name, value] of Object.entries(query))
    if (value !== undefined && value !== '') url.searchParams.set(name, String(value));
  return url.href;
}

/** Calls an endpoint; throws an ApiProblem. A session that has ended leads to the sign-in. */
export async function call<T>(method: string, path: string, asked: Asked = {}): Promise<T> {
  const headers = new Headers({ accept: 'application/json' });
  let content: string | null = null;
  if (asked.text !== undefined) {
    headers.set('content-type', asked.text.type);
    content = asked.text.content;
  } else if (asked.body !== undefined) {
    headers.set('content-type', 'application/json');
    content = JSON.stringify(asked.body);
  }
  const token = session.value?.csrf_token;
  if (method !== 'GET' && token !== undefined) headers.set('x-postern-csrf', token);
  const answer = await fetch(apiUrl(path, asked.query), {
    method,
    headers,
    body: content,
    credentials: 'same-origin',
    signal: asked.signal ?? null,
  }).catch((error: unknown) => {
    if (asked.signal?.aborted) throw error;
    throw new ApiProblem(0, 'UNREACHABLE', 'The daemon does not answer. It may be restarting.');
  });
  const text = await answer.text();
  if (answer.ok) return (text === '' ? undefined : JSON.parse(text)) as T;
  if (answer.status === 401 && session.value) {
    hasEnded.value = true;
    chosenTenant.value = undefined;
    session.value = null;
  }
  throw toProblem(answer.status, text);
}

function toProblem(status: number, text: string): ApiProblem {
  try {
    const { code = '', detail, title, errors = [] } = JSON.parse(text);
    return new ApiProblem(status, code, detail ?? title ?? `The daemon answered ${status}.`, errors);
  } catch {
    return new ApiProblem(status, '', `The daemon answered ${status}, and said no reason.`);
  }
}

export const get = <T>(path: string, query?: Query, signal?: AbortSignal): Promise<T> =>
  call('GET', path, { query, signal });

export const post = <T>(path: string, body?: unknown): Promise<T> => call('POST', path, { body });

/** Tells whether the session has one of the permissions. It is a hint for the page: the server decides. */
export const may = (...permissions: readonly string[]): boolean => {
  const held = session.value?.permissions ?? [];
  return held.includes('admin') || permissions.some((it) => held.includes(it));
};
