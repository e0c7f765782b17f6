import { randomUUID } from 'node:crypto';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { stringify } from 'yaml';
import { loadAddedDetectors } from '../../src/daemon/start/loaded.ts';
import { loadWithFiles } from '../../src/daemon/workers/crew.ts';
import { filesTaken } from '../../src/daemon/workers/taken-files.ts';
import { detectorsOf } from '../../src/tenants/added-detectors.ts';
import { customer } from '../support/added-detectors.ts';
import {
  agentId,
  type GatewaySetup,
  startTestGateway,
  testConfig,
  writeTestConfig,
} from '../support/gateway.ts';

const tenant = (id: string, fields: object = {}) => ({
  id,
  plan: 'enterprise',
  environments: ['production'],
  posture: { secrets: 'SANITIZE', pii: 'SANITIZE' },
  ...fields,
});
const token = `id: acme-token
class: SECRETS
pattern: 'acme_live_[0-9a-f]{32}(?![0-9a-f])'
examples: { match: ['acme_live_0123456789abcdef0123456789abcdea'] }
`;
const tokenText = 'acme_live_0123456789abcdef0123456789abcdea';

interface Test {
  teardown(close: () => void | Promise<void>): void;
}

interface Options {
  readonly tenants?: readonly object[];
  readonly threads?: number;
  readonly detectors?: readonly string[];
}

const setup = ({
  tenants = [tenant('acme')],
  threads = 0,
  detectors = ['detectors/*.yaml'],
}: Options = {}) => ({
  config: { tenants, detectors, reading: { threads } },
});

async function start(t: Test, options: Options = {}) {
  const gateway = await startTestGateway(t, setup(options) as GatewaySetup);
  mkdirSync(join(gateway.dir, 'detectors'));
  const write = (name: string, text: string): void =>
    writeFileSync(join(gateway.dir, 'detectors', name), text);
  const scan = async (body: unknown, authorization?: string) =>
    (
      await gateway.api(
        'POST',
        '/v1/scan',
        {
          method: 'POST',
          url: 'https://api.test.example/x',
          body,
          ...(authorization ? {} : { agent_id: agentId }),
        },
        authorization,
      )
    ).body;
  const kinds = async (body: unknown, authorization?: string): Promise<string[]> =>
    (await scan(body, authorization)).findings.map((it: { kind: string }) => it.kind).sort();
  const take = (fields: Options): Promise<boolean> => {
    writeFileSync(
      gateway.configFile,
      stringify(testConfig(setup({ ...options, ...fields }) as GatewaySetup)),
    );
    return gateway.reload();
  };
  const lastError = async (): Promise<string | null> =>
    (await gateway.api('GET', '/readyz')).body.config.last_error;
  return { ...gateway, write, scan, kinds, take, lastError };
}

