import type { z } from 'zod';
import type { Identity } from '../call.ts';
import type { permissions } from '../config/agents.ts';
import type { Gate } from '../pipeline/gate.ts';
import type { KeyRecord } from '../state/store.ts';

/** Who asks: a key with its permissions, the holder of the admin secret, or on public endpoints anybody. */
export type Caller =
  | { readonly kind: 'key'; readonly key: KeyRecord; readonly identity: Identity }
  | { readonly kind: 'admin' }
  | { readonly kind: 'anybody' };

export interface ApiRequest<Body> {
  readonly gate: Gate;
  readonly caller: Caller;
  readonly params: Readonly<Record<string, string | undefined>>;
  readonly query: URLSearchParams;
  readonly body: Body;
  /** The body as received. */
  readonly raw: Buffer;
  readonly authorization: string;
  readonly clientAddress: string;
  readonly nowMs: number;
}

export interface ApiAnswer {
  readonly status: number;
  /** Serialised as JSON; a Buffer is sent as it is. */
  readonly body: unknown;
  readonly headers?: readonly string[];
}

/** One endpoint, whole: where it is, who may ask, what it takes, what it does. */
export interface Route<Body = unknown> {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** With `:name` for parameters. */
  readonly path: string;
  /**
   * `public`: nobody is asked. `key`: any valid key. `secret`: the admin secret, or a key with `admin`. Else the permission that a
   * key must have; the admin secret has them all.
   */
  readonly access: 'public' | 'key' | 'secret' | Permission;
  /** Absent: the endpoint takes no body. */
  readonly body?: z.ZodType<Body>;
  /** YAML is taken too. */
  readonly takesYaml?: boolean;
  handle(request: ApiRequest<Body>): ApiAnswer | Promise<ApiAnswer>;
}

export type Permission = (typeof permissions)[number];

/** What a key minted without the field may do. */
export const defaultPermissions: readonly Permission[] = [
  'scan',
  'policies:read',
  'policies:write',
  'keys:read',
  'keys:ephemeral',
  'keys:revoke',
  'activity:read',
  'usage:read',
];

/** Keeps a route's body type inside the route, so that all routes stand in one list. */
export const route = <Body>(it: Route<Body>): Route => it as unknown as Route;
