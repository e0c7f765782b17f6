import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import t, { type Test } from 'tap';
import { stringify } from 'yaml';
import { ConfigError, loadConfig } from '../../src/config/load.ts';
import type { Config } from '../../src/config/schema.ts';
import { keyDigest } from '../../src/core/key-text.ts';
import { openLog } from '../../src/core/log.ts';
import { readInThread } from '../../src/daemon/reload/read-in-thread.ts';
import { createEngine } from '../../src/inspect/match/engine.ts';
import type { PolicyDocument } from '../../src/policy/schema.ts';
import { createCatalogues, ownTables } from '../../src/tenants/catalogues.ts';
import { createPolicyBook } from '../../src/tenants/policy-book.ts';
import { agentId, startTestGateway, testConfig, writeTestConfig } from '../support/gateway.ts';

const log = openLog({ level: 'silent', file: null });
const agentIdAt = (index: number): string =>
  `5b0c7f0e-7a54-4b0e-9a55-${index.toString(16).padStart(12, '0')}`;

/** `edition` stands in the first entry of each kind. */
const entries = (count: number, edition: number) => {
  const indices = Array.from({ length: count }, (_, index) => index);
  const nameOf = (index: number): string => (index === 0 ? `0 of ${edition}` : `${index}`);
  return {
    agents: [
      { id: agentId, tenant: 'acme', env: 'production', name: 'bot' },
      ...indices.map((it) => ({ id: agentIdAt(it), tenant: 'acme', env: 'production', name: nameOf(it) })),
    ],
    keys: indices.map((it) => ({
      name: nameOf(it),
      tenant: 'acme',
      agent: agentIdAt(it),
      hash: `sha256:${keyDigest(`key ${it}`)}`,
    })),
    inbound: indices.map((it) => ({
      prefix: `route-${it}`,
      tenant: 'acme',
      upstream: `https://api.test.example/${it === 0 ? edition : ''}`,
    })),
  };
};

const denying = (name: string, path: string): string =>
  stringify({
    name,
    rules: [{ rule_id: 'a', action: 'DENY', match: { url_patterns: [`https://api.test.example/${path}`] } }],
  });

/** A configuration in a folder, to be read again in another edition. */
function written(t: Test, count: number) {
  const { dir, configFile } = writeTestConfig(t, {
    config: entries(count, 1),
    policyFiles: { 'a.yaml': denying('a', 'a'), 'b.yaml': denying('b', 'b') },
  });
  return {
    dir,
    configFile,
    write: (edition: number) =>
      writeFileSync(configFile, stringify(testConfig({ config: entries(count, edition) }))),
    read: <T>(before: Config, use: Parameters<typeof readInThread<T>>[2]) =>
      readInThread({ file: configFile, env: {}, taken: undefined }, before, use),
  };
}

t.test('a configuration that a thread has read is the one that is read here', async (t) => {
  const { configFile, read } = written(t, 120);
  const here = loadConfig(configFile, {});
  const emptied = { ...here, agents: [], keys: [], inbound: new Map(), tenants: new Map() };
  const config = await read(emptied, async (it) => it.config);
  const { defaultTenant, ...there } = config;
  const { defaultTenant: defaultHere, ...rest } = here;
  t.ok(isDeepStrictEqual(there, rest));
  t.ok(isDeepStrictEqual(defaultTenant('minted'), defaultHere('minted')));
  t.ok([config, there.agents, there.agents[3], there.keys[0]?.permissions].every(Object.isFrozen));
});

t.test('agents, keys and routes that did not change are the same objects after a reload', async (t) => {
  const { configFile, write, read } = written(t, 120);
  const before = loadConfig(configFile, {});
  write(2);
  const after = await read(before, async ({ config }) => config);
  t.ok(after.agents.filter((it) => it.name !== '0 of 2').every((it) => before.agents.includes(it)));
  t.ok(after.keys.slice(1).every((it, index) => it === before.keys[index + 1]));
  t.equal(after.inbound.get('route-1'), before.inbound.get('route-1'));
  t.equal(after.tenants.get('acme'), before.tenants.get('acme'));
  t.equal(after.keys[0]?.name, '0 of 2', 'what has changed is as it stands in the file');
  t.match(after.inbound.get('route-0'), { upstream: 'https://api.test.example/2' });
});

t.test('what is wrong with a file is told by the thread as it is told here, with its lines', async (t) => {
  const { configFile, read } = written(t, 3);
  const before = loadConfig(configFile, {});
  writeFileSync(configFile, stringify(testConfig({ config: { ...entries(3, 2), agnets: [] } })));
  const thrown = (error: unknown): ConfigError => {
    t.type(error, ConfigError);
    return error as ConfigError;
  };
  const there = await read(before, async () => t.fail('it is refused')).catch(thrown);
  try {
    loadConfig(configFile, {});
    t.fail('it is refused');
  } catch (error) {
    t.equal(thrown(error).message, (there as ConfigError).message);
    t.match(error, { mistakes: [{ path: 'agnets', line: Number }] });
  }
});

