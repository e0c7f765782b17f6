import { type Catalogue, CatalogueError, readToolTables, type ToolTables } from '../catalogue/catalogue.ts';
import { ConfigError, type Mistake } from '../config/load.ts';
import type { Config } from '../config/schema.ts';
import { packageFile } from '../util/program-files.ts';

/**
 * Finds the catalogue of each tenant: the gateway's tools, and what the configuration adds for all tenants or
 * for this one.
 */
export type Catalogues = ReturnType<typeof createCatalogues>;

/** Returns the tables that come with the gateway. */
export const ownTables = (): ToolTables => readToolTables(packageFile('config/tools'), 'tools');

/**
 * Compiles the catalogues of all tenants. Throws `ConfigError` with all that is wrong with the additions of
 * the configuration.
 */
export function createCatalogues({ file, tools }: Pick<Config, 'file' | 'tools'>, tables: ToolTables) {
  /**
   * Compiles the catalogue of a tenant (null: of tenants without additions). Each addition keeps its index,
   * by which mistakes name it.
   */
  const withOf = (tenantId: string | null): Catalogue => {
    const additions = tools.map((it) =>
      it.tenantId === null || it.tenantId === tenantId ? it.addition : undefined,
    );
    try {
      return tables.catalogue(additions);
    } catch (error) {
      if (!(error instanceof CatalogueError)) throw error;
      const toMistake = (message: string): Mistake => ({ path: 'tools', line: undefined, message });
      // A tool of several surfaces has the same mistake on each.
      throw new ConfigError(file, [...new Set(error.mistakes)].map(toMistake));
    }
  };
  /** The catalogue of tenants without additions. */
  const common = withOf(null);
  /** Catalogues of tenants with additions of their own. */
  const own = new Map<string, Catalogue>();
  for (const { tenantId, addition } of tools)
    if (tenantId !== null && addition !== undefined && !own.has(tenantId))
      own.set(tenantId, withOf(tenantId));
  return { common, own, of: (tenantId: string) => own.get(tenantId) ?? common };
}
