import { toldFields } from '../../catalogue/catalogue.ts';
import type { Config, TenantConfig } from '../../config/schema.ts';
import type { KnownNames, KnownTool } from '../../policy/index.ts';
import { type Catalogues, ownTables } from '../../tenants/catalogues.ts';

/** The tool of calls that have no table, to hosts that no tool has. */
const unlisted: readonly KnownTool[] = [
  {
    name: 'custom_proxy',
    operationNames: [],
    takesOtherNames: true,
    categories: ['http', 'other'],
    takesOtherCategories: false,
    fields: [],
  },
];

/**
 * Returns the tools of a catalogue, by default the gateway's own, and the tool of calls to hosts that no tool
 * has.
 */
export const toolsKnownTo = ({ tools } = ownTables().catalogue()): readonly KnownTool[] => [
  ...tools,
  ...unlisted,
];

/**
 * Returns the tools that some of the tenants have. A tool that differs among tenants has what it has in any
 * of their catalogues.
 */
function toolsOfAll(catalogues: Catalogues, tenants: readonly TenantConfig[]): readonly KnownTool[] {
  const distinct = new Set(tenants.map(({ id }) => catalogues.of(id)));
  const all = new Set([...distinct].flatMap(toolsKnownTo));
  return [...Map.groupBy(all, ({ name }) => name).values()].map((same) => same.reduce(asEither));
}

const asEither = (a: KnownTool, b: KnownTool): KnownTool => ({
  name: a.name,
  operationNames: [...a.operationNames, ...b.operationNames],
  takesOtherNames: a.takesOtherNames || b.takesOtherNames,
  categories: [...a.categories, ...b.categories],
  takesOtherCategories: a.takesOtherCategories || b.takesOtherCategories,
  fields: [...a.fields, ...b.fields],
});

/** Returns the names that policies of the tenants may use. */
export function namesKnownTo(
  { notifications, tools: settings }: Pick<Config, 'notifications' | 'tools'>,
  catalogues: Catalogues,
  tenants: readonly TenantConfig[],
  detectors: readonly string[],
): KnownNames {
  const tools = toolsOfAll(catalogues, tenants);
  const isTheirs = ({ tenantId }: { readonly tenantId: string | null }): boolean =>
    tenantId === null || tenants.some(({ id }) => id === tenantId);
  const listed = new Set(tools.map(({ name }) => name));
  const further = new Set(settings.filter(isTheirs).map(({ name }) => name));
  return {
    environments: [...new Set(tenants.flatMap((it) => it.environments))],
    budgets: tenants.flatMap((it) => it.budgets.map(({ name }) => name)),
    channelKinds: notifications.filter(isTheirs).map(({ type }) => type),
    detectors,
    tools: [...tools, ...[...further].filter((name) => !listed.has(name)).map(toUntoldTool)],
  };
}

/**
 * Returns the names that policies of files may use, for any tenant: of the configuration, of `registered`, or
 * registered later.
 */
export function namesInFiles(
  config: Config,
  catalogues: Catalogues,
  detectors: readonly string[],
  registered: Iterable<string> = [],
): KnownNames {
  const tenants = [...config.tenants.values(), config.defaultTenant('default')];
  return {
    ...namesKnownTo(config, catalogues, tenants, detectors),
    tenants: [...tenants.map(({ id }) => id), ...registered],
  };
}

/** Returns a tool of which only the name is known. Its calls may be anything. */
const toUntoldTool = (name: string): KnownTool => ({
  name,
  operationNames: [],
  takesOtherNames: true,
  categories: [],
  takesOtherCategories: true,
  fields: toldFields,
});
