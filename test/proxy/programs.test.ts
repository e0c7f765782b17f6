import { createHash } from 'node:crypto';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { caVariables } from '../../src/daemon/start/client-variables.ts';
import { run } from '../support/clients.ts';
import { startTestGateway } from '../support/gateway.ts';
import { serveGit } from '../support/git-server.ts';
import { createNoise } from '../support/noise.ts';
import { createPackageRegistry } from '../support/package-registry.ts';
import { needProgram, needPythonModule } from '../support/programs.ts';
import { awsKeyId } from '../support/secrets.ts';
import { startUpstream, type UpstreamHandler } from '../support/upstream.ts';

/*
 * Programs that agents use, led through the gateway by the variables that `postern env` exports and by nothing else, to servers that
 * speak what those programs expect.
 */

const host = 'host.test.example';

async function startLab(t: Test, handler?: UpstreamHandler, maxBody = '256KB') {
  const upstream = await startUpstream(t, handler);
  const gateway = await startTestGateway(t, {
    upstream,
    config: {
      limits: { scan_timeout: '30s' },
      plans: { builders: { extends: 'enterprise', max_body_bytes: maxBody } },
      tenants: [{ id: 'acme', plan: 'builders', environments: ['production'] }],
      upstream: { resolve: [{ host: '*.test.example', address: '127.0.0.1', port: upstream.port }] },
    },
  });
  const home = t.testdir({});
  const env: Record<string, string> = {
    ...Object.fromEntries(caVariables.map((name) => [name, gateway.caFile])),
    HTTPS_PROXY: gateway.proxyWithKey,
    HTTP_PROXY: gateway.proxyWithKey,
    NO_PROXY: '',
    NODE_USE_ENV_PROXY: '1',
    // The runner's loaders, and what the user of this machine has configured, are not for these programs.
    NODE_OPTIONS: '',
    HOME: home,
  };
  return { upstream, gateway, env, home };
}

/** Not at random: of such bytes, one upload in fifty has "pw=" in it with something like a password behind it. */
const noise = createNoise();

/** Sends a large body, and for what it is sent the digest. */
const largeBody = noise(4 << 20);
const digestOf = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');
const echo: UpstreamHandler = ({ method }, response, body) => {
  const answer = method === 'PUT' ? Buffer.from(digestOf(body)) : largeBody;
  response.writeHead(200, { 'content-type': 'application/octet-stream', 'content-length': answer.length });
  response.end(method === 'HEAD' ? undefined : answer);
};

const nodeScript = `
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
const [url, file] = process.argv.slice(-2);
const body = Buffer.from(await (await fetch(url)).arrayBuffer());
const sent = await fetch(url, { method: 'PUT', body: readFileSync(file) });
console.log(createHash('sha256').update(body).digest('hex'), await sent.text(), sent.headers.get('x-service-decision'));
`;

const urllibScript = `
import hashlib, sys, urllib.request
url, file = sys.argv[1:]
body = urllib.request.urlopen(url).read()
request = urllib.request.Request(url, data=open(file, 'rb').read(), method='PUT')
sent = urllib.request.urlopen(request)
print(hashlib.sha256(body).hexdigest(), sent.read().decode(), sent.headers['x-service-decision'])
`;

const requestsScript = `
import hashlib, requests, sys
url, file = sys.argv[1:]
session = requests.Session()
body = session.get(url).content
sent = session.put(url, data=open(file, 'rb').read())
print(hashlib.sha256(body).hexdigest(), sent.text, sent.headers['x-service-decision'])
`;

t.test('programs download 4 MB and upload 200 KB, byte for byte', async (t) => {
  const { env, home } = await startLab(t, echo);
  const url = `https://${host}/file`;
  const file = join(home, 'upload');
  const upload = noise(200 * 1024);
  writeFileSync(file, upload);
  const want = `${digestOf(largeBody)} ${digestOf(upload)} ALLOW`;

  for (const version of ['--http1.1', '--http2']) {
    await t.test(`curl ${version}`, async (t) => {
      if (!needProgram(t, 'curl')) return;
      const out = join(home, `curl${version}`);
      const got = await run('curl', ['-sS', version, '-o', out, '-w', '%{http_version}', url], env);
      t.match(got, { code: 0, stdout: version === '--http2' ? '2' : '1.1' }, got.stderr);
      const args = [
        '-sS',
        version,
        '-T',
        file,
        '-H',
        'Expect: 100-continue',
        '-w',
        ' %header{x-service-decision}',
      ];
      const sent = await run('curl', [...args, url], env);
      t.equal(`${digestOf(readFileSync(out))} ${sent.stdout}`, want, sent.stderr);
      const head = await run('curl', ['-sS', version, '-I', url], env);
      t.match(
        head.stdout.toLowerCase(),
        `content-length: ${largeBody.length}\r\n`,
        'and HEAD has the length',
      );
    });
  }
  const scripts: readonly [name: string, program: string, args: readonly string[]][] = [
    ["Node's fetch", process.execPath, ['--input-type=module', '-e', nodeScript]],
    ["Python's urllib", 'python3', ['-c', urllibScript]],
    ["Python's requests", 'python3', ['-c', requestsScript]],
  ];
  for (const [name, program, args] of scripts) {
    await t.test(name, async (t) => {
      if (program === 'python3' && !needProgram(t, 'python3')) return;
      if (args[1] === requestsScript && !(await needPythonModule(t, 'requests'))) return;
      const { code, stdout, stderr } = await run(program, [...args, url, file], env);
      t.equal(code, 0, stderr);
      t.equal(stdout.trim(), want);
    });
  }
});

