import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { parse } from 'yaml';
import { z } from 'zod';
import {
  type CompiledInput,
  compilePolicies,
  type PolicyDocument,
  parsePolicyFile,
  ruleActions,
} from '../../src/policy/index.ts';
import { policyFileLengthMax } from '../../src/policy/policy-file.ts';
import { factsOf, type GivenFacts } from './facts.ts';

const root = join(import.meta.dirname, '../..');

const read = (text: string) => parsePolicyFile(text, 'f.yaml');
const rule = 'rules: [{ rule_id: r, action: DENY }]';

function toInput(policy: PolicyDocument): CompiledInput {
  const { name, envNames, mode, rules } = policy;
  return { policyId: name, policyName: name, version: 1, envNames, mode, rules };
}

t.test('a file holds several policies, each for its tenants and environments', async (t) => {
  const file = read(
    `name: a\ndescription: first\n${rule}\n---\n# nothing but a comment\n---\nname: b\ntenants: [acme]\nenv_names: [production]\nmode: monitor\n${rule}\n`,
  );
  t.match(file, {
    ok: true,
    warnings: [],
    policies: [
      { name: 'a', description: 'first', tenants: undefined, envNames: undefined, mode: 'enforce' },
      { name: 'b', tenants: ['acme'], envNames: ['production'], mode: 'monitor' },
    ],
  });
  t.same(read(''), { ok: true, policies: [], warnings: [] });
  t.same(read('# later\n'), { ok: true, policies: [], warnings: [] });
  t.match(read(JSON.stringify({ name: 'json', rules: [{ rule_id: 'r', action: 'ALLOW' }] }, null, 2)), {
    ok: true,
    policies: [{ name: 'json' }],
  });
});

t.test('mistakes of a file are named with file and line, all at once', async (t) => {
  const twoDocuments = [
    `name: a\nrules:\n  - rule_id: x\n    action: DENY\n    match:\n      verb: [WRITE]\n`,
    `name: b\nrules:\n  - { rule_id: y, action: ALOW }\n`,
  ];
  const rows: [text: string, errors: object[]][] = [
    [
      twoDocuments.join('---\n'),
      [
        { line: 6, path: 'rules[0].match.verb', message: /did you mean verbs\?/ },
        { line: 10, path: 'rules[0].action', message: /did you mean ALLOW\?/ },
      ],
    ],
    [`name: a\n${rule}\nenv_nmae: x\n`, [{ line: 3, path: 'env_nmae', message: /did you mean env_name\?/ }]],
    [`name: a\nname: b\n${rule}\n`, [{ line: 2, column: 1, path: '', message: /stands here twice/ }]],
    [
      `name: a\nname: b\n${rule}\n---\nname: c\n`,
      [
        { line: 2, message: /twice/ },
        { line: 5, path: 'rules', message: 'is missing' },
      ],
    ],
    [`name: [\n`, [{ line: 2, column: 1, message: /bracket or brace before it does not end/ }]],
    [`just text\n`, [{ line: 1, column: undefined, path: '', message: /must be an object/ }]],
    [`name: a\nrules: *nowhere\n`, [{ line: 2, column: 8, message: /aliases are not supported/ }]],
    [`name: a\nrules: ${'['.repeat(20_000)}`, [{ line: 2, message: /nested too deep/ }]],
    ['#'.repeat(policyFileLengthMax + 1), [{ line: undefined, path: '', message: /longer/ }]],
    ['---\n'.repeat(1002), [{ line: 1001, message: /more than 1000 documents/ }]],
  ];
  const wrong = read('{}\n---\n'.repeat(100));
  t.equal(wrong.ok || wrong.errors.length, 50, 'no more than fifty are told');
  for (const [text, errors] of rows) {
    const file = read(text);
    t.match(file, { ok: false, errors: errors.map((it) => ({ file: 'f.yaml', ...it })) }, text.slice(0, 40));
    if (!file.ok) t.equal(file.errors.length, errors.length, text.slice(0, 40));
  }
});

t.test('aliases are refused, of which a few make a bomb', async (t) => {
  const levels = Array.from(
    { length: 12 },
    (_, n) => `l${n + 1}: &l${n + 1} [${Array(10).fill(`*l${n}`).join(', ')}]`,
  );
  const file = read(`l0: &l0 x\n${levels.join('\n')}\nname: a\n${rule}\n`);
  t.match(file, { ok: false, errors: [{ message: /alias/i }] });
  const circle = read(`name: a\nrules: &a [${'*a,'.repeat(2000)}]\n`);
  t.match(circle, { ok: false, errors: [{ message: /alias/i }] });
  t.match(read(`name: &a x\ndescription: *a\n${rule}\n`), { ok: false, errors: [{ message: /alias/i }] });
});

t.test('warnings of a file name the line of their rule', async (t) => {
  const file = parsePolicyFile(
    `# head\nname: a\nrules:\n  - { rule_id: q, action: ALLOW, match: { methods: [GET] } }\n` +
      `  - { rule_id: r, action: DENY, escalate_to: pager }\n`,
    'f.yaml',
    { channelKinds: ['slack'] },
  );
  t.match(file, {
    ok: true,
    warnings: [{ file: 'f.yaml', line: 5, path: '', message: /^a: rule r: there is no channel/ }],
  });
});

t.test('every policy file that ships is valid and without warnings', async (t) => {
  const folder = join(root, 'config/policies');
  const names = readdirSync(folder).filter((name) => name.endsWith('.yaml'));
  t.ok(names.includes('baseline.yaml'));
  for (const name of names) {
    const file = parsePolicyFile(readFileSync(join(folder, name), 'utf8'), name);
    t.match(file, { ok: true, warnings: [] }, name);
    t.ok(file.ok && file.policies.length > 0, name);
  }
});

/** A fixture: policies, and calls with what is decided of them. Facts are written as in facts.ts. */
const fixture = z.strictObject({
  policy_files: z.array(z.string()).default([]),
  policies: z.string().default(''),
  cases: z
    .array(
      z.strictObject({
        name: z.string(),
        call: z.record(z.string(), z.unknown()),
        expect: z.strictObject({
          action: z.enum(ruleActions).nullable(),
          rule: z.string().optional(),
          reasons: z.array(z.string()).optional(),
          would_be: z.enum(ruleActions).optional(),
          also_sanitize: z.boolean().optional(),
        }),
      }),
    )
    .min(1),
});

const fixtures = join(root, 'test/fixtures/policy');
for (const name of readdirSync(fixtures)) {
  t.test(`the cases of ${name} are decided as written`, async (t) => {
    const { policy_files, policies, cases } = fixture.parse(
      parse(readFileSync(join(fixtures, name), 'utf8')),
    );
    const texts = [policies, ...policy_files.map((file) => readFileSync(join(root, file), 'utf8'))];
    const parsed = texts.map((text) => parsePolicyFile(text, name));
    for (const file of parsed) t.match(file, { ok: true });
    const set = compilePolicies(parsed.flatMap((file) => (file.ok ? file.policies.map(toInput) : [])));
    for (const { name, call, expect } of cases) {
      const decision = set.decide(factsOf(call as GivenFacts));
      t.equal(decision.action ?? null, expect.action, name);
      if (expect.rule !== undefined) t.equal(decision.decidedBy?.ruleId, expect.rule, name);
      if (expect.reasons !== undefined) t.same(decision.reasonCodes, expect.reasons, name);
      if (expect.would_be !== undefined) t.equal(decision.wouldBe, expect.would_be, name);
      if (expect.also_sanitize !== undefined) t.equal(decision.alsoSanitize, expect.also_sanitize, name);
    }
  });
}
