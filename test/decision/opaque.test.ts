import t from 'tap';
import { validateConfig } from '../../src/config/load.ts';
import { AdmittedCall, plainAdmission } from '../../src/core/call.ts';
import { createJudge } from '../../src/decision/judge.ts';
import { RefusedCall } from '../../src/decision/pipeline.ts';
import { assessRiskStage } from '../../src/decision/stages/assess-risk.ts';
import { classifyOperation } from '../../src/decision/stages/classify.ts';
import { inspect } from '../../src/decision/stages/inspect.ts';
import { toVerdict } from '../../src/decision/verdict.ts';
import { createEngine } from '../../src/inspect/match/engine.ts';
import { compilePolicies, validatePolicy } from '../../src/policy/index.ts';
import { signalEngines } from '../../src/risk/signals/index.ts';
import { defaultWeights } from '../../src/risk/signals/score.ts';
import { ownTables } from '../../src/tenants/catalogues.ts';
import { fromDocument } from '../../src/tenants/policy-book.ts';
import { createTenants } from '../../src/tenants/tenants.ts';
import { callOf, identityOf } from '../support/call.ts';
import { injections } from '../support/injections.ts';
import { meanings } from '../support/meanings.ts';
import { noticing } from '../support/noticing.ts';

const catalogue = ownTables().catalogue();
const config = validateConfig({ tenants: [{ id: 'acme' }] }, { file: undefined, env: {} });
const tenants = createTenants(config, new Set(), { registeredTenants: async () => [] });
const picture = Buffer.from(`\x89PNG\r\n\x1a\n\0\0\0\rIHDR${'\x07'.repeat(600)}`, 'latin1').toString(
  'base64',
);

const rulesOf = (action: string) => {
  const rule = { rule_id: 'a', match: {}, condition: { has_data_class: ['OPAQUE_CONTENT'] }, action };
  const result = validatePolicy({ name: 'no pictures', rules: [rule] }, {});
  if (!result.ok) throw new Error('the policy is not valid');
  return compilePolicies([fromDocument(result.policy, { policyId: 'p', version: 1 })]);
};

/** What becomes of a body under a policy that asks for what cannot be read. */
async function judged(body: unknown, action = 'DENY') {
  const rules = rulesOf(action);
  const page = { rules, engine: createEngine([]) };
  const tenant = tenants.find('acme');
  if (!tenant) throw new Error('the tenant is there');
  const { received } = callOf({ contentType: 'application/json', body: Buffer.from(JSON.stringify(body)) });
  const classified = classifyOperation(catalogue, received, tenants.largestMaxDecodedBytes);
  const stage = inspect({
    policies: { rulesFor: () => page, lastKnown: () => page },
    clock: () => 0,
    injections,
    meanings,
  });
  const inspected = await stage.run(new AdmittedCall(classified, plainAdmission(tenant, identityOf())));
  if (inspected instanceof RefusedCall) throw inspected.error;
  const call = assessRiskStage({
    engines: signalEngines,
    weights: defaultWeights,
    bounds: config.risk.bands,
    findThreats: () => [],
    ...noticing,
  }).run(inspected);
  return { call, verdict: toVerdict(call, createJudge('enforce')(call, rules).opinion) };
}

t.test('a rule can ask for what nobody can read', async (t) => {
  const { call, verdict } = await judged({ file: { png: picture } });
  t.match(verdict, { decision: 'DENY', decidedBy: { ruleId: 'a' }, classifications: [] });
  t.ok(verdict.reasonCodes.includes('OPAQUE_CONTENT'));
  t.match(call.signals, [
    { engine: 'content', name: 'OPAQUE_CONTENT', score: 0, details: 'image at body:$.file.png' },
  ]);
});

t.test('a rule that allows it still says that it was there', async (t) => {
  const { call, verdict } = await judged({ png: picture }, 'ALLOW');
  t.match(verdict, { decision: 'ALLOW', reasonCodes: ['POLICY_ALLOW', 'OPAQUE_CONTENT'] });
  t.equal(call.risk.score, 0, 'and it is no risk by itself');
});

t.test('a rule that sanitizes it cuts the usual classes, for nobody can cut it', async (t) => {
  const { call, verdict } = await judged({ png: picture }, 'SANITIZE');
  t.equal(verdict.decision, 'SANITIZE');
  t.equal(verdict.sanitizedBody, call.body);
});

t.test('what can be read does not meet the rule', async (t) => {
  const { verdict } = await judged({ text: 'nothing to see' });
  t.match(verdict, { decision: 'ALLOW', reasonCodes: [] });
});
