import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import t from 'tap';
import { parse, parseAllDocuments } from 'yaml';
import { run } from '../support/clients.ts';
import { leaveOut, needProgram } from '../support/programs.ts';

const recipe = (name: string): string =>
  readFileSync(resolve(import.meta.dirname, '../../docs/deploy', name), 'utf8');

/** Namespaces that nothing leaves, and that end with their first process. */
const apart = [
  '--net',
  '--mount',
  '--propagation',
  'private',
  '--pid',
  '--fork',
  '--kill-child',
  '--mount-proc',
];

t.test(
  'agents behind nftables, or in a namespace, leave by the gateway alone',
  { timeout: 240_000 },
  async (t) => {
    for (const program of ['unshare', 'ip', 'nft', 'curl', 'setpriv']) if (!needProgram(t, program)) return;
    const may = await run('unshare', [...apart, 'nft', 'list', 'ruleset']);
    if (may.code !== 0) {
      leaveOut(t, `namespaces of its own, as root: ${may.stderr.trim()}`);
      return;
    }
    const lab = resolve(import.meta.dirname, 'lab.ts');
    const folder = mkdtempSync(join(tmpdir(), 'postern-deploy-'));
    t.teardown(() => rmSync(folder, { recursive: true }));
    chmodSync(folder, 0o755);
    const variables = ['-u', 'NODE_OPTIONS', `TMPDIR=${folder}`];
    const ran = await run('env', [...variables, 'unshare', ...apart, process.execPath, lab, folder]);
    t.equal(ran.code, 0, ran.stderr);
    const { attempts, control, left } = JSON.parse(ran.stdout);
    const free = { through: '200', isDirect: true, passed: ['tcp 53', 'udp 53', 'tcp 443', 'udp 443'] };
    const held = { through: '200', isDirect: false, passed: [] };
    t.strictSame(attempts['machine'], free, 'the probes see what gets out');
    t.strictSame(attempts['user without rules'], free, 'also as a user');
    t.strictSame(attempts['user'], held, 'by user');
    t.strictSame(attempts['machine with rules'], free, 'others are left alone');
    t.strictSame(attempts['namespace'], held, 'in a namespace');
    t.strictSame(attempts['namespace with a route'], held, 'whatever routes it makes');
    t.strictSame(attempts['namespace with a route, without rules'], free, 'for it is the rules that hold it');
    t.equal(control, 'refused', 'the control plane is not reached from inside');
    t.notMatch(left, /agents/, 'and the recipe takes itself away');
  },
);

t.test('an agent of the compose file is on the network without a way out, and there alone', async (t) => {
  const { services, networks } = parse(recipe('compose.yaml'));
  t.strictSame(services.agent.networks, ['inside']);
  t.equal(networks.inside.internal, true);
  t.strictSame(services.agent.dns, ['127.0.0.1']);
  t.notMatch(recipe('compose.yaml'), /docker\.sock|network_mode|privileged: true/);
});

t.test('pods of agents may reach the port of the gateway, and nothing else', async (t) => {
  const [policy] = parseAllDocuments(recipe('kubernetes.yaml')).map((it) => it.toJS());
  t.match(policy, {
    metadata: { namespace: 'agents' },
    spec: { podSelector: {}, policyTypes: ['Ingress', 'Egress'] },
  });
  t.equal(policy.spec.ingress, undefined, 'nobody connects to them');
  t.strictSame(
    policy.spec.egress.flatMap((it: { ports: unknown[] }) => it.ports),
    [{ protocol: 'TCP', port: 8080 }],
  );
  t.equal(policy.spec.egress[0].to.length, 1, 'namespace and pod are one condition');
});

for (const [name, path] of [
  ['the gateway', '../../systemd/postern.service'],
  ['an agent', '../../docs/deploy/agent.service'],
] as const) {
  t.test(`the unit of ${name} has no directive that systemd does not know`, async (t) => {
    if (!needProgram(t, 'systemd-analyze')) return;
    const { stderr } = await run('systemd-analyze', ['verify', resolve(import.meta.dirname, path)]);
    t.notMatch(stderr, /Unknown|Failed to parse|Invalid|not a valid/i);
  });
}
