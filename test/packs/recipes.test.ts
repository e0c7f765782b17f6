import { readdirSync, readFileSync } from 'node:fs';
import { METHODS } from 'node:http';
import { resolve } from 'node:path';
import t, { type Test } from 'tap';
import { parse, parseAllDocuments } from 'yaml';
import { conditionKeys, matchKeys, ruleKeys, withTables } from '../../docs/generate.ts';
import { bands, verbs } from '../../src/core/call.ts';
import { openCases } from '../../src/decision/approvals/cases.ts';
import { toolsKnownTo } from '../../src/decision/trace/known-names.ts';
import { parsePolicyFile } from '../../src/policy/policy-file.ts';
import { ruleSchema } from '../../src/policy/schema.ts';
import { charsMax, policiesMax, rulesMax, valuesMax } from '../../src/state/rules/policy-bounds.ts';
import { versionsKept } from '../../src/state/rules/policy-version.ts';

const text = readFileSync(resolve(import.meta.dirname, '../../docs/policies.md'), 'utf8');

/** What stands between a heading and the next one, with its blocks of YAML. */
const sections = text
  .split(/^###? /m)
  .slice(1)
  .map((section) => ({
    title: section.slice(0, section.indexOf('\n')),
    blocks: [...section.matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, yaml = '']) => yaml),
  }));
const recipes = sections.filter(({ title }) => /^\d+\. /.test(title));

const sectionOf = (title: string): string => text.split(`\n## ${title}\n`)[1]?.split('\n## ')[0] ?? '';

const wordsIn = (text: string, form: RegExp): ReadonlySet<string> =>
  new Set([...text.matchAll(form)].map(([, word = '']) => word));

/** Words in capitals that say something else: decisions, methods, forms of Unicode, a signal, what admission calls an agent that is answered NOT_FOUND. */
const notReasons = new Set([
  ...['ALLOW', 'DENY', 'SANITIZE', 'REQUIRE_APPROVAL', 'OPEN_INCIDENT'],
  ...bands,
  ...METHODS,
  ...verbs,
  ...['NFC', 'NFKC', 'UTC', 'SENSITIVE_DATA', 'UNKNOWN_AGENT'],
]);

t.test('the tables are those of the schema; else run `node docs/generate.ts`', async (t) => {
  t.equal(withTables(text), text);
  t.throws(() => withTables(text.replace('generated: match', 'generated: mtach')), /no table mtach/);
  t.throws(() => withTables(''), /no marker for policy/);
});

t.test('every code that a call can get is in a table', async (t) => {
  const told = wordsIn(sectionOf('Reasons'), /`([A-Z]+(?:_[A-Z]+)*)`/g);
  for (const folder of [
    'credentials',
    'decision',
    'policy',
    'proxy',
    'response',
    'risk/signals',
    'tenants',
  ]) {
    const dir = resolve(import.meta.dirname, '../../src', folder);
    for (const file of readdirSync(dir, { recursive: true, encoding: 'utf8' })) {
      const source = file.endsWith('.ts') ? readFileSync(resolve(dir, file), 'utf8') : '';
      const codes = [...wordsIn(source, /'([A-Z]{2,}(?:_[A-Z]+)*)'/g)].filter((it) => !notReasons.has(it));
      for (const code of codes) t.ok(told.has(code), `${code} of ${folder}/${file}`);
    }
  }
});

t.test('the bounds are those of the code', async (t) => {
  for (const bound of [policiesMax, rulesMax, valuesMax, charsMax, versionsKept])
    t.ok(text.includes(` ${bound.toLocaleString('en')}`), String(bound));
});

t.test('every example of a key is valid', async (t) => {
  const part = (entries: object, toRule: (key: string, value: unknown) => object): void => {
    for (const [key, [example]] of Object.entries(entries)) {
      const rule = { rule_id: 'r', action: 'DENY', ...toRule(key, parse(example)) };
      const parsed = ruleSchema.safeParse(rule);
      t.ok(parsed.success, key, { issues: parsed.error?.issues });
    }
  };
  part(matchKeys, (key, value) => ({ match: { [key]: value } }));
  part(conditionKeys, (key, value) => ({ condition: { [key]: value } }));
  part(ruleKeys, (key, value) => ({ [key]: value }));
});

t.test('the documentation has twelve recipes, each a policy with its cases', async (t) => {
  t.strictSame(
    recipes.map(({ title }) => Number.parseInt(title, 10)),
    Array.from({ length: 12 }, (_, index) => index + 1),
  );
  for (const { title, blocks } of recipes) t.equal(blocks.length, 2, title);
});

/** Judges a block of cases by the policies that stand in front of it. */
async function check(t: Test, [policies = '', written = '']: readonly string[]): Promise<void> {
  const { policies: files = [], ...cases } = parse(written);
  const file = parsePolicyFile(policies, files.join(), {
    budgets: ['llm-calls'],
    channelKinds: ['slack'],
    tools: toolsKnownTo(),
  });
  if (!file.ok) throw new Error(JSON.stringify(file.errors));
  t.strictSame(file.warnings, []);
  t.strictSame(
    files,
    file.policies.map(({ name }) => `${name}.yaml`),
  );
  const documents = parseAllDocuments(policies).map((it) => it.toJS());
  const runner = await openCases();
  for (const it of await runner.run({ policies: files, ...cases }, async () => documents))
    t.ok(it.ok, it.name, { expected: it.expected, actual: it.actual });
}

for (const { title, blocks } of recipes) t.test(`recipe ${title}`, (t) => check(t, blocks));

t.test('the first example and the cases of it agree', async (t) => {
  const [example = ''] = /```yaml\n(name: payments[\s\S]*?)```/.exec(text)?.slice(1) ?? [];
  const { blocks = [] } = sections.find(({ title }) => title.startsWith('Before it counts')) ?? {};
  await check(t, [example, ...blocks]);
});
