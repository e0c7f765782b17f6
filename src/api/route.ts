import type { z } from 'zod';
import type { AgentStatus, Identity, PresentedKey } from '../core/call.ts';
import type { GatewayError } from '../core/errors.ts';
import type { Permission } from '../core/permissions.ts';
import type { Gate } from '../decision/gate.ts';
import type { Rate } from '../state/rules/limits.ts';
import type { AuditEvent, KeyRecord, SessionRecord } from '../state/store.ts';
import type { FieldsByName } from '../wire/http1/field.ts';

/**
 * The sender of a request: a key with its permissions, the holder of the admin secret, or anybody. `session`
 * is set where the caller showed a cookie.
 */
export type Caller =
  | {
      readonly kind: 'key';
      readonly key: KeyRecord;
      readonly identity: Identity;
      /** Status of the key's agent; a suspended tenant suspends all of its agents. */
      readonly agentStatus: AgentStatus;
      readonly presented: PresentedKey;
      readonly session?: SessionRecord;
    }
  /**
   * A key that is not valid, for the reason in `refusal`, on a route whose callers the pipeline checks. It
   * refuses the call and records it.
   */
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
   * that `tenant_id` names in query or body. If none is named, it is that of the session, or the only one.
   * Throws where there is none.
   */
  tenantId(): string;
  /** The tenant that query or body name; undefined where they name none. */
  readonly namedTenant: string | undefined;
  /** Returns the audit event of what the caller does to a subject now, in the tenant of the request. */
  audit(kind: string, subject: string, details?: AuditEvent['details']): AuditEvent;
  /** Returns a signal that aborts when the client leaves without its answer. The first request makes it. */
  signal(): AbortSignal;
}

/** Holds an answer with another status or content type than the route's own, or whose text exists already. */
export class RawAnswer {
  readonly status: number;
  readonly body: Buffer;
  readonly contentType: string;
  /** Header fields as a flat list, beside those that all answers have. */
  readonly fields: readonly string[];

  static of(status: number, value: unknown, fields: readonly string[] = []): RawAnswer {
    return new RawAnswer(status, Buffer.from(`${JSON.stringify(value)}\n`), undefined, fields);
  }

  /** Returns an answer without content (204). */
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

  /** Returns the answer with further header fields. */
  with(fields: readonly string[]): RawAnswer {
    if (fields.length === 0) return this;
    return new RawAnswer(this.status, this.body, this.contentType, [...this.fields, ...fields]);
  }
}

/**
 * Holds an answer that is written piece by piece, no faster than the client reads it. At most one written
 * piece waits. Where `pieces` throws before the first piece, the answer is a problem. Later the connection is
 * broken off, so that a cut answer does not look whole.
 */
export class StreamedAnswer {
  readonly contentType: string;
  readonly pieces: AsyncIterable<string>;
  /** Header fields as a flat list, beside those that all answers have. */
  readonly fields: readonly string[];

  constructor(contentType: string, pieces: AsyncIterable<string>, fields: readonly string[] = []) {
    this.contentType = contentType;
    this.pieces = pieces;
    this.fields = fields;
  }

  /** Returns the answer with further header fields. */
  with(fields: readonly string[]): StreamedAnswer {
    return fields.length === 0
      ? this
      : new StreamedAnswer(this.contentType, this.pieces, [...this.fields, ...fields]);
  }
}

/** Bounds on the requests for one endpoint. */
interface RouteBounds {
  /** Set where the route reads a page or more of the tenant's data. Listings of a tenant run one by one. */
  readonly isListing?: true;
  /** Requests that a key may have under way, together with its ephemeral keys. */
  readonly perKeyMax?: number;
  /** Requests that a tenant may have under way; `inAllMax` is the number for the process. */
  readonly perTenantMax?: number;
  readonly inAllMax?: number;
  /** Rate of one key, beside that of all management calls; for routes whose results are kept for long. */
  readonly perKeyRate?: Rate;
  /** Bytes that the body may have, where it is fewer than in general. */
  readonly bodyBytesMax?: number;
}

/** The forms in which an endpoint takes its body. */
interface BodyForms {
  /** Set where an empty body is read as none. */
  readonly isBodyOptional?: boolean;
  /** Set where the body may describe another in base64, and may then be longer by a third. */
  readonly takesBase64?: true;
  /** Set where YAML is taken, too. */
  readonly takesYaml?: boolean;
  /** Set where only a form is taken (`application/x-www-form-urlencoded`), with each field once, as text. */
  readonly takesForm?: true;
  /** Set where the body describes a call, whose body may be as large as the named vendor takes. */
  readonly describesCall?: true;
}

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** An endpoint without its place: who may ask, what it takes, what it does. */
interface Endpoint<Body, Query, Answer> extends RouteBounds, BodyForms {
  readonly summary: string;
  /**
   * Who may ask. `public`: anybody. `key`: any valid key. `session`: whoever has a session of the console.
   * `secret`: the admin secret, or a key with `admin`. `call`: the pipeline checks the key, and records whom
   * it refuses. Else: the permissions of which a key must have one. The admin secret has them all.
   */
  readonly access: 'public' | 'key' | 'session' | 'secret' | 'call' | Permission | readonly Permission[];
  /** Set where the caller must be a key, and the admin secret is not enough. */
  readonly isForKeys?: boolean;
  /** Set where no key is enough, whatever its permissions. */
  readonly isForSecret?: true;
  /** Schema of the body; absent where the endpoint takes none. */
  readonly body?: z.ZodType<Body>;
  /** Schema of the body for the description of the API, where `body` reads only a part of it. */
  readonly described?: z.ZodType;
  readonly query?: z.ZodType<Query>;
  readonly answer: z.ZodType<Answer>;
  /** Content types of the answer, where they are not JSON. */
  readonly answerTypes?: readonly string[];
  /** Status of the answer; absent for 200. */
  readonly status?: number;
  /** Another status with which the answer may come. */
  readonly otherStatus?: 200 | 503;
  handle(
    request: ApiRequest<Body, Query>,
  ): Answer | RawAnswer | StreamedAnswer | Promise<Answer | RawAnswer | StreamedAnswer>;
}

/** An endpoint with its place. The OpenAPI document is made of these alone. */
export interface Route<Body = unknown, Query = unknown, Answer = unknown>
  extends Endpoint<Body, Query, Answer> {
  readonly method: Method;
  /** The path of the URL, with `:name` for a parameter. */
  readonly path: string;
  readonly tag: string;
}

/** A route whose answer has a known type. */
type Answering<Answer> = Omit<Route, 'answer'> & { readonly answer: z.ZodType<Answer> };

/** The answer of a route, for those who ask it. */
export type AnswerOf<R extends Answering<unknown>> = z.infer<R['answer']>;

/**
 * Makes the routes of one tag. A route's types of body and query stay inside it, so that all routes stand in
 * one list.
 */
export const routesOf =
  (tag: string) =>
  <Body, Query, Answer>(
    place: `${Method} /${string}`,
    endpoint: Endpoint<Body, Query, Answer>,
  ): Answering<Answer> => {
    const [method, path] = place.split(' ');
    return { ...endpoint, method, path, tag } as unknown as Answering<Answer>;
  };

/** Returns how the audit log names the caller: by the prefix of its key, or `admin`. */
export const operatorOf = (caller: Caller): string =>
  caller.kind === 'key' ? caller.identity.keyPrefix : caller.kind;

/** Returns the key that a caller has presented, for the pipeline to ask the state about. */
export const presentedBy = (caller: Caller): PresentedKey | undefined =>
  'presented' in caller ? caller.presented : undefined;
