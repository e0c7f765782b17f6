import t from 'tap';
import { parseConfig } from '../../src/config/load.ts';
import { createCatalogues, ownTables } from '../../src/tenants/catalogues.ts';

t.test('a host that another tool has is one mistake, however many surfaces that tool has there', (t) => {
  const operations = '{ a: { b: { verb: READ, call: GET /x } } }';
  const text = `tools: [{ name: slack, hosts: [api.github.com], operations: ${operations} }]`;
  const config = parseConfig(text, { file: undefined, env: {} });
  const thrown: { mistakes?: readonly { message: string }[] }[] = [];
  try {
    createCatalogues(config, ownTables());
  } catch (error) {
    thrown.push(error as (typeof thrown)[number]);
  }
  t.strictSame(
    thrown[0]?.mistakes?.map((it) => it.message),
    ['slack: api.github.com already belongs to github'],
  );
  t.end();
});
