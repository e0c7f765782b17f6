import { readdirSync, readFileSync } from 'node:fs';
import { METHODS } from 'node:http';
import { join, resolve } from 'node:path';
import t from 'tap';
import { parse, parseAllDocuments } from 'yaml';
import { conditionKeys, matchKeys, ruleKeys } from '../../docs/generate-policies.ts';
import { bands, verbs } from '../../src/core/call.ts';
import { openCases } from '../../src/decision/approvals/cases.ts';
import { toolsKnownTo } from '../../src/decision/trace/known-names.ts';
import { parsePolicyFile } from '../../src/policy/policy-file.ts';
import { ruleSchema } from '../../src/policy/schema.ts';
import { charsMax, policiesMax, rulesMax, valuesMax } from '../../src/state/rules/policy-bounds.ts';
import { versionsKept } from '../../src/state/rules/policy-version.ts';

const root = resolve(import.meta.dirname, '../..');
const page = readFileSync(join(root, 'docs/policies.md'), 'utf8');
const reference = readFileSync(join(root, 'docs/policy-reference.md'), 'utf8');

/** Words in capitals that say something else: decisions, methods, forms of Unicode, a signal, what admission calls an unknown agent. */
const notReasons = new Set([
  ...['ALLOW', 'DENY', 'SANITIZE', 'REQUIRE_APPROVAL', 'OPEN_INCIDENT'],
  ...bands,
  ...METHODS,
  ...verbs,
  ...['NFC', 'NFKC', 'UTC', 'SENSITIVE_DATA', 'UNKNOWN_AGENT', 'NO_VERDICT'],
]);

const wordsIn = (text: string, form: RegExp): ReadonlySet<string> =>
  new Set([...text.matchAll(form)].map(([, word = '']) => word));

const sectionOf = (title: string): string => reference.split(`\n## ${title}\n`)[1]?.split('\n## ')[0] ?? '';

t.test('every code that a call can get is in the reference', async (t) => {
  const told = wordsIn(`${sectionOf('Reasons')}${sectionOf('Errors')}`, /`([A-Z]+(?:_[A-Z]+)*)`/g);
  for (const folder of [
    'credentials',
    'decision',
    'policy',
    'proxy',
    'response',
    'risk/signals',
    'tenants',
  ]) {
    const dir = join(root, 'src', folder);
    for (const file of readdirSync(dir, { recursive: true, encoding: 'utf8' })) {
      const source = file.endsWith('.ts') ? readFileSync(resolve(dir, file), 'utf8') : '';
      const codes = [...wordsIn(source, /'([A-Z]{2,}(?:_[A-Z]+)*)'/g)].filter((it) => !notReasons.has(it));
      for (const code of codes) t.ok(told.has(code), `${code} of ${folder}/${file}`);
    }
  }
});

t.test('the bounds on the page are those of the code', async (t) => {
  for (const bound of [policiesMax, rulesMax, valuesMax, charsMax, versionsKept])
    t.ok(page.replaceAll('\n', ' ').includes(` ${bound.toLocaleString('en')}`), String(bound));
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

t.test('the first example and the cases of it agree', async (t) => {
  const blocks = [...page.matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, yaml = '']) => yaml);
  const policy = blocks.find((it) => it.startsWith('name: payments')) ?? '';
  const written = blocks.find((it) => it.startsWith('policies: [payments.yaml]')) ?? '';
  const file = parsePolicyFile(policy, 'payments.yaml', {
    budgets: [],
    channelKinds: ['slack'],
    tools: toolsKnownTo(),
  });
  t.match(file, { ok: true, warnings: [] });
  const documents = parseAllDocuments(policy).map((it) => it.toJS());
  const runner = await openCases();
  const results = await runner.run(parse(written), async () => documents);
  t.ok(results.length > 1);
  for (const it of results) t.ok(it.ok, it.name, { expected: it.expected, actual: it.actual });
});
