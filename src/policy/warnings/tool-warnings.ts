import { kept } from '../../util/kept.ts';
import { nearestSuggestion } from '../../util/nearest.ts';
import type { Rule, RuleMatch } from '../schema.ts';
import type { KnownTool } from './known-names.ts';
import { shorten } from './shorten.ts';

/*
 * Names of tools, operations and categories are compared as they stand, so a misspelt name makes a rule that
 * never holds. Catalogues grow, and therefore an unknown name is only a warning. Some vendors have actions
 * that no catalogue lists. There, only a name one letter away from a listed one is taken for a mistake.
 */

/**
 * The number of unlisted names that are compared with the listed ones. A policy may name thousands, and each
 * is compared with all.
 */
const lookupsMax = 200;
/**
 * The length from which one different letter is taken for a mistake. Shorter names may differ in one letter:
 * `ec2`, `ecs`.
 */
const likeLengthMin = 6;
const shownToolsMax = 3;

const fieldOf = {
  org_patterns: 'org',
  repo_patterns: 'repo',
  channel_patterns: 'channel',
  region_patterns: 'region',
  account_patterns: 'account',
  aws_tags: 'tags',
  principal_patterns: 'principals',
} as const;

/** The operations, or the categories. */
interface Kind {
  readonly what: string;
  readonly namesOf: (tool: KnownTool) => ReadonlySet<string>;
  /** Tells whether calls of the tool may bear further names. */
  readonly isOpen: (tool: KnownTool) => boolean;
}

interface Table {
  readonly byName: ReadonlyMap<string, KnownTool>;
  readonly operations: Kind;
  readonly categories: Kind;
}

/**
 * The tables by their list of tools. They are kept, since hundreds of policies are read against the same
 * list.
 */
const tables = new WeakMap<readonly KnownTool[], Table>();

const tableOf = (tools: readonly KnownTool[]): Table =>
  kept(tables, tools, () => ({
    byName: new Map(tools.map((tool) => [tool.name, tool])),
    operations: {
      what: 'operation',
      namesOf: once((it) => it.operationNames),
      isOpen: ({ takesOtherNames }) => takesOtherNames,
    },
    categories: {
      what: 'category',
      namesOf: once((it) => it.categories),
      isOpen: ({ takesOtherCategories }) => takesOtherCategories,
    },
  }));

/**
 * Returns a function that makes the set of a tool when a rule first names it. Most tools are named by no
 * rule.
 */
function once(listed: (tool: KnownTool) => readonly string[]): Kind['namesOf'] {
  const sets = new Map<KnownTool, ReadonlySet<string>>();
  return (tool) => kept(sets, tool, () => new Set(listed(tool)));
}

/**
 * Returns a function that warns of what a rule asks for and no call of its tools can meet. It stops when no
 * more warnings are taken.
 */
export function createToolWarnings(tools: readonly KnownTool[]): (rule: Rule) => Generator<string> {
  const { byName, operations, categories } = tableOf(tools);
  let lookupsLeft = lookupsMax;

  /**
   * Returns a warning about a name that no tool of `among` has. Returns undefined also where a tool may have
   * the name all the same.
   */
  function unknownName(
    word: string,
    { what, namesOf, isOpen }: Kind,
    among: readonly KnownTool[],
    of: string,
  ) {
    if (among.some((tool) => namesOf(tool).has(word))) return undefined;
    const says = `the catalogue has no ${what} ${shorten(word)}${of}`;
    if (hasWildcard(word)) return `${says}; ${asWritten}`;
    const isPossible = among.some(isOpen);
    if (isPossible && (word.length < likeLengthMin || lookupsLeft-- <= 0)) return undefined;
    const candidates = among.flatMap((tool) => [...namesOf(tool)]);
    const near = nearestSuggestion(word, candidates, isPossible ? 1 : undefined);
    return isPossible && near === '' ? undefined : says + near;
  }

  return function* ({ match }) {
    const named = toolsNamed(match);
    const among = named === undefined ? tools : named.flatMap((name) => byName.get(name) ?? []);
    for (const name of named ?? []) {
      if (byName.has(name)) continue;
      const hint = hasWildcard(name) ? `; ${asWritten}` : nearestSuggestion(name, [...byName.keys()]);
      yield `there is no tool ${shorten(name)}${hint}`;
    }
    // An unknown tool may have the names that the catalogue lacks.
    if (named !== undefined && among.length < named.length) return;
    const of = named === undefined ? '' : ` of ${toList(named)}`;
    for (const operation of match.operations ?? []) {
      if (isGeneric(operation)) continue;
      const text = operation.startsWith(categoryPrefix)
        ? unknownName(operation.slice(categoryPrefix.length), categories, among, of)
        : unknownName(operation, operations, among, of);
      if (text !== undefined) yield text;
    }
    if (named !== undefined) yield* untold(match, among, named);
  };
}

const categoryPrefix = 'category:';

/**
 * Tells whether an operation is one that any host may be asked for: `method:POST`, `POST:/path/{id}`,
 * `http_post`.
 */
const isGeneric = (operation: string): boolean =>
  operation === '*' ||
  operation === 'category:http' ||
  operation.startsWith('http_') ||
  (operation.includes(':') && !operation.startsWith(categoryPrefix));

const asWritten = 'names are compared as they stand, without wildcards';

const hasWildcard = (word: string): boolean => /[*?[]/.test(word);

/** Returns the names of the rule's tools, each once; undefined where the rule is for all tools. */
function toolsNamed({ tool_name, tool_names }: RuleMatch): readonly string[] | undefined {
  if (tool_name !== undefined) return [tool_name];
  return tool_names && [...new Set(tool_names)];
}

function* untold(match: RuleMatch, among: readonly KnownTool[], named: readonly string[]): Generator<string> {
  for (const [key, field] of Object.entries(fieldOf)) {
    if (match[key as keyof typeof fieldOf] === undefined) continue;
    if (among.some(({ fields }) => fields.includes(field))) continue;
    yield `${key} never matches: no call of ${toList(named)} tells its ${field}`;
  }
}

const toList = (names: readonly string[]): string =>
  names.length > shownToolsMax ? 'these tools' : names.map(shorten).join(', ');
