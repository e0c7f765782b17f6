import { readdirSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import t from 'tap';
import { parse, parseAllDocuments } from 'yaml';
import { openCases } from '../../src/decision/approvals/cases.ts';
import { toolsKnownTo } from '../../src/decision/trace/known-names.ts';
import { parsePolicyFile } from '../../src/policy/policy-file.ts';

const recipes = resolve(import.meta.dirname, '../../config/policies/recipes');
const tests = join(recipes, 'tests');
const files = readdirSync(recipes).filter((it) => it.endsWith('.yaml'));

const read = (folder: string, file: string): string => readFileSync(join(folder, file), 'utf8');
const readPolicies = async (path: string): Promise<unknown[]> =>
  parseAllDocuments(await readFile(resolve(tests, path), 'utf8')).map((it) => it.toJS());

t.test('there are twelve recipes, numbered, each with its cases', async (t) => {
  const numbers = files.map((file) => Number.parseInt(read(recipes, file).replace(/^# /, ''), 10));
  t.strictSame(
    numbers.toSorted((a, b) => a - b),
    Array.from({ length: 12 }, (_, index) => index + 1),
  );
  t.strictSame(readdirSync(tests), files);
});

for (const file of files)
  t.test(`recipe ${file} is valid, warns of nothing, and decides as its cases say`, async (t) => {
    const parsed = parsePolicyFile(read(recipes, file), file, {
      budgets: ['llm-calls'],
      channelKinds: ['slack'],
      tools: toolsKnownTo(),
    });
    t.match(parsed, { ok: true, warnings: [] });
    const cases = parse(read(tests, file));
    t.strictSame(cases.policies, [`../${file}`]);
    const runner = await openCases();
    for (const it of await runner.run(cases, readPolicies))
      t.ok(it.ok, it.name, { expected: it.expected, actual: it.actual });
  });
