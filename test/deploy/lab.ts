// Runs the recipes of docs/deploy for namespaces and nftables. To be started in network, mount and process namespaces of its own: nothing that
// it does is seen outside, and all of it is gone with this process. Prints what each agent could do, as JSON.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { stringify } from 'yaml';
import { startDaemon } from '../support/daemon.ts';
import { adminSecret, agentId, apiClient, testConfig } from '../support/gateway.ts';

const execute = promisify(execFile);
const recipes = resolve(import.meta.dirname, '../../docs/deploy');
/** For files; everybody may look into it, and whoever started this removes it. */
const folder = process.argv[2] ?? '';
const outside = '192.0.2.2';
/** Of host.nft. */
const agentUser = '2345';
const steps: (() => void | Promise<void>)[] = [];
const t = { teardown: (step: () => void | Promise<void>) => void steps.push(step) };

const sh = async (script: string): Promise<string> => (await execute('sh', ['-euc', script])).stdout;

/** The machine that the gateway runs on, with the world on the other end of a link, and forwarding on: the worst case. */
async function connectWorld(): Promise<void> {
  await sh(`
    mkdir -p /run/netns
    mount -t tmpfs tmpfs /run/netns
    ip link set lo up
    ip netns add world
    ip link add world0 type veth peer name eth0 netns world
    ip address add 192.0.2.1/24 dev world0
    ip link set world0 up
    ip -n world address add ${outside}/24 dev eth0
    ip -n world link set lo up
    ip -n world link set eth0 up
    ip -n world route add default via 192.0.2.1
    echo 1 > /proc/sys/net/ipv4/ip_forward
  `);
}

interface World {
  readonly port: number;
  readonly caFile: string;
  arrived(): Promise<Record<string, number>>;
}

async function startWorld(): Promise<World> {
  const program = resolve(import.meta.dirname, 'world.ts');
  const child = spawn('ip', ['netns', 'exec', 'world', process.execPath, program, outside], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit');
  t.teardown(async () => {
    child.stdin.end();
    await ended;
  });
  const lines = createInterface({ input: child.stdout });
  const [first] = await once(lines, 'line');
  return {
    ...JSON.parse(String(first)),
    async arrived() {
      const line = once(lines, 'line');
      child.stdin.write('\n');
      return JSON.parse(String((await line)[0]));
    },
  };
}

/** What somebody can do: by the gateway, and past it. `as` is what the commands are run by. */
async function tryAll(as: readonly string[], proxy: string, ca: string, world: World) {
  const run = (...args: string[]) =>
    execute('env', ['-u', 'NODE_OPTIONS', ...as, ...args]).then(
      ({ stdout }) => stdout,
      () => 'failed',
    );
  const before = await world.arrived();
  const url = `https://api.test.example:${world.port}/x`;
  const status = ['-s', '-o', '/dev/null', '-w', '%{http_code}', '--max-time', '20'];
  const through = await run('curl', ...status, '--proxy', proxy, '--cacert', ca, url);
  const direct = await run(
    'curl',
    '-sk',
    '--max-time',
    '3',
    '--noproxy',
    '*',
    `https://${outside}:${world.port}/`,
  );
  for (const port of [53, 443]) {
    await run('timeout', '3', 'bash', '-c', `exec 3<>/dev/tcp/${outside}/${port}`);
    await run('timeout', '3', 'bash', '-c', `echo query > /dev/udp/${outside}/${port}`);
  }
  await sleep(200);
  const after = await world.arrived();
  const passed = Object.keys(after).filter((it) => (after[it] ?? 0) > (before[it] ?? 0));
  return { through, isDirect: direct !== 'failed', passed };
}

await connectWorld();
const world = await startWorld();
await sh(`${recipes}/netns.sh up`);
const dir = join(folder, 'daemon');
mkdirSync(dir, { mode: 0o700 });
const config = testConfig({
  config: {
    proxy: { listen: ['127.0.0.1:8080', '10.200.0.1:8080'] },
    control: { listen: '127.0.0.1:8081', admin_secret: adminSecret },
    upstream: {
      allow_private: ['192.0.2.0/24'],
      ca_files: [world.caFile],
      resolve: [{ host: '*.test.example', address: outside }],
    },
  },
});
writeFileSync(join(dir, 'postern.yaml'), stringify(config));
const daemon = await startDaemon(t, dir, ['--config', join(dir, 'postern.yaml')]);
const mint = { tenant_id: 'acme', name: 'lab', default_agent_id: agentId };
const { key } = (await apiClient(daemon.controlUrl)('POST', '/v1/keys', mint, `Bearer ${adminSecret}`)).body;
// Where an agent may read it.
const ca = join(folder, 'ca.pem');
copyFileSync(daemon.caFile, ca);
await sh(`chmod 644 ${ca}`);
const nobody: readonly string[] = [];
const asUser = ['setpriv', '--reuid', agentUser, '--regid', agentUser, '--clear-groups'];
const inNamespace = ['ip', 'netns', 'exec', 'agents'];
const here = `http://agent:${key}@127.0.0.1:8080`;
const there = `http://agent:${key}@10.200.0.1:8080`;
const attempts: Record<string, unknown> = {};
attempts['machine'] = await tryAll(nobody, here, ca, world);
attempts['user without rules'] = await tryAll(asUser, here, ca, world);
await sh(`nft -f ${recipes}/host.nft`);
attempts['user'] = await tryAll(asUser, here, ca, world);
attempts['machine with rules'] = await tryAll(nobody, here, ca, world);
attempts['namespace'] = await tryAll(inNamespace, there, ca, world);
await sh('ip -n agents route add default via 10.200.0.1');
attempts['namespace with a route'] = await tryAll(inNamespace, there, ca, world);
const control = await execute('ip', [
  'netns',
  'exec',
  'agents',
  'curl',
  '-s',
  '--max-time',
  '3',
  'http://10.200.0.1:8081/healthz',
]).then(
  () => 'reached',
  () => 'refused',
);
await sh('nft delete table inet postern_netns');
attempts['namespace with a route, without rules'] = await tryAll(inNamespace, there, ca, world);
await sh(`${recipes}/netns.sh down`);
const left = await sh('ip netns list; ip -o link show type veth; nft list tables');
console.log(JSON.stringify({ attempts, control, left: left.trim() }));
for (const step of steps.toReversed()) await step();
process.exit(0);
