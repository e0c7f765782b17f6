import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { apiDocument } from './generate-api.ts';
import { commandsDocument } from './generate-commands.ts';
import { configurationDocument } from './generate-configuration.ts';
import { noticesDocument } from './generate-notices.ts';
import { codesDocument, metricsDocument } from './generate-observability.ts';
import { policyReference } from './generate-policies.ts';
import { recipesDocument } from './generate-recipes.ts';
import { toolsDocument } from './generate-tools.ts';

/* Writes the generated pages; a test fails where one is out of date. Run: `node docs/generate.ts`. */

/** What makes each page, by its path below `docs/`. */
export const generatedPages: Readonly<Record<string, () => string>> = {
  '../THIRD_PARTY_NOTICES': noticesDocument,
  'administration/configuration.md': configurationDocument,
  'api.md': apiDocument,
  'command-reference.md': commandsDocument,
  'observability/codes.md': codesDocument,
  'observability/metrics.md': metricsDocument,
  'policy-recipes.md': recipesDocument,
  'policy-reference.md': policyReference,
  'tools.md': toolsDocument,
};

if (import.meta.main)
  for (const [path, make] of Object.entries(generatedPages))
    writeFileSync(join(import.meta.dirname, path), make());
