import type { Target } from './target.ts';

/* What a call does: its operation, what that acts on, and its parts where it does several things at once. */

export const verbs = ['READ', 'WRITE', 'ADMIN'] as const;
export type Verb = (typeof verbs)[number];

/** The tool and operation of a call, as the catalogue classifies it. */
export interface Operation {
  /** The tool; `custom_proxy` where no tool of the catalogue has this host. */
  readonly toolName: string;
  /**
   * A stable name. It is the catalogue's (`create_issue`), `method:PATH` in a known tool, or else the method.
   */
  readonly name: string;
  /** The caller's own words, where the name is made of them in another form; absent otherwise. */
  readonly said?: string;
  readonly category: string;
  readonly verb: Verb;
  readonly resource: Resource;
  /** Those whom the operation addresses: mail recipients, collaborators, share targets. */
  readonly principals: readonly string[];
  /** Strangers can read what the operation writes: a gist, a published package. */
  readonly isPublic?: true;
  /**
   * The owners of what the operation acts on, if the resource names none: accounts, chats. Empty means
   * nobody.
   */
  readonly owners?: readonly string[];
  /**
   * All operations of a call that does several things, such as a batch; absent where there is one. Each is
   * judged by itself, and the strictest decision stands for the call.
   */
  readonly parts?: readonly OperationPart[];
  /**
   * Other operations that the call may be, because nobody can tell what it does; absent where that is clear.
   */
  readonly unclear?: Unclear;
}

/** Other operations that a call may turn out to be, where nobody can tell. */
export interface Unclear {
  /** The tools that the call may use besides its own. */
  readonly toolNames: readonly string[];
  /** The call may contain further requests, with any method. */
  readonly anyMethod: boolean;
}

/**
 * A single operation of a call that does several things, with the method, target and body that belong to it
 * alone.
 */
export interface OperationPart {
  readonly operation: Omit<Operation, 'parts'>;
  readonly method?: string;
  readonly target?: Target;
  readonly body?: BodyValue;
}

/** The resource that an operation acts on. Unknown fields are absent. `repo` is `org/name`. */
export interface Resource {
  readonly org?: string;
  readonly repo?: string;
  readonly channel?: string;
  readonly region?: string;
  readonly account?: string;
  readonly bucket?: string;
  /** The values by tag. Where a tag has several, nobody can tell which one the vendor takes. */
  readonly tags?: Readonly<Record<string, readonly string[]>>;
  /** Fields that the operation may act on with an unknown value; absent where there are none. */
  readonly unknown?: readonly UnknownField[];
}

export type UnknownField = 'org' | 'repo' | 'channel' | 'region' | 'account' | 'bucket' | 'tags';

/**
 * A body as conditions see it. NDJSON lines, repeated form fields and ambiguous formats give several
 * `readings`. `unclear` is a body with structure that servers may read differently.
 */
export type BodyValue =
  | { readonly kind: 'value'; readonly readings: readonly unknown[] }
  | { readonly kind: 'none' }
  | { readonly kind: 'unclear' };

/** Returns the operation of a call, followed by its parts. */
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
