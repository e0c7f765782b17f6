import { type Verb, verbs } from '../call.ts';
import type { Extraction } from './extract.ts';
import type { RootField } from './graphql.ts';
import type { Reading, Request } from './reading.ts';
import type { Rpc } from './schema.ts';

/** What a request was found to be, before its resource is read. */
export interface Meaning {
  readonly name: string;
  readonly category: string;
  readonly verb: Verb;
  readonly extraction: Extraction;
  /** Where the request does several things: all of them, this one included. */
  readonly parts?: readonly Meaning[];
  /** Of a batch: what it consists of; undefined where nobody can tell. */
  readonly batch?: { readonly requests: readonly Request[] | undefined };
}

/** Operations of a surface by the vendor's own name for them. */
export type Named = ReadonlyMap<string, Meaning>;

/** Comparable: READ, WRITE, ADMIN. */
export const strictness = (verb: Verb): number => verbs.indexOf(verb);

/** The one with the strictest verb; the first of equals. */
export function strictest<T extends { readonly verb: Verb }>(items: readonly T[]): T | undefined {
  let result: T | undefined;
  for (const item of items) {
    if (!result || strictness(item.verb) > strictness(result.verb)) result = item;
  }
  return result;
}

const readMethods = new Set(['GET', 'HEAD', 'OPTIONS']);
export const verbOf = (method: string): Verb => (readMethods.has(method) ? 'READ' : 'WRITE');

/** The strictest, and beside it the others. */
function several(meanings: readonly Meaning[]): Meaning | undefined {
  const first = strictest(meanings);
  if (!first || meanings.length === 1) return first;
  const parts = [...new Set(meanings)];
  return parts.length > 1 ? { ...first, parts } : first;
}

/** The method as it may stand in a name. */
export const shortMethod = (method: string): string => (/^[A-Z-]{1,20}$/.test(method) ? method : 'OTHER');

const actionsMax = 16;
const actionText = /^[A-Za-z]\w{0,63}$/;

/** `CreateDBInstance` is `create_db_instance`. */
export const toSnakeCase = (text: string): string =>
  text
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1_$2')
    .toLowerCase();

/**
 * The strictest of the actions that a remote procedure call names. Several places may each name one, and a duplicate field
 * may name two: the vendor takes one of them, and we do not know which. Nobody names more than 16 in good faith.
 */
export function rpcMeaning(
  rpc: Rpc,
  named: Named,
  extraction: Extraction,
  reading: Reading,
): Meaning | undefined {
  const actions = new Set(rpc.action.flatMap((read) => read(reading)));
  if (actions.size > actionsMax) {
    return { name: 'many_actions', category: rpc.category, verb: 'ADMIN', extraction };
  }
  const meanings: Meaning[] = [];
  for (const action of actions) {
    // X-Amz-Target qualifies the action: DynamoDB_20120810.PutItem.
    const name = action.slice(action.lastIndexOf('.') + 1);
    const known = named.get(name);
    if (known) meanings.push(known);
    else if (actionText.test(name)) {
      const host = rpc.category_from === undefined ? undefined : reading.placeholder(rpc.category_from);
      meanings.push({
        name: toSnakeCase(name),
        category: host ?? rpc.category,
        verb: actionVerb(rpc, name),
        extraction,
      });
    }
  }
  return several(meanings);
}

function actionVerb(rpc: Rpc, action: string): Verb {
  if (rpc.admin.some((beginning) => action.startsWith(beginning))) return 'ADMIN';
  return rpc.read.some((beginning) => action.startsWith(beginning)) ? 'READ' : rpc.verb;
}

/** The strictest of the root fields of a GraphQL request, or of all requests of a batch; a WRITE where they cannot be told. */
export function graphqlMeaning(named: Named, extraction: Extraction, reading: Reading): Meaning {
  const unreadable: Meaning = { name: 'graphql', category: 'graphql', verb: 'WRITE', extraction };
  const documents = reading.graphql();
  if (reading.isUnclear || documents.length === 0) return unreadable;
  const meanings = documents.flatMap((fields) =>
    fields ? fieldMeanings(fields, named, extraction) : [unreadable],
  );
  return several(meanings) ?? unreadable;
}

function fieldMeanings(
  fields: readonly RootField[],
  named: Named,
  extraction: Extraction,
): readonly Meaning[] {
  const meanings = new Map<string, Meaning>();
  for (const { kind, name } of fields) {
    const verb = kind === 'mutation' ? 'WRITE' : 'READ';
    const known = named.get(name);
    const isKnown = known && (known.verb !== 'READ' || verb === 'READ');
    const unlisted: Meaning = {
      name: toSnakeCase(name).slice(0, 64),
      category: 'graphql',
      verb,
      extraction,
    };
    meanings.set(`${kind} ${name}`, isKnown ? known : unlisted);
  }
  return [...meanings.values()];
}