t.test(
  'a policy whose text did not change is the same object after a reload, and so are its rules',
  async (t) => {
    const { dir, configFile, read } = written(t, 3);
    const before = loadConfig(configFile, {});
    const names = {
      catalogues: createCatalogues(before, ownTables()),
      detectorIds: [],
      registered: new Set<string>(),
    };
    const first = await read(before, async ({ readPolicies }) => readPolicies(names, log, []));
    writeFileSync(join(dir, 'policies/b.yaml'), denying('b', 'changed'));
    const second = await read(before, async ({ readPolicies }) => readPolicies(names, log, first));
    const documents = [first, second].map((files) => files.flatMap((it) => it.documents));
    t.equal(documents[0]?.[0], documents[1]?.[0]);
    t.match(documents[1]?.[1], { rules: [{ match: { url_patterns: [/changed/] } }] });
    rmSync(join(dir, 'policies/b.yaml'));
    const third = await read(before, async ({ readPolicies }) => readPolicies(names, log, second));
    t.strictSame(
      third.flatMap((it) => it.documents),
      [documents[0]?.[0]],
      'a file that is gone is gone',
    );

    const records: never[] = [];
    const engine = createEngine([]);
    const bookOf = (files: readonly PolicyDocument[]) =>
      createPolicyBook({ policiesOf: () => records }, files, () => engine);
    const [old, same, changed] = [documents[0], documents[0], documents[1]].map((it) => bookOf(it ?? []));
    if (!old || !same || !changed) throw new Error('there are three');
    const { rules } = await old.rulesFor('acme');
    await same.adoptFrom(old, ['acme']);
    t.equal((await same.rulesFor('acme')).rules, rules);
    await changed.adoptFrom(old, ['acme']);
    const followed = changed.lastKnown('acme')?.rules;
    t.ok(followed && followed !== rules, 'rules of what has changed are made before a call asks for them');
    t.equal((await changed.rulesFor('acme')).rules, followed);
    const gone = bookOf([]);
    await gone.adoptFrom(old, []);
    t.equal(gone.pages.size, 0, 'of tenants that are gone nothing is kept');
  },
);

t.test(
  'calls are answered while a large configuration is read again, and one that is refused leaves all as it was',
  async (t) => {
    const gateway = await startTestGateway(t, {
      config: entries(600, 1),
      policyFiles: { 'a.yaml': denying('a', 'denied') },
    });
    const scan = (path: string) =>
      gateway.api('POST', '/v1/scan', {
        method: 'GET',
        url: `https://api.test.example/${path}`,
        agent_id: agentId,
      });
    const deniedOf = async (path: string): Promise<boolean> => (await scan(path)).body.decision === 'DENY';
    const reloadUnderCalls = async () => {
      let taken: boolean | undefined;
      const reloading = gateway.reload().then((it) => {
        taken = it;
      });
      let answered = 0;
      for (; taken === undefined; answered++)
        if ((await scan('open')).status !== 200) t.fail('a call is answered as ever');
      await reloading;
      return { taken, answered };
    };
    t.ok(await deniedOf('denied'));

    const policyFile = join(gateway.dir, 'policies/a.yaml');
    writeFileSync(policyFile, denying('a', 'other'));
    writeFileSync(gateway.configFile, stringify(testConfig({ config: entries(600, 2) })));
    const good = await reloadUnderCalls();
    t.ok(good.taken);
    t.ok(good.answered > 2, 'more than the calls between which the whole of it could be read');
    t.strictSame([await deniedOf('denied'), await deniedOf('other')], [false, true]);

    writeFileSync(policyFile, 'name: a\nrules:\n  - rule_id: a\n    action: FORBID\n');
    writeFileSync(gateway.configFile, stringify(testConfig({ config: entries(600, 3) })));
    t.notOk((await reloadUnderCalls()).taken);
    t.ok(await deniedOf('other'), 'the policy of before holds');
    const keys = await gateway.api('GET', '/v1/keys?limit=1000', undefined, `Bearer ${gateway.adminSecret}`);
    t.notOk(JSON.stringify(keys.body).includes('0 of 3'), 'no key has been changed');
    const ready = await gateway.api('GET', '/readyz', undefined);
    t.match(ready.body.config, { generation: 2, last_error: /a\.yaml:4 rules\[0\]\.action/ });
  },
);
