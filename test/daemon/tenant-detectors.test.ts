import { writeFileSync } from 'node:fs';
import t from 'tap';
import { stringify } from 'yaml';
import { agentId, startTestGateway, testConfig } from '../support/gateway.ts';

const acme = { id: 'acme', plan: 'enterprise', environments: ['production'] };
const scan = {
  method: 'POST',
  url: 'https://api.test.example/x',
  agent_id: agentId,
  body: 'Project Heron runs on db1.acme.internal',
};

t.test('what a tenant says of detectors holds, and holds anew after a reload', async (t) => {
  const setup = (fields: object) => ({ config: { tenants: [{ ...acme, ...fields }] } });
  const gateway = await startTestGateway(t, setup({}));
  const take = (fields: object) => {
    writeFileSync(gateway.configFile, stringify(testConfig(setup(fields))));
    return gateway.reload();
  };
  const kinds = async (): Promise<string[]> => {
    const { body } = await gateway.api('POST', '/v1/scan', scan);
    return body.findings.map((it: { kind: string }) => it.kind).sort();
  };
  t.strictSame(await kinds(), ['private-host-name']);
  t.ok(await take({ internal: { markers: ['Project Heron'], hosts: ['*.acme.internal'] } }));
  t.strictSame(await kinds(), ['own-host', 'own-marker', 'private-host-name']);
  t.ok(await take({ detectors: { confidence: { 'private-host-name': 'low' } } }));
  const { body } = await gateway.api('POST', '/v1/scan', scan);
  t.match(body.findings, [{ kind: 'private-host-name', confidence: 'low' }]);
  t.strictSame(body.classifications, [], 'low confidence sets no class');
  t.notOk(await take({ detectors: { off: ['private-host-nam'] } }), 'what is misspelt is refused');
  t.strictSame(await kinds(), ['private-host-name'], 'and leaves all as it was');
  t.ok(await take({ detectors: { off: ['private-host-name'] } }));
  t.strictSame(await kinds(), []);
  t.ok(await take({}));
  t.strictSame(await kinds(), ['private-host-name']);
});
