import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import t from 'tap';
import { type JsonSchema, keysAt, toJsonSchema } from '../../src/config/json-schema.ts';
import { parseConfig } from '../../src/config/load.ts';

const file = resolve(import.meta.dirname, '../../config/postern.yaml');
const text = readFileSync(file, 'utf8');

/** Every key that the schema knows, with its path. Tools of the catalogue are documented there. */
function* keysOf(
  schema: JsonSchema,
  path = '',
): Generator<{ path: string; key: string; schema: JsonSchema }> {
  for (const [key, inner] of Object.entries(schema.properties ?? {})) {
    const at = path === '' ? key : `${path}.${key}`;
    yield { path: at, key, schema: inner };
    if (!/^tools\.(surfaces|operations|extract|rpc|graphql|examples)/.test(at)) yield* keysOf(inner, at);
  }
  const others = [schema.items, ...(schema.anyOf ?? []), ...(schema.oneOf ?? [])];
  for (const other of [...others, schema.additionalProperties]) {
    if (typeof other === 'object') yield* keysOf(other, path);
  }
}

const documented = [...keysOf(toJsonSchema())].filter(
  ({ path }) =>
    !/^tools\.(?!name|title|hosts|operations|tenant|max_body_bytes|response_scan|sensitive)|\.match\./.test(
      path,
    ),
);

t.test('the example is valid as it stands and has no warnings', async (t) => {
  const config = parseConfig(text, { file, env: {} });
  t.strictSame(config.warnings, []);
});

t.test('the example is valid with everything that it comments out', async (t) => {
  // An example in a comment begins with "- ", further lines of it are indented.
  const uncommented = text
    .replace(/^#( {1,3}- .*(?:\n# {3,}.*)*)/gm, (block) => block.replace(/^#/gm, ' '))
    .replace(/^( *[a-z_]+:) \[\](.*\n +- )/gm, '$1$2');
  const names = [...uncommented.matchAll(/\$\{env:([A-Z_]+)\}/g)].map(([, name = '']) => name);
  const config = parseConfig(uncommented, {
    file,
    env: Object.fromEntries(names.map((name) => [name, 'https://h.example/'])),
  });
  t.match(config, {
    keys: { length: 1 },
    credentials: { length: 7 },
    tools: { length: 2 },
    feeds: { length: 2 },
  });
  t.match(config, {
    notifications: { length: 3 },
    upstream: { resolve: { length: 1 } },
  });
  t.equal(config.inbound.size, 3);
});

t.test('the example mentions every key of the schema', async (t) => {
  t.ok(documented.length > 150);
  for (const { path, key } of documented) t.match(text, new RegExp(`\\b${key}\\b`), path);
});

t.test('the example writes the defaults, where it is no example of something else', async (t) => {
  const stripped = text.replace(/^(plans|tenants|agents|credentials|inbound):(?:.*\n(?:[ #].*\n|\n)*)/gm, '');
  const { defaultTenant: _, file: __, origins: _0, ...written } = parseConfig(stripped, { file, env: {} });
  const { defaultTenant: ___, file: ____, origins: _1, ...defaults } = parseConfig('', { file, env: {} });
  t.strictSame(written, defaults);
});

t.test('every key of the schema says what it is for', async (t) => {
  for (const { path, schema } of documented) {
    if (schema.properties || schema.anyOf?.some((it) => it.properties)) continue;
    if (!path.startsWith('tools.')) t.type(schema.description, 'string', path);
  }
});

t.test('the schema for editors allows null and references, and refuses unknown keys', async (t) => {
  const schema = toJsonSchema();
  t.equal(schema.additionalProperties, false);
  const workers = schema.properties?.['workers'];
  t.match(workers, {
    default: 1,
    anyOf: [{ type: 'integer', minimum: 1, maximum: 64 }, { type: 'string' }, { type: 'null' }],
  });
  t.match(schema.properties?.['proxy']?.anyOf?.[0], { type: 'object', additionalProperties: false });
  t.doesNotThrow(() => JSON.stringify(schema));
  for (const { path, schema: inner } of documented.filter((it) => !it.path.includes('.'))) {
    t.ok(
      inner.anyOf?.some((it) => it.type === 'null'),
      path,
    );
  }
});

t.test('the keys at a path are found through lists, tables and kinds', async (t) => {
  t.ok(keysAt([]).has('tenants'));
  t.ok(keysAt(['tenants', 0, 'posture', 'bands']).has('HIGH'));
  t.ok(keysAt(['plans', 'any']).has('burst'));
  t.ok(keysAt(['credentials', 3]).has('client_secret'));
  t.ok(keysAt(['inbound', 0, 'auth']).has('header'));
  t.equal(keysAt(['constructor']).size, 0);
  t.equal(keysAt(['mode', 'x', 0]).size, 0);
});
