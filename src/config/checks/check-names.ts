import { basePlan, builtInPlans } from '../sections/plans.ts';
import {
  entriesOf,
  type Mapping,
  mapping,
  type WrittenEntry,
  writtenTextOf,
  writtenTextsOf,
} from '../written.ts';
import type { UnplacedMistake } from './issues.ts';
import { type Path, suggestion } from './mistakes.ts';

/* Finds names that stand twice, and names that lead nowhere. */

// Names that stand twice

function repeated(
  entries: readonly WrittenEntry[],
  keyOf: (item: Mapping) => string | undefined,
  field: string,
): UnplacedMistake[] {
  const seen = new Set<string>();
  const findings: UnplacedMistake[] = [];
  for (const { path, item } of entries) {
    const key = keyOf(item);
    if (key === undefined) continue;
    if (seen.has(key))
      findings.push({ path: [...path, field], message: 'is used by an entry before this one' });
    seen.add(key);
  }
  return findings;
}

export function checkDuplicates(root: Mapping): readonly UnplacedMistake[] {
  const by = (field: string) => (item: Mapping) => writtenTextOf(item[field])?.toLowerCase();
  const perTenant = (item: Mapping) => {
    const name = writtenTextOf(item['name']);
    return name === undefined ? undefined : `${writtenTextOf(item['tenant']) ?? ''}/${name}`;
  };
  const each = (key: string, keyOf: typeof perTenant, field: string) =>
    repeated(entriesOf(root, key), keyOf, field);
  return [
    ...each('tenants', (item) => writtenTextOf(item['id']), 'id'),
    ...each('agents', by('id'), 'id'),
    ...each('keys', perTenant, 'name'),
    ...each('keys', by('hash'), 'hash'),
    ...each('credentials', perTenant, 'name'),
    ...each('inbound', by('prefix'), 'prefix'),
    ...each('tools', perTenant, 'name'),
    ...each('feeds', (item) => writtenTextOf(item['name']), 'name'),
    ...each('notifications', (item) => writtenTextOf(item['name']), 'name'),
    ...entriesOf(root, 'tenants').flatMap(({ path, item }) => [
      ...repeated(entriesOf(item, 'budgets', path), (it) => writtenTextOf(it['name']), 'name'),
      ...repeatedTexts(item['environments'], [...path, 'environments']),
    ]),
  ];
}

function repeatedTexts(list: unknown, path: Path): readonly UnplacedMistake[] {
  const seen = new Set<string>();
  return writtenTextsOf(list).flatMap((text, index) => {
    const isSecond = seen.has(text);
    seen.add(text);
    return isSecond ? [{ path: [...path, index], message: 'stands here twice' }] : [];
  });
}

// Plans

export function checkPlans(root: Mapping): readonly UnplacedMistake[] {
  const plans = mapping(root['plans']);
  const known = new Set([...builtInPlans, ...Object.keys(plans)]);
  const unknown = (name: unknown, path: Path): readonly UnplacedMistake[] =>
    typeof name === 'string' && !known.has(name)
      ? [
          {
            path,
            message: `there is no such plan${suggestion(name, known) || `; there are ${[...known].join(', ')}`}`,
          },
        ]
      : [];
  return [
    ...unknown(root['default_plan'], ['default_plan']),
    ...entriesOf(root, 'tenants').flatMap(({ path, item }) => unknown(item['plan'], [...path, 'plan'])),
    ...Object.keys(plans).flatMap((name) =>
      unknown(mapping(plans[name])['extends'], ['plans', name, 'extends']),
    ),
    ...Object.keys(plans).flatMap((name) => checkCycle(plans, name)),
  ];
}

function checkCycle(plans: Mapping, name: string): readonly UnplacedMistake[] {
  const seen = new Set<string>();
  let at: string | undefined = name;
  while (at !== undefined && !seen.has(at)) {
    seen.add(at);
    const own: Mapping = Object.hasOwn(plans, at) ? mapping(plans[at]) : {};
    at = basePlan(at, writtenTextOf(own['extends']));
  }
  // Only the plans of the circle are named, not the plans that lead into it.
  return at === name
    ? [{ path: ['plans', name, 'extends'], message: 'the plan extends itself, in the end' }]
    : [];
}

// Tenants, environments and agents that are named elsewhere

/** The tenants that can be named. */
interface Tenants {
  /** The environments by tenant. */
  readonly environments: ReadonlyMap<string, ReadonlySet<string>>;
  /** The tenant that stands in where an entry names none; undefined unless there is exactly one. */
  readonly only: string | undefined;
}

export function readTenants(root: Mapping): Tenants {
  const environments = new Map<string, ReadonlySet<string>>();
  for (const { item } of entriesOf(root, 'tenants')) {
    const id = writtenTextOf(item['id']);
    const names = writtenTextsOf(item['environments']);
    if (id !== undefined && !environments.has(id))
      environments.set(id, new Set(names.length > 0 ? names : ['default']));
  }
  const [only] = environments.keys();
  return { environments, only: environments.size === 1 ? only : undefined };
}

export function checkOwners(root: Mapping, { environments, only }: Tenants): readonly UnplacedMistake[] {
  const check = (key: string, isRequired: boolean) =>
    entriesOf(root, key).flatMap(({ path, item }): readonly UnplacedMistake[] => {
      const id =
        writtenTextOf(item['tenant']) ?? (item['tenant'] === undefined && isRequired ? only : undefined);
      if (id === undefined) {
        const isMissing = isRequired && item['tenant'] === undefined;
        const why =
          environments.size === 0
            ? 'the file has no tenants, as tenants: [{ id: acme }]'
            : 'only a single tenant may be left out';
        return isMissing ? [{ path: [...path, 'tenant'], message: `is missing; ${why}` }] : [];
      }
      const known = environments.get(id);
      if (!known) {
        const message = `there is no such tenant${suggestion(id, environments.keys())}`;
        return [{ path: [...path, 'tenant'], message }];
      }
      const env = writtenTextOf(item['env']);
      if (env === undefined || known.has(env)) return [];
      return [
        { path: [...path, 'env'], message: `the tenant has no such environment${suggestion(env, known)}` },
      ];
    });
  return [
    ...['agents', 'keys', 'credentials', 'inbound'].flatMap((key) => check(key, true)),
    ...['tools', 'notifications'].flatMap((key) => check(key, false)),
  ];
}

/**
 * Finds keys and routes whose agent, if it is in the file, is of another tenant or environment. They may also
 * name agents of the state.
 */
export function checkAgents(root: Mapping, { environments, only }: Tenants): readonly UnplacedMistake[] {
  const ownerOf = (item: Mapping) => writtenTextOf(item['tenant']) ?? only;
  const envOf = (item: Mapping) =>
    writtenTextOf(item['env']) ?? [...(environments.get(ownerOf(item) ?? '') ?? [])][0];
  const agents = new Map(
    entriesOf(root, 'agents').map(({ item }) => [writtenTextOf(item['id'])?.toLowerCase(), item]),
  );
  return [...entriesOf(root, 'keys'), ...entriesOf(root, 'inbound')].flatMap(({ path, item }) => {
    const agent = agents.get(writtenTextOf(item['agent'])?.toLowerCase() ?? '');
    if (!agent) return [];
    const at = [...path, 'agent'];
    if (ownerOf(agent) !== ownerOf(item)) return [{ path: at, message: 'this agent is of another tenant' }];
    const env = writtenTextOf(item['env']);
    return env === undefined || env === envOf(agent)
      ? []
      : [{ path: at, message: 'this agent is of another environment' }];
  });
}
