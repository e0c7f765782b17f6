import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import t from 'tap';
import type { Operation } from '../../../src/core/call.ts';
import { createPrivilegesOf, loadPrivileges } from '../../../src/risk/signals/privileges.ts';
import { ownTables } from '../../../src/tenants/catalogues.ts';

const config = resolve(import.meta.dirname, '../../../config');
const table = loadPrivileges(join(config, 'signals/privileges.yaml'));

t.test('all names of the table are operations that write, of tools of the catalogue', async (t) => {
  const { tools } = ownTables().catalogue();
  for (const { tool, creates, grants } of table) {
    const known = tools.find((it) => it.name === tool);
    if (!known) t.fail(`${tool} is not in the catalogue`);
    const verbs = new Map(known?.operations.map((it) => [it.name, it.verb]));
    for (const name of [...creates, ...grants]) {
      t.ok(verbs.has(name), `${tool} ${name}`);
      t.not(verbs.get(name), 'READ', `${tool} ${name}`);
    }
    t.same(
      creates.filter((it) => grants.includes(it)),
      [],
    );
  }
  t.equal(new Set(table.map((it) => it.tool)).size, table.length, 'each tool stands there once');
});

t.test('of a call that does several things, the first of each counts', async (t) => {
  const privilegesOf = createPrivilegesOf([
    { tool: 'aws', creates: ['create_user'], grants: ['attach_user_policy'] },
    { tool: 'okta', creates: ['create_user'], grants: ['assign_role'] },
  ]);
  const operation = (toolName: string, name: string): Operation => ({
    ...{ toolName, name, category: 'iam', verb: 'ADMIN' },
    ...{ resource: {}, principals: [] },
  });
  const [creates, grants, other] = ['create_user', 'attach_user_policy', 'list_users'].map((it) =>
    operation('aws', it),
  ) as [Operation, Operation, Operation];
  const batch = (first: Operation, ...parts: readonly Operation[]): Operation => ({
    ...first,
    parts: [first, ...parts].map((it) => ({ operation: it })),
  });
  const [made, given] = [
    { toolName: 'aws', name: 'create_user' },
    { toolName: 'aws', name: 'attach_user_policy' },
  ];
  const cases: readonly (readonly [operation: Operation, want: ReturnType<typeof privilegesOf>])[] = [
    [creates, { creates: made }],
    [grants, { grants: given }],
    [other, {}],
    [operation('okta', 'attach_user_policy'), {}],
    [operation('github', 'create_user'), {}],
    [operation('__proto__', 'constructor'), {}],
    [batch(other, other), {}],
    [batch(other, creates), { creates: made }],
    [batch(creates, other, grants), { creates: made, grants: given }],
    [batch(grants, creates), { creates: made, grants: given }],
    [
      batch(creates, operation('okta', 'assign_role')),
      { creates: made, grants: { toolName: 'okta', name: 'assign_role' } },
    ],
  ];
  for (const [it, want] of cases)
    t.match(
      privilegesOf(it),
      want,
      [it, ...(it.parts ?? []).map((part) => part.operation)]
        .map((of) => `${of.toolName} ${of.name}`)
        .join(', '),
    );
});

t.test('a file that is not as it should be is refused', async (t) => {
  const dir = t.testdir();
  const file = join(dir, 'privileges.yaml');
  for (const text of [
    '- {',
    '',
    '- tool: aws',
    '- { tool: aws, creates: [], grants: [x] }',
    '- { tool: aws, creates: [x], grants: [y], more: 1 }',
  ]) {
    writeFileSync(file, text);
    t.throws(() => loadPrivileges(file), text);
  }
  t.throws(() => loadPrivileges(join(dir, 'none.yaml')));
});
