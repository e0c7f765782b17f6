import type { z } from 'zod';
import type { AgentStatus, Identity, PresentedKey } from '../core/call.ts';
import type { GatewayError } from '../core/errors.ts';
import type { Permission } from '../core/permissions.ts';
import type { Gate } from '../decision/gate.ts';
import type { Rate } from '../state/rules/limits.ts';
import type { KeyRecord, SessionRecord } from '../state/store.ts';
import type { FieldsByName } from '../wire/http1/field.ts';

/** A key with its permissions, the holder of the admin secret, or anybody. With `session`: by its cookie. */
export type Caller =
  | {
      readonly kind: 'key';
      readonly key: KeyRecord;
      readonly identity: Identity;
      /** Says how its agent stands; a suspended tenant suspends all of its agents. */
      readonly agentStatus: AgentStatus;
      readonly presented: PresentedKey;
      readonly session?: SessionRecord;
    }
  /** Here the pipeline asks: the key is not valid, for this reason. The pipeline refuses and records it. */
  | { readonly kind: 'refused'; readonly presented: PresentedKey; readonly refusal: GatewayError }
  | { readonly kind: 'admin'; readonly session?: SessionRecord }
  | { readonly kind: 'anybody' };

export type KeyCaller = Extract<Caller, { kind: 'key' }>;

export interface ApiRequest<Body, Query> {
  readonly gate: Gate;
  readonly caller: Caller;
  readonly params: Readonly<Record<string, string | undefined>>;
  readonly query: Query;
  readonly body: Body;
  /** The body as received. */
  readonly raw: Buffer;
  readonly headers: FieldsByName;
  readonly clientAddress: string;
  readonly nowMs: number;
  /**
   * Returns the tenant that the request acts for, which is the key's own. For the admin secret it is the one
   * named by `tenant_id` in query or body, or the only one. Throws where there is none.
   */
  tenantId(): string;
  /** The tenant that query or body name; undefined where they name none. */
  readonly namedTenant: string | undefined;
  /** Aborts when the client has gone away: nobody waits for the answer. Made when it is first asked for. */
  signal(): AbortSignal;
}

/** An answer with another status or content type than the route's own, or whose text is made already. */
export class RawAnswer {
  readonly status: number;
  readonly body: Buffer;
  readonly contentType: string;
  /** Flat, beside those that all answers have. */
  readonly fields: readonly string[];

  static of(status: number, value: unknown, fields: readonly string[] = []): RawAnswer {
    return new RawAnswer(status, Buffer.from(`${JSON.stringify(value)}\n`), undefined, fields);
  }

  /** 204. */
  static empty(fields: readonly string[] = []): RawAnswer {
    return new RawAnswer(204, Buffer.alloc(0), undefined, fields);
  }

  constructor(
    status: number,
    body: Buffer,
    contentType = 'application/json',
    fields: readonly string[] = [],
  ) {
    this.status = status;
    this.body = body;
    this.contentType = contentType;
    this.fields = fields;
  }
}

/**
 * An answer that is written piece by piece, no faster than the client reads it: of what is written at most a
 * piece waits. Where `pieces` throws before the first one, that is answered as a problem. Later the
 * connection is broken off, so that what is cut does not look whole.
 */
export class StreamedAnswer {
  readonly contentType: string;
  readonly pieces: AsyncIterable<string>;
  /** Flat, beside those that all answers have. */
  readonly fields: readonly string[];

  constructor(contentType: string, pieces: AsyncIterable<string>, fields: readonly string[] = []) {
    this.contentType = contentType;
    this.pieces = pieces;
    this.fields = fields;
  }
}

/** Bounds on the requests for one endpoint. */
interface RouteBounds {
  /** Reads a page or more of what the tenant has: such requests of one tenant come one after another. */
  readonly isListing?: true;
  /** Requests that a key may have under way, with those of its ephemeral keys. */
  readonly perKeyMax?: number;
  /** The same of a tenant, and of the process. */
  readonly perTenantMax?: number;
  readonly inAllMax?: number;
  /** How fast a key may ask, beside the rate of all management calls: what is made stays for long. */
  readonly perKeyRate?: Rate;
  /** The limit of its body, where it is below the general one. */
  readonly bodyBytesMax?: number;
}

/** The forms in which an endpoint takes its body. */
interface BodyForms {
  /** An empty body is read as none. */
  readonly isBodyOptional?: boolean;
  /** The body that it describes may be in base64, and is then as much larger. */
  readonly takesBase64?: true;
  /** YAML is taken too. */
  readonly takesYaml?: boolean;
  /** A form is taken (`application/x-www-form-urlencoded`), and nothing else: each field once, as text. */
  readonly takesForm?: true;
  /** It describes a call, whose body may be as large as the vendor that it names takes. */
  readonly describesCall?: true;
}

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** An endpoint by itself: who may ask, what it takes, what it does. */
interface Endpoint<Body, Query, Answer> extends RouteBounds, BodyForms {
  readonly summary: string;
  /**
   * `public`: nobody is asked. `key`: any valid key. `session`: whoever has a session of the console.
   * `secret`: the admin secret, or a key with `admin`. `call`: the pipeline asks, which records whom it
   * refuses. Else the permissions of which a key must have one. The admin secret has them all.
   */
  readonly access: 'public' | 'key' | 'session' | 'secret' | 'call' | Permission | readonly Permission[];
  /** The admin secret does not do: the caller must be a key. */
  readonly isForKeys?: boolean;
  /** Absent: the endpoint takes no body. */
  readonly body?: z.ZodType<Body>;
  readonly query?: z.ZodType<Query>;
  readonly answer: z.ZodType<Answer>;
  /** Content types of the answer, where they are not JSON. */
  readonly answerTypes?: readonly string[];
  /** The status of the answer; 200 where absent. */
  readonly status?: number;
  /** Its answer may also come with this status. */
  readonly otherStatus?: 200 | 503;
  handle(
    request: ApiRequest<Body, Query>,
  ): Answer | RawAnswer | StreamedAnswer | Promise<Answer | RawAnswer | StreamedAnswer>;
}

/** One endpoint, whole, and where it is. The OpenAPI document is made of nothing else. */
export interface Route<Body = unknown, Query = unknown, Answer = unknown>
  extends Endpoint<Body, Query, Answer> {
  readonly method: Method;
  /** With `:name` for parameters. */
  readonly path: string;
  readonly tag: string;
}

/** Makes the routes of one tag. A route's own types stay inside it, so that all routes stand in one list. */
export const routesOf =
  (tag: string) =>
  <Body, Query, Answer>(place: `${Method} /${string}`, endpoint: Endpoint<Body, Query, Answer>): Route => {
    const [method, path] = place.split(' ');
    return { ...endpoint, method, path, tag } as unknown as Route;
  };

/** Returns the key that a caller has presented, for the pipeline to ask the state about. */
export const presentedBy = (caller: Caller): PresentedKey | undefined =>
  'presented' in caller ? caller.presented : undefined;