t.test('a detector in a file finds from the next reload on, and is gone with its file', async (t) => {
  const { write, scan, kinds, reload, lastError, api } = await start(t);
  const text = `ACME-12345678 has ${tokenText}`;
  t.strictSame(await kinds(text), ['environment-in-prefix'], 'no file is there');
  write('a.yaml', customer);
  t.ok(await reload());
  t.strictSame(await kinds(text), ['acme-customer', 'environment-in-prefix']);
  write('b.yaml', token);
  t.ok(await reload());
  const found = await scan(text);
  t.match(found, {
    decision: 'SANITIZE',
    classifications: ['SECRETS', 'PII'],
    sanitized_body: '[REDACTED:acme-customer] has [REDACTED:acme-token]',
  });
  const trace = await api('GET', `/v1/traces/${found.trace_id}`);
  t.match(
    trace.body.findings.map((it: { kind: string }) => it.kind).sort(),
    ['acme-customer', 'acme-token'],
    'the trace has them',
  );

  write('b.yaml', token.replace('{32}', '+'));
  t.notOk(await reload(), 'a broken file is refused');
  t.match(await lastError(), /b\.yaml:3 pattern: a quantifier is unbounded/);
  t.strictSame(await kinds(text), ['acme-customer', 'acme-token'], 'and all stays as it was');
  write('b.yaml', '');
  t.notOk(await reload(), 'so is an empty one');
  t.match(await lastError(), /b\.yaml: is empty/);
  write('b.yaml', token.replace('acme-token', 'private-address'));
  t.notOk(await reload(), 'and an id of the package');
  t.match(await lastError(), /b\.yaml:1 id: "private-address" is taken by config\/detectors\//);
  t.strictSame(await kinds(text), ['acme-customer', 'acme-token']);

  write('b.yaml', '# none any more\n');
  t.ok(await reload());
  t.equal(await lastError(), null);
  t.strictSame(await kinds(text), ['acme-customer', 'environment-in-prefix']);
});

for (const threads of [0, 1]) {
  t.test(`what was read as clean is read anew by new detectors, with ${threads} threads`, async (t) => {
    const { write, kinds, reload } = await start(t, { threads });
    const turns = Array.from({ length: 600 }, (_, at) => ({
      role: 'user',
      content: `Turn ${at}: order ACME-${at}.`,
    }));
    const conversation = { messages: [{ role: 'user', content: 'My number is ACME-12345678.' }, ...turns] };
    t.ok(JSON.stringify(conversation).length > 20_000, 'it is read in a thread where there is one');
    for (let turn = 0; turn < 4; turn++) t.strictSame(await kinds(conversation), [], `turn ${turn}`);
    write('a.yaml', customer);
    t.ok(await reload());
    for (let turn = 0; turn < 4; turn++)
      t.strictSame(await kinds(conversation), ['acme-customer'], `turn ${turn}`);
    write(
      'a.yaml',
      customer
        .replace('{8}', '{7}')
        .replaceAll('ACME-12345678', 'ACME-1234567')
        .replace("pass: ['ACME-1234567']", 'pass: []'),
    );
    t.ok(await reload());
    for (let turn = 0; turn < 4; turn++) t.strictSame(await kinds(conversation), [], `turn ${turn}`);
  });
}

t.test('they hold for all tenants, those of no configuration included; one may do without', async (t) => {
  const { write, kinds, take, reload, mint } = await start(t, {
    tenants: [tenant('acme'), tenant('other', { detectors: { off: ['own-marker'] } })],
  });
  write('a.yaml', customer);
  t.ok(await reload());
  const keyOf = async (tenantId: string): Promise<string> =>
    `Bearer ${(await mint({ tenant_id: tenantId, default_agent_id: randomUUID() })).key}`;
  const [other, stranger] = [await keyOf('other'), await keyOf('stranger')];
  const text = 'ACME-12345678';
  t.strictSame(await kinds(text), ['acme-customer']);
  t.strictSame(await kinds(text, other), ['acme-customer']);
  t.strictSame(await kinds(text, stranger), ['acme-customer']);
  t.ok(await take({ tenants: [tenant('acme'), tenant('other', { detectors: { off: ['acme-customer'] } })] }));
  t.strictSame(await kinds(text), ['acme-customer']);
  t.strictSame(await kinds(text, other), []);
  t.notOk(
    await take({ tenants: [tenant('acme'), tenant('other', { detectors: { off: ['acme-custmer'] } })] }),
    'an id that nobody has is refused',
  );
});

t.test('a rule asks for an added detector by its id', async (t) => {
  const { write, scan, reload, apply } = await start(t);
  write('a.yaml', customer);
  t.ok(await reload());
  const condition = { has_detector: ['acme-cust*'] };
  await apply([{ rule_id: 'no-customers', priority: 1, match: {}, condition, action: 'DENY' }]);
  t.match(await scan('ACME-12345678'), { decision: 'DENY' });
  t.match(await scan('ACME-1234567'), { decision: 'ALLOW' });
});

t.test('answers and messages between agents are read with added detectors, too', async (t) => {
  const { write, scan, reload, api, mint } = await start(t);
  write('a.yaml', customer);
  t.ok(await reload());
  const peer = randomUUID();
  await mint({ default_agent_id: peer });
  const { trace_id } = await scan('hello');
  const answer = { trace_id, response_body: 'of ACME-12345678', response_status: 200 };
  t.match((await api('POST', '/v1/scan/response', answer)).body, { data_classes: ['PII'] });
  const message = { from_agent_id: agentId, to_agent_id: peer, method: 'delegate', intent: 'x' };
  const { body } = await api('POST', '/v1/a2a/scan', { ...message, payload: { a: 'ACME-12345678' } });
  t.match(body, { classifications: ['PII'] });
});

t.test('files are bounded in number and in bytes', async (t) => {
  const { write, reload, lastError, kinds } = await start(t);
  const detector = (at: number): string =>
    customer.replace('acme-customer', `acme-${at}`).replaceAll('ACME-', `ACME${at}-`);
  for (let at = 0; at < 100; at++) write(`${at}.yaml`, detector(at));
  t.ok(await reload());
  t.strictSame(await kinds('ACME99-12345678'), ['acme-99']);
  write('100.yaml', detector(100));
  t.notOk(await reload());
  t.match(await lastError(), /detectors: 101 files match, and at most 100 are read/);
  const { write: writeOther, reload: reloadOther, lastError: errorOther } = await start(t);
  writeOther('a.yaml', `${customer}#${' '.repeat(1024 * 1024)}\n`);
  t.notOk(await reloadOther());
  t.match(await errorOther(), /a\.yaml cannot be read: it has more than 1048576 bytes/);
  writeOther('a.yaml', `${customer}#${' '.repeat(600_000)}\n`);
  t.ok(await reloadOther());
  writeOther('b.yaml', `${token}#${' '.repeat(600_000)}\n`);
  t.notOk(await reloadOther());
  t.match(await errorOther(), /detectors: the files have more than 1048576 bytes together/);
});

t.test(
  'a pattern that matches nothing is no mistake, a file twice is read once, and links may turn back',
  async (t) => {
    const { dir, write, take, kinds, lastError } = await start(t, { detectors: [] });
    write('a.yaml', customer);
    symlinkSync('..', join(dir, 'detectors', 'up'));
    symlinkSync('self', join(dir, 'detectors', 'self.yaml'));
    symlinkSync('self.yaml', join(dir, 'detectors', 'self'));
    t.strictSame(await kinds('ACME-12345678'), [], 'nothing is read that is not named');
    t.ok(await take({ detectors: ['./none.yaml', 'detectors/a.yaml', 'detectors/**/a.yaml'] }));
    t.strictSame(await kinds('ACME-12345678'), ['acme-customer']);
    t.notOk(await take({ detectors: ['detectors/*.yaml'] }), 'a link to itself cannot be read');
    t.match(await lastError(), /self\.yaml cannot be read: ELOOP/);
    t.notOk(await take({ detectors: ['detectors'] }));
    t.match(await lastError(), /cannot be read: it is not a regular file/);
  },
);

t.test('workers have the files that their parent has read, whatever becomes of them', async (t) => {
  const { dir, configFile } = writeTestConfig(t, setup() as GatewaySetup);
  mkdirSync(join(dir, 'detectors'));
  const file = join(dir, 'detectors', 'a.yaml');
  writeFileSync(file, customer);
  const { config, taken } = loadWithFiles(configFile, {});
  writeFileSync(file, token);
  const { added } = loadAddedDetectors(config, filesTaken(taken));
  t.match(added && detectorsOf(added), [{ id: 'acme-customer' }]);
});
