import { readdirSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import t from 'tap';
import { parse, parseAllDocuments } from 'yaml';
import { toSnakeCase } from '../../src/catalogue/meaning.ts';
import { openCases } from '../../src/decision/approvals/cases.ts';
import { toolsKnownTo } from '../../src/decision/trace/known-names.ts';
import type { PolicyDocument } from '../../src/policy/index.ts';
import { parsePolicyFile } from '../../src/policy/policy-file.ts';
import { ownTables } from '../../src/tenants/catalogues.ts';

const policies = resolve(import.meta.dirname, '../../config/policies');
const packs = join(policies, 'packs');
const tests = join(policies, 'tests');
const names = [
  'browser-agent',
  'coding-agent',
  'healthcare-hipaa',
  'mcp-hardening',
  'payments-pci',
  'sre',
  'starter',
];

const read = (folder: string, name: string): string => readFileSync(join(folder, `${name}.yaml`), 'utf8');
const readPolicies = async (path: string): Promise<unknown[]> =>
  parseAllDocuments(await readFile(resolve(tests, path), 'utf8')).map((it) => it.toJS());

t.test('every pack has its cases, and nothing else lies beside them', async (t) => {
  const files = names.map((name) => `${name}.yaml`);
  t.strictSame(readdirSync(packs).sort(), files);
  t.strictSame(readdirSync(tests).sort(), files);
});

t.test('no pack is active with the configuration that ships', async (t) => {
  const shipped = readFileSync(resolve(policies, '../postern.yaml'), 'utf8');
  t.match(shipped, /^policies: \[policies\/\*\.yaml\]/m);
  t.strictSame(
    readdirSync(policies, { withFileTypes: true })
      .filter((it) => it.isFile())
      .map(({ name }) => name),
    ['baseline.yaml'],
  );
});

/** Of a policy, those whose cases can be written down: a case with a body of 64 KB would be no reading. */
const decidingRules = ({ name, mode, rules }: PolicyDocument): string[] =>
  mode === 'monitor'
    ? []
    : rules
        .filter(({ condition }) => condition.body_size_bytes_gt === undefined)
        .map(({ rule_id }) => `${name}/${rule_id}`);

for (const name of names) {
  t.test(`${name} is valid, says what it is for, and decides its cases as they say`, async (t) => {
    const text = read(packs, name);
    t.match(text, /^# For agents? |^# For any agent /);
    const file = parsePolicyFile(text, name, {
      budgets: ['payouts'],
      channelKinds: [],
      tools: toolsKnownTo(),
    });
    if (!file.ok) return t.strictSame(file.errors, []);
    t.strictSame(file.warnings, []);
    t.ok(
      file.policies.every(({ description }) => description !== ''),
      'every policy has a description',
    );

    const cases = await openCases();
    const results = await cases.run(parse(read(tests, name)), readPolicies);
    for (const it of results) t.ok(it.ok, it.name, { expected: it.expected, actual: it.actual });
    const decided = new Set(results.map(({ actual }) => actual.decision));
    const deciding = new Set(results.map(({ actual }) => `${actual.policyName}/${actual.ruleId}`));
    t.strictSame(
      file.policies.flatMap(decidingRules).filter((it) => !deciding.has(it)),
      [],
      'every rule decides a case',
    );
    t.ok(results.length >= 10 && decided.has('ALLOW') && decided.has('DENY'), 'cases allow and refuse');
  });
}

/** Actions of AWS that the catalogue understands by their names alone, as AWS writes them. */
const awsActions = [
  'StopLogging',
  'DeleteTrail',
  'UpdateTrail',
  'PutEventSelectors',
  'StopConfigurationRecorder',
  'DeleteConfigurationRecorder',
  'DeleteFlowLogs',
  'DisableKey',
  'TerminateInstances',
  'DeleteVolume',
  'DeleteSnapshot',
  'DeleteDBInstance',
  'DeleteDBCluster',
  'DeleteDBSnapshot',
  'DeleteStack',
  'DeleteCluster',
  'DeleteLogGroup',
  'DeleteHostedZone',
];

t.test('operations and categories that packs name exist', async (t) => {
  const { tools } = ownTables().catalogue();
  const known = new Set(awsActions.map(toSnakeCase));
  for (const { operations } of tools)
    for (const it of operations) known.add(it.name).add(`category:${it.category}`);
  for (const name of names) {
    const file = parsePolicyFile(read(packs, name), name);
    for (const { match, rule_id } of file.ok ? file.policies.flatMap(({ rules }) => rules) : []) {
      for (const it of match.operations ?? []) t.ok(known.has(it), `${name}/${rule_id}: ${it}`);
      for (const it of match.tool_names ?? [])
        t.ok(
          tools.some((tool) => tool.name === it),
          `${name}/${rule_id}: ${it}`,
        );
    }
  }
});

t.test('rules about size hold above their bound', async (t) => {
  const post = (url: string, body: string, facts: object = {}): object => ({
    call: { method: 'POST', url, body, facts },
  });
  const padding = 'lorem ipsum '.repeat(6000);
  const large = [
    {
      pack: 'starter',
      rule: 'large-upload-to-a-new-place',
      ...post('https://new.example/', padding, { is_new_destination: true }),
    },
    { pack: 'browser-agent', rule: 'upload', ...post('https://files.example/', padding) },
    {
      pack: 'healthcare-hipaa',
      rule: 'much-health-data',
      ...post('https://ehr.clinic.example/fhir/Binary', `MRN: 00482913 ${padding}`),
    },
    { pack: 'mcp-hardening', rule: 'large-arguments', ...post('mcp://notes/tools/call', padding) },
  ];
  const runner = await openCases();
  for (const { pack, rule, ...call } of large) {
    const file = {
      policies: [`../packs/${pack}.yaml`],
      tenant: { org_domains: ['clinic.example'] },
      cases: [{ name: rule, ...call, expect: { decision: 'REQUIRE_APPROVAL', rule } }],
    };
    for (const it of await runner.run(file, readPolicies)) t.ok(it.ok, `${pack}/${rule}`, it.actual);
  }
});
