import { GraphQLError } from 'graphql/error';
import {
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  Kind,
  type OperationDefinitionNode,
  parse,
  type SelectionSetNode,
  type ValueNode,
} from 'graphql/language';

/** A root field of a GraphQL document; `kind` is that of its operation. */
export interface RootField {
  readonly kind: 'query' | 'mutation' | 'subscription';
  /** The name of the field itself, not its alias. */
  readonly name: string;
  /** Arguments by name, with the request's variables put in; a missing variable is undefined. */
  readonly arguments: Readonly<Record<string, unknown>>;
}

const documentLengthMax = 65_536;
const tokensMax = 4096;
/** Bound on the fields and fragments that are gone through. */
const selectionsMax = 100;

/**
 * Returns the root fields of all operations in a document (GraphQL, October 2021, 2.2 to 2.8). Fields of
 * fragments are among them, and fields that a variable may switch off. Returns undefined where it is
 * malformed, or longer than 64 KB, 4,096 tokens or 100 fields: then nobody can say what it does.
 */
export function rootFieldsOf(
  document: string,
  variables: Readonly<Record<string, unknown>> = {},
): readonly RootField[] | undefined {
  const parsed = documentLengthMax < document.length ? undefined : documentOf(document);
  if (!parsed) return undefined;
  const fragments = new Map<string, FragmentDefinitionNode>();
  const operations: OperationDefinitionNode[] = [];
  for (const definition of parsed.definitions) {
    if (definition.kind === Kind.FRAGMENT_DEFINITION) fragments.set(definition.name.value, definition);
    else if (definition.kind === Kind.OPERATION_DEFINITION) operations.push(definition);
    // Definitions of types are for servers, so no client sends them.
    else return undefined;
  }
  const fields: RootField[] = [];
  let selections = 0;
  let given = variables;
  /**
   * Adds the fields of a selection set. Returns whether all of them are known; a fragment that spreads itself
   * reaches the bound.
   */
  const add = (kind: RootField['kind'], { selections: list }: SelectionSetNode): boolean =>
    list.every((selection) => {
      if (++selections > selectionsMax) return false;
      if (selection.kind === Kind.FIELD) return fields.push(toField(kind, selection, given)) > 0;
      if (selection.kind === Kind.INLINE_FRAGMENT) return add(kind, selection.selectionSet);
      const fragment = fragments.get(selection.name.value);
      return fragment !== undefined && add(kind, fragment.selectionSet);
    });
  const isKnown = operations.every((it) => {
    given = withDefaults(it, variables);
    return add(it.operation, it.selectionSet);
  });
  return isKnown && fields.length > 0 ? fields : undefined;
}

/** Adds the defaults that the operation gives for variables without a value (6.1.2). */
function withDefaults(
  { variableDefinitions = [] }: OperationDefinitionNode,
  given: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const defaults = variableDefinitions.flatMap(({ variable, defaultValue }) =>
    defaultValue ? [[variable.name.value, toValue(defaultValue, {})] as const] : [],
  );
  return defaults.length === 0 ? given : { ...Object.fromEntries(defaults), ...given };
}

function toField(
  kind: RootField['kind'],
  { name, arguments: list = [] }: FieldNode,
  variables: Readonly<Record<string, unknown>>,
): RootField {
  const given = list.map((it) => [it.name.value, toValue(it.value, variables)] as const);
  return { kind, name: name.value, arguments: Object.fromEntries(given) };
}

/** Converts a literal (2.9) to JSON without its type. The library's own converter comes with 140 modules. */
function toValue(node: ValueNode, variables: Readonly<Record<string, unknown>>): unknown {
  switch (node.kind) {
    case Kind.NULL:
      return null;
    case Kind.INT:
    case Kind.FLOAT:
      return Number(node.value);
    case Kind.LIST:
      return node.values.map((it) => toValue(it, variables));
    case Kind.OBJECT:
      return Object.fromEntries(node.fields.map((it) => [it.name.value, toValue(it.value, variables)]));
    case Kind.VARIABLE:
      return Object.hasOwn(variables, node.name.value) ? variables[node.name.value] : undefined;
    default:
      return node.value;
  }
}

function documentOf(text: string): DocumentNode | undefined {
  try {
    return parse(text, { noLocation: true, maxTokens: tokensMax });
  } catch (error) {
    // The parser calls itself for what is nested, and 4,096 tokens of brackets alone are too deep for the
    // stack.
    if (error instanceof GraphQLError || error instanceof RangeError) return undefined;
    throw error;
  }
}
