import { kept } from '../../util/kept.ts';
import { nearestSuggestion } from '../../util/nearest.ts';
import type { Rule, RuleMatch } from '../schema.ts';
import type { KnownTool } from './known-names.ts';
import { shorten } from './shorten.ts';

/*
 * Names of tools, operations and categories are compared as they stand: a misspelt one makes a rule that
 * never holds. Catalogues grow, so an unknown name is a warning. Some vendors' actions bear names that no
 * catalogue lists. Only a name one letter away from a listed one is taken for a mistake.
 */

/** A policy may name thousands of unlisted actions, each of which would be compared with every listed one. */
const lookupsMax = 200;
/** Among shorter names one letter makes another name: `ec2`, `ecs`. */
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

/** Operations or categories. */
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

/** Keeps the table of each list of tools, since hundreds of policies are read against the same list. */
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

/** Makes the set of a tool when a rule first names the tool: most are named by none. */
function once(listed: (tool: KnownTool) => readonly string[]): Kind['namesOf'] {
  const sets = new Map<KnownTool, ReadonlySet<string>>();
  return (tool) => kept(sets, tool, () => new Set(listed(tool)));
}

/** Warns about what a rule asks for and no call of its tools can meet, while the answers are taken. */
export function createToolWarnings(tools: readonly KnownTool[]): (rule: Rule) => Generator<string> {
  const { byName, operations, categories } = tableOf(tools);
  let lookupsLeft = lookupsMax;

  /** Warns about a name that no tool of `among` has; undefined also where one may have it all the same. */
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

/** `method:POST`, `POST:/path/{id}` and `http_post` are what any host may be asked. */
const isGeneric = (operation: string): boolean =>
  operation === '*' ||
  operation === 'category:http' ||
  operation.startsWith('http_') ||
  (operation.includes(':') && !operation.startsWith(categoryPrefix));

const asWritten = 'names are compared as they stand, without wildcards';

const hasWildcard = (word: string): boolean => /[*?[]/.test(word);

/** Returns each once; undefined where the rule is for all tools. */
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
