import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { writeTestConfig } from '../support/gateway.ts';
import { postern } from './support.ts';

const text = 'mail ops@acme-mail.org\nhost db1.acme.internal\nProject Heron\n';
const tenants = [
  { id: 'acme', internal: { markers: ['Project Heron'] }, detectors: { off: ['private-host-name'] } },
  { id: 'plain' },
];

t.test('detect shows what is found in files, and nothing of its text', async (t) => {
  const { dir } = writeTestConfig(t, {});
  const file = join(dir, 'notes.txt');
  writeFileSync(file, text);
  const shown = await postern(['detect', file, '-'], { input: '{"a":"10.7.33.4"}' });
  t.equal(shown.code, 0, shown.stderr);
  t.match(shown.stdout, `${file}:2:6: private-host-name (INTERNAL, medium) in body:$`);
  t.match(shown.stdout, '-:1:7: private-address (INTERNAL, medium) in body:$.a');
  t.notMatch(shown.stdout, /acme\.internal|10\.7|sha256/);
  t.match((await postern(['detect', '--sha256', file])).stdout, /sha256 [0-9a-f]{64}/);
});

t.test('detect is narrowed by class and confidence, and CI is told by the exit code', async (t) => {
  const { dir } = writeTestConfig(t, {});
  const file = join(dir, 'notes.txt');
  writeFileSync(file, text);
  const kinds = async (...args: string[]): Promise<{ code: number; kinds: string[] }> => {
    const { stdout, code } = await postern(['--json', 'detect', '--exit-code', file, ...args]);
    return { code, kinds: JSON.parse(stdout).findings.map((it: { kind: string }) => it.kind) };
  };
  t.match(await kinds('--class', 'INTERNAL'), { code: 3, kinds: ['private-host-name'] });
  t.match(await kinds('--class', 'PHI'), { code: 0, kinds: [] });
  t.match(await kinds('--class', 'INTERNAL', '--min-confidence', 'high'), { code: 0, kinds: [] });
});

t.test('detect goes by the settings of a tenant', async (t) => {
  const { configFile } = writeTestConfig(t, { config: { tenants, agents: [] } });
  const run = (...args: string[]) =>
    postern(['--config', configFile, '--json', 'detect', '-', '--class', 'INTERNAL', ...args], {
      input: text,
    });
  const kindsOf = ({ stdout }: { stdout: string }): string[] =>
    JSON.parse(stdout).findings.map((it: { kind: string }) => it.kind);
  t.strictSame(kindsOf(await run('--tenant', 'acme')), ['own-marker']);
  t.strictSame(kindsOf(await run('--tenant', 'plain')), ['private-host-name']);
  const unnamed = await run();
  t.strictSame(kindsOf(unnamed), ['private-host-name']);
  t.match(unnamed.stderr, /--tenant/);
  t.match(await run('--tenant', 'nobody'), { code: 1, stderr: /no tenant .*nobody/ });
});

t.test('detect lists the detectors', async (t) => {
  const { code, stdout } = await postern(['--json', 'detect', '--list', '--class', 'SECRETS']);
  t.equal(code, 0);
  const { items } = JSON.parse(stdout);
  t.ok(items.length > 100);
  t.match(
    items.find((it: { id: string }) => it.id === 'github-token'),
    { class: 'SECRETS', title: /GitHub/, vendor_hosts: [/github/] },
  );
});

t.test('detect tells wrong usage from failure', async (t) => {
  t.equal((await postern(['detect'])).code, 2);
  t.equal((await postern(['detect', '--list', 'file'])).code, 2);
  t.equal((await postern(['detect', '--class', 'OTHER', '-'])).code, 2);
  t.match(await postern(['detect', '/nonexistent']), {
    code: 1,
    stderr: 'postern: /nonexistent: there is no such file\n',
  });
  const many = await postern(['detect', '-'], { input: 'db1.acme.internal\n'.repeat(1001) });
  t.match(many, { code: 1, stderr: /not read to its end: there are too many findings/ });
});

t.test('config check names detectors that are not there', async (t) => {
  const wrong = { id: 'acme', detectors: { off: ['privat-address'] } };
  const { configFile } = writeTestConfig(t, { config: { tenants: [wrong], agents: [] } });
  const { code, stderr } = await postern(['config', 'check', configFile]);
  t.equal(code, 1);
  t.match(stderr, /tenants\[0\]\.detectors\.off\[0\]: .*did you mean "private-address"/);
});

t.test('detect and config check know the detectors that a configuration adds', async (t) => {
  const { dir, configFile } = writeTestConfig(t, { config: { detectors: ['own.yaml', 'none/*.yaml'] } });
  const write = (anchor: string): void =>
    writeFileSync(
      join(dir, 'own.yaml'),
      `id: acme-customer\nclass: PII\npattern: '${anchor}[0-9]{8}'\nexamples: { match: ['ACME-12345678'] }\n`,
    );
  write('ACME-');
  const found = await postern(['--config', configFile, 'detect', '-'], { input: 'of ACME-12345678' });
  t.match(found.stdout, '-:1:4: acme-customer (PII, medium) in body:$');
  t.match((await postern(['--config', configFile, 'detect', '--list'])).stdout, /^acme-customer /m);
  const checked = await postern(['--config', configFile, '--json', 'config', 'check']);
  const { detectors, warnings } = JSON.parse(checked.stdout);
  t.equal(detectors, 1);
  t.ok(warnings.includes(`no file of detectors matches this pattern: ${join(dir, 'none/*.yaml')}`), warnings);
  t.match(
    (await postern(['--config', configFile, 'config', 'check'])).stdout,
    /in files, 1 detector in files\./,
  );
  write('ACME+');
  for (const args of [['config', 'check'], ['detect', '-'], ['serve']]) {
    const refused = await postern(['--config', configFile, ...args], { input: '' });
    t.match(refused, { code: 1, stderr: /own\.yaml:3 pattern: a quantifier is unbounded/ }, args.join(' '));
  }
});
