import { toolSchema } from '../../catalogue/load/schema.ts';
import { flag, identifier, size } from '../scalars.ts';
import { orNull, section } from '../section.ts';
import { responseScanOverride } from './daemon.ts';

// The limit of a tool's bodies is a setting here. It goes before that of the catalogue.
const { name, max_body_bytes: _, ...definition } = toolSchema.shape;

/** The settings of a tool that the catalogue does not have. */
const settings = {
  tenant: orNull(identifier).describe('Tenant that this holds for; null: all.'),
  max_body_bytes: orNull(size()).describe(
    "Body limit of calls to the tool; null: the tenant's, or what the catalogue says of the tool.",
  ),
  response_scan: orNull(responseScanOverride).describe('Over response_scan of the tenant.'),
  sensitive: orNull(flag).describe('Whether its answers count as sensitive reads; null: as found.'),
};

/** A tool: its settings, and with `hosts` also an addition to the catalogue in the form of its own files. */
export const tool = section({
  name: name.describe('Name of the tool.'),
  ...toolSchema.omit({ name: true }).partial().shape,
  ...settings,
});

/**
 * Returns the part of a tool that the catalogue reads, as written; undefined where there are only settings.
 */
export function catalogueAddition(
  written: Readonly<Record<string, unknown>>,
): Record<string, unknown> | undefined {
  if (written['hosts'] === undefined) return undefined;
  const own = Object.entries(written).filter(([key, value]) => key in definition && value !== undefined);
  return { title: written['name'], name: written['name'], ...Object.fromEntries(own) };
}

/** The keys that mean nothing unless the tool has hosts. */
export const definitionKeys: readonly string[] = Object.keys(definition);
