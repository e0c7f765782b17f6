import type { Target } from './target.ts';

/*
 * The nouns of what a call does: its operation, what that acts on, and its parts where it does several things
 * at once.
 */

export const verbs = ['READ', 'WRITE', 'ADMIN'] as const;
export type Verb = (typeof verbs)[number];

/** The tool and operation of a call, as the catalogue classifies it. */
export interface Operation {
  /** `custom_proxy` where no tool of the catalogue has this host. */
  readonly toolName: string;
  /** A stable name: of the catalogue (`create_issue`), `method:PATH` in a known tool, else the method. */
  readonly name: string;
  /** The caller's words that the name was made of in another form; absent where there are none. */
  readonly said?: string;
  readonly category: string;
  readonly verb: Verb;
  readonly resource: Resource;
  /** Whom the operation addresses: mail recipients, collaborators, share targets. */
  readonly principals: readonly string[];
  /** Strangers can read what it writes: a gist, a published package. */
  readonly isPublic?: true;
  /** The owners of what it acts on, if the resource names none: accounts, chats. Empty: nobody. */
  readonly owners?: readonly string[];
  /**
   * All operations of a call that does several things (a batch, several messages or root fields); absent
   * where there is one. Each is judged by itself, and the strictest stands for the call.
   */
  readonly parts?: readonly OperationPart[];
  /** Nobody can tell what it does: it may be any operation of its tool. */
  readonly unclear?: Unclear;
}

/** Other operations that the call may turn out to be, where nobody can tell. */
export interface Unclear {
  /** Beside its own. */
  readonly toolNames: readonly string[];
  /** The call may contain further requests, with any method. */
  readonly anyMethod: boolean;
}

/** One of several things that a call does, and what is its own of method, target and body. */
export interface OperationPart {
  readonly operation: Omit<Operation, 'parts'>;
  readonly method?: string;
  readonly target?: Target;
  readonly body?: BodyValue;
}

/** The resource that an operation acts on; unknown fields are absent. `repo` is `org/name`. */
export interface Resource {
  readonly org?: string;
  readonly repo?: string;
  readonly channel?: string;
  readonly region?: string;
  readonly account?: string;
  readonly bucket?: string;
  /** By name; of several values nobody can tell which the vendor takes. */
  readonly tags?: Readonly<Record<string, readonly string[]>>;
  /** Fields that the operation may act on with an unknown value; absent where there are none. */
  readonly unknown?: readonly UnknownField[];
}

export type UnknownField = 'org' | 'repo' | 'channel' | 'region' | 'account' | 'bucket' | 'tags';

/**
 * A body as conditions see it. There are several `readings` for NDJSON lines, repeated form fields and
 * ambiguous formats. `unclear`: it has structure, and servers may read it differently.
 */
export type BodyValue =
  | { readonly kind: 'value'; readonly readings: readonly unknown[] }
  | { readonly kind: 'none' }
  | { readonly kind: 'unclear' };

/** Returns all that is done: the operation, and its parts where it has some. */
export const operationAndParts = (operation: Operation): readonly Omit<Operation, 'parts'>[] =>
  operation.parts ? [operation, ...operation.parts.map((it) => it.operation)] : [operation];

/** Returns the targets that a call reaches: its own, and those of its parts. */
export const targetsOf = ({
  target,
  operation,
}: {
  readonly target: Target;
  readonly operation: Operation | undefined;
}): readonly Target[] =>
  operation?.parts ? [...new Set([target, ...operation.parts.flatMap((it) => it.target ?? [])])] : [target];

/** Changes that the call makes to access rights. */
export interface Privileges {
  readonly creates?: PrivilegedOperation;
  readonly grants?: PrivilegedOperation;
}

export type PrivilegedOperation = Pick<Operation, 'toolName' | 'name'>;

export const noPrivileges: Privileges = Object.freeze({});
