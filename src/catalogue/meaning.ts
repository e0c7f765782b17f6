import { type Verb, verbs } from '../core/call.ts';
import type { Extraction } from './extract.ts';
import type { Rpc } from './load/schema.ts';
import type { RequestSource } from './load/sources.ts';
import type { RootField } from './protocols/graphql.ts';
import type { RequestReading } from './reading.ts';
import type { Request } from './request.ts';

/** The meaning of a request, before its resource is read. */
export interface RequestMeaning {
  readonly name: string;
  /** The vendor's own word for the operation, where the name is made of it. */
  readonly said?: string;
  readonly category: string;
  readonly verb: Verb;
  readonly extraction: Extraction;
  /** Tells whether nobody knows what the request does. */
  readonly isUnclear?: true;
  /** Tells whether strangers can read what the request writes. */
  readonly isPublic?: true;
  /** The root field of GraphQL that it is, whose arguments alone count; undefined for anything else. */
  readonly rootField?: RootField;
  /** All meanings of a request that does several things, this one included. */
  readonly parts?: readonly RequestMeaning[];
  /** Set for a batch: its requests, or undefined where nobody can tell them. */
  readonly batch?: { readonly requests: readonly Request[] | undefined };
}

/** Finds the operation of a surface by the vendor's own name for it. */
export type Named = (name: string) => RequestMeaning | undefined;

/** The part of a surface that has remote procedures. */
type Procedures = Omit<Rpc, 'call' | 'action'> & { readonly actions: readonly RequestSource[] };

/** Returns a number to compare verbs by: READ is least, ADMIN most. */
export const strictness = (verb: Verb): number => verbs.indexOf(verb);

/** Returns the item with the strictest verb; the first of equals. */
export function strictest<T extends { readonly verb: Verb }>(items: readonly T[]): T | undefined {
  let result: T | undefined;
  for (const item of items) {
    if (!result || strictness(item.verb) > strictness(result.verb)) result = item;
  }
  return result;
}

const readMethods = new Set(['GET', 'HEAD', 'OPTIONS']);
export const verbOf = (method: string): Verb => (readMethods.has(method) ? 'READ' : 'WRITE');

/** Returns the strictest meaning, with all different ones as its parts. */
function several(meanings: readonly RequestMeaning[]): RequestMeaning | undefined {
  const first = strictest(meanings);
  if (!first || meanings.length === 1) return first;
  const parts = [...new Set(meanings)];
  return parts.length > 1 ? { ...first, parts } : first;
}

/** Returns the method as it may stand in a name, which is `OTHER` for odd ones. */
export const shortMethod = (method: string): string => (/^[A-Z-]{1,20}$/.test(method) ? method : 'OTHER');

const actionsMax = 16;
const actionText = /^[A-Za-z]\w{0,63}$/;

/** Turns `CreateDBInstance` into `create_db_instance`. */
export const toSnakeCase = (text: string): string =>
  text
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1_$2')
    .toLowerCase();

/**
 * Returns the strictest of the actions that a remote procedure call names, the others as its parts. Several
 * places may each name one, and a duplicate field may name two: we do not know which the vendor takes. With
 * more than 16 it answers ADMIN: nobody names so many in good faith.
 */
export function rpcMeaning(
  rpc: Procedures,
  named: Named,
  extraction: Extraction,
  reading: RequestReading,
): RequestMeaning | undefined {
  const actions = new Set<string>();
  let isTold = false;
  for (const read of rpc.actions) {
    const found = read(reading);
    for (const action of found) actions.add(action);
    isTold ||= found.length > 0 && !reading.isUnclear;
  }
  const unclear = { category: rpc.category, verb: 'ADMIN', extraction, isUnclear: true } as const;
  if (actions.size > actionsMax) return { name: 'many_actions', ...unclear };
  if (!isTold && reading.isUnclear) return { name: 'unclear', ...unclear };
  const meanings: RequestMeaning[] = [];
  for (const action of actions) {
    // X-Amz-Target qualifies the action: DynamoDB_20120810.PutItem.
    const name = action.slice(action.lastIndexOf('.') + 1);
    const known = named(name);
    if (known) meanings.push(known);
    else if (!actionText.test(name)) return { name: 'unclear', ...unclear };
    else {
      const host = rpc.category_from === undefined ? undefined : reading.placeholder(rpc.category_from);
      meanings.push({
        name: toSnakeCase(name),
        said: name,
        category: host ?? rpc.category,
        verb: actionVerb(rpc, name),
        extraction,
      });
    }
  }
  return several(meanings);
}

function actionVerb(rpc: Procedures, action: string): Verb {
  if (rpc.admin.some((beginning) => action.startsWith(beginning))) return 'ADMIN';
  return rpc.read.some((beginning) => action.startsWith(beginning)) ? 'READ' : rpc.verb;
}

/**
 * Returns the strictest of all root fields of a GraphQL request or batch; ADMIN where they cannot be read.
 */
export function graphqlMeaning(
  named: Named,
  extraction: Extraction,
  reading: RequestReading,
): RequestMeaning {
  const unreadable: RequestMeaning = {
    name: 'graphql',
    category: 'graphql',
    verb: 'ADMIN',
    extraction,
    isUnclear: true,
  };
  const documents = reading.graphql();
  if (reading.isUnclear || documents.length === 0) return unreadable;
  const meanings = documents.flatMap((fields) =>
    fields ? fields.map((it) => fieldMeaning(it, named, extraction)) : [unreadable],
  );
  if (meanings.length <= rootFieldsMax) return several(meanings) ?? unreadable;
  reading.hideArguments();
  return unreadable;
}

/** Bound on the root fields of one request, since each is judged by itself. */
const rootFieldsMax = 100;

function fieldMeaning(rootField: RootField, named: Named, extraction: Extraction): RequestMeaning {
  const { kind, name } = rootField;
  const verb = kind === 'mutation' ? 'WRITE' : 'READ';
  const known = named(name);
  if (known && (known.verb !== 'READ' || verb === 'READ')) return { ...known, rootField };
  return {
    name: toSnakeCase(name).slice(0, 64),
    said: name,
    category: 'graphql',
    verb,
    extraction,
    rootField,
  };
}
