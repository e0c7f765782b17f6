import { z } from 'zod';
import { configSchema } from '../src/config/schema.ts';
import { defaultText, type Schema, typeText } from './schema-text.ts';
import { wrapLines } from './wrap.ts';

/* Writes administration/configuration.md from the schema that the daemon reads its file with. */

const intro = `# Configuration reference

Every key of \`postern.yaml\` with its type, its default and its meaning.
This page is made from \`src/config\` by \`node docs/generate.ts\`.
[config/postern.yaml](../../config/postern.yaml) has the same keys as a file to copy from.

- Every key has a default, \`null\` stands for the default, and an empty file is valid. Unknown keys are refused.
- **Durations** are written \`250ms\`, \`30s\`, \`10m\`, \`1h\`, \`7d\`; **sizes** \`4096\`, \`256KB\`, \`1MB\` (units of 1,024).
- **References** stand in any text: \`\${env:NAME}\`, \`\${env:NAME:-text}\`, \`\${file:path}\`; \`$\${\` is a plain \`\${\`.
- **Relative paths** start from the folder of the file. A file has 4 MB at most; policies stand in files of their own.
- \`[]\` in a name means each entry of a list, \`<name>\` an entry of a table whose names you choose.
- \`SIGHUP\` takes over every change, except to \`proxy.listen\`, \`control.listen\`, \`state.url\`, \`workers\` and \`authority\`.
`;

/** Keys whose values have a grammar of their own, and where that is told. */
const elsewhere: Readonly<Record<string, string>> = {
  'tenants[].budgets[].match':
    'The keys of `match` in a rule: [policy reference](../policy-reference.md#match).',
};

/** A tool of the file may have every field of the catalogue's files; only settings have a description here. */
const isOfCatalogue = (path: string, schema: Schema): boolean =>
  path.startsWith('tools[].') && schema.description === undefined;

function keysOf(path: string, schema: Schema): string[] {
  const note = elsewhere[path];
  if (note) return [`- \`${path}\`: ${note}`];
  if (isOfCatalogue(path, schema)) return [];
  const variants = [schema, ...(schema.anyOf ?? []), ...(schema.oneOf ?? [])];
  const inner = variants.flatMap((it) => insideOf(path, it));
  if (inner.length > 0 && schema.properties) return inner;
  return [...lineOf(path, schema), ...new Set(inner)];
}

function insideOf(path: string, { properties, items, additionalProperties, oneOf, anyOf }: Schema): string[] {
  const keys = Object.entries(properties ?? {}).flatMap(([key, it]) => keysOf(`${path}.${key}`, it));
  const each = items ? variantsOf(`${path}[]`, items) : [];
  const named =
    typeof additionalProperties === 'object' ? variantsOf(`${path}.<name>`, additionalProperties) : [];
  const deeper = [...(oneOf ?? []), ...(anyOf ?? [])].flatMap((it) => insideOf(path, it));
  return [...keys, ...each, ...named, ...deeper];
}

const variantsOf = (path: string, schema: Schema): string[] => insideOf(path, schema);

function lineOf(path: string, schema: Schema): string[] {
  const { description = '' } = schema;
  const fallback = defaultText(schema);
  const type = typeText(schema);
  return [`- \`${path}\` (${type}${fallback ? `; default ${fallback}` : ''}): ${description}`];
}

/** The whole page. */
export function configurationDocument(): string {
  const { properties = {} } = z.toJSONSchema(configSchema, { io: 'input', unrepresentable: 'any' }) as Schema;
  const sections = Object.entries(properties).map(([key, schema]) => {
    const title = schema.description && schema.properties ? `\n${schema.description}\n` : '';
    return `## ${key}\n${title}\n${[...new Set(keysOf(key, schema))].join('\n')}\n`;
  });
  return wrapLines([intro, ...sections].join('\n'));
}
