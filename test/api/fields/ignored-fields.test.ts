import t from 'tap';
import { z } from 'zod';
import { ignoredFields } from '../../../src/api/fields/ignored-fields.ts';
import { startTestGateway } from '../../support/gateway.ts';
import { awsKeyId } from '../../support/secrets.ts';

t.test('members that a schema reads past are named by their paths', (t) => {
  const schema = z.object({
    name: z.string(),
    scope: z.object({ verbs: z.array(z.string()).nullish() }).nullish(),
    calls: z.array(z.object({ url: z.string() })).optional(),
    strict: z.strictObject({}).optional(),
    loose: z.looseObject({}).optional(),
    any: z.unknown(),
  });
  const rows: [value: unknown, ignored: readonly string[]][] = [
    [{ name: 'a', scope: { verbs: [] }, any: { x: 1 }, loose: { x: 1 }, tenant_id: 'acme' }, []],
    [{ nam: 'a', scope: { verb: [] }, calls: [{}, { uri: '' }] }, ['nam', 'scope.verb', 'calls.1.uri']],
    [{ constructor: 1, ['x'.repeat(100)]: 1 }, ['constructor', 'x'.repeat(64)]],
    [['a'], []],
    ['a', []],
    [null, []],
  ];
  for (const [value, ignored] of rows) t.strictSame(ignoredFields(schema, value), ignored);
  const many = Object.fromEntries(Array.from({ length: 1000 }, (_, at) => [`k${at}`, at]));
  t.equal(ignoredFields(schema, many).length, 10, 'at most ten');
  t.strictSame(ignoredFields(undefined, { a: '1' }), ['a'], 'where nothing is taken');
  t.end();
});

t.test('an answer names what it has ignored of the request', async (t) => {
  const gateway = await startTestGateway(t);
  const admin = `Bearer ${gateway.adminSecret}`;
  const ask = async (method: string, path: string, body?: unknown) => {
    const { status, headers } = await gateway.api(method, path, body, admin);
    return [status, headers.get('x-service-ignored')];
  };
  const key = { name: 'k', default_agent_id: gateway.agentId };
  t.strictSame(await ask('POST', '/v1/keys', { ...key, ip_allowlst: [] }), [201, 'ip_allowlst']);
  t.strictSame(await ask('POST', '/v1/keys', key), [201, null]);
  t.strictSame(await ask('GET', '/v1/traces?decison=DENY&limit=1'), [200, 'decison']);
  t.strictSame(await ask('GET', '/v1/traces/export?tol=x&tenant_id=acme'), [200, 'tol']);
  t.strictSame(await ask('GET', '/healthz?a%0d%0ab=1'), [200, 'ab']);
  const [, secret] = await ask('GET', `/v1/traces?${awsKeyId()}=1`);
  t.match(secret, /REDACTED/, 'a secret is not repeated');
  const call = { method: 'GET', url: 'https://api.example.com/' };
  const scanned = await gateway.api('POST', '/v1/scan', { ...call, bdy: 'x' });
  t.equal(scanned.headers.get('x-service-ignored'), 'bdy');
  const policies = [{ name: 'p', rules: [{ rule_id: 'r', action: 'DENY' }] }];
  const simulated = await gateway.api(
    'POST',
    '/v1/policies/simulate',
    { policies, calls: [{ ...call, bdy: 'x' }] },
    admin,
  );
  t.equal(simulated.headers.get('x-service-ignored'), 'calls.0.bdy');
});