t.test('git clones, pushes and fetches over smart HTTP', async (t) => {
  if (!needProgram(t, 'git')) return;
  const root = t.testdir({});
  const { upstream, env, home } = await startLab(t, serveGit(root), '8MB');
  const git = async (cwd: string, ...args: string[]): Promise<string> => {
    const who = [
      '-c',
      'user.name=Agent',
      '-c',
      'user.email=agent@acme.test',
      '-c',
      'init.defaultBranch=main',
    ];
    const { code, stdout, stderr } = await run('git', ['-C', cwd, ...who, ...args], env);
    t.equal(code, 0, `git ${args[0]}: ${stderr}`);
    return stdout.trim();
  };
  await git(root, 'init', '--quiet', '--bare', 'work.git');
  const url = `https://${host}/work.git`;
  const one = join(home, 'one');
  await git(home, 'clone', '--quiet', url, 'one');
  writeFileSync(join(one, 'README'), 'hello\n');
  // More than the default bound on bodies once it is packed, which is what the plan is for.
  const large = noise(600 * 1024);
  writeFileSync(join(one, 'large'), large);
  await git(one, 'add', '.');
  await git(one, 'commit', '--quiet', '-m', 'first');
  await git(one, 'push', '--quiet', 'origin', 'HEAD:main');
  t.equal(await git(join(root, 'work.git'), 'rev-parse', 'main'), await git(one, 'rev-parse', 'HEAD'));
  await git(home, 'clone', '--quiet', '--branch', 'main', url, 'two');
  t.ok(readFileSync(join(home, 'two/large')).equals(large), 'another clone has the same bytes');
  writeFileSync(join(one, 'README'), 'hello again\n');
  await git(one, 'commit', '--quiet', '-am', 'second');
  await git(one, 'push', '--quiet', 'origin', 'HEAD:main');
  await git(join(home, 'two'), 'pull', '--quiet');
  t.equal(readFileSync(join(home, 'two/README'), 'utf8'), 'hello again\n');
  t.ok(
    upstream.requests.some(({ method, url }) => method === 'POST' && url === '/work.git/git-receive-pack'),
    'by the real protocol',
  );
  writeFileSync(join(one, 'settings'), `key = ${awsKeyId()}\n`);
  await git(one, 'add', '.');
  await git(one, 'commit', '--quiet', '-m', 'third');
  const before = await git(join(root, 'work.git'), 'rev-parse', 'main');
  const { code, stderr } = await run('git', ['-C', one, 'push', 'origin', 'HEAD:main'], env);
  t.not(code, 0);
  t.match(stderr, '403', 'a commit with a secret does not leave');
  t.equal(await git(join(root, 'work.git'), 'rev-parse', 'main'), before);
});

/** The tests may themselves be run by npm, which hands down how it is configured: its registry, its authorities, its proxy. */
const withoutOuterNpm = Object.fromEntries(
  Object.keys(process.env).flatMap((name) => (/^npm_/i.test(name) ? [[name, undefined]] : [])),
);

t.test('npm publishes a package, and installs it', async (t) => {
  if (!needProgram(t, 'npm')) return;
  const registry = createPackageRegistry(`https://${host}`);
  const { upstream, env, home } = await startLab(t, registry, '8MB');
  const npmrc = join(home, '.npmrc');
  writeFileSync(
    npmrc,
    `registry=https://${host}/\n//${host}/:_authToken=of-the-tests\nupdate-notifier=false\nfund=false\n`,
  );
  chmodSync(npmrc, 0o600);
  const npm = async (cwd: string, ...args: string[]): Promise<void> => {
    const { code, stderr } = await run('npm', ['--prefix', cwd, ...args], {
      ...env,
      ...withoutOuterNpm,
      npm_config_userconfig: npmrc,
      npm_config_globalconfig: join(home, 'none'),
      npm_config_cache: join(home, `cache-${args[0]}`),
    });
    t.equal(code, 0, `npm ${args[0]}: ${stderr}`);
  };
  const source = join(home, 'source');
  const user = join(home, 'user');
  for (const folder of [source, user]) mkdirSync(folder);
  const large = noise(400 * 1024);
  writeFileSync(join(source, 'large.bin'), large);
  writeFileSync(join(source, 'package.json'), JSON.stringify({ name: 'tiny-package', version: '1.0.0' }));
  writeFileSync(join(user, 'package.json'), JSON.stringify({ name: 'user', version: '1.0.0' }));
  await npm(source, 'publish', source);
  await npm(user, 'install', 'tiny-package');
  t.ok(readFileSync(join(user, 'node_modules/tiny-package/large.bin')).equals(large), 'with the same bytes');
  t.ok(upstream.requests.some(({ url }) => url.endsWith('.tgz')));
});
