import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { chromium } from 'playwright-core';
import t, { type Test } from 'tap';
import { decisionsIn, openTerminal, readmeBlocks, serveIn } from '../docs/terminal.ts';
import { typePages } from '../docs/typed-pages.ts';
import { run } from '../support/clients.ts';
import { findOldNode, leaveOut, needProgram } from '../support/programs.ts';
import { awsKeyId } from '../support/secrets.ts';
import { startUpstream } from '../support/upstream.ts';
import { startAgentLab } from './support.ts';

/* `postern/sdk` as users have it: packed, unpacked among other modules, and run by Node and by a browser. */

const root = resolve(import.meta.dirname, '../..');
/** Of the checkout, as much as is packed or built of. */
const packed = [
  'bin',
  'config',
  'src',
  'systemd',
  'CHANGELOG.md',
  'THIRD_PARTY_NOTICES',
  'package.json',
  'tsconfig.json',
  'tsconfig.build.json',
];

/** Builds and packs a copy of the checkout, and unpacks it where `npm install` would: a folder that has the package among its modules. */
async function install(t: Test): Promise<string> {
  // Not below this checkout: there its own name would lead to itself.
  const folder = mkdtempSync(join(tmpdir(), 'postern-package-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const checkout = join(folder, 'checkout');
  const modules = join(folder, 'user/node_modules/postern');
  mkdirSync(modules, { recursive: true });
  for (const name of packed) cpSync(join(root, name), join(checkout, name), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(checkout, 'node_modules'));
  const npm = [
    '-u',
    'NODE_OPTIONS',
    '-C',
    checkout,
    'npm',
    'pack',
    '--json',
    '--offline',
    '--pack-destination',
    folder,
  ];
  const made = await run('env', npm);
  t.equal(made.code, 0, made.code === 0 ? 'it is packed' : made.stderr);
  const [{ filename }] = JSON.parse(made.stdout.slice(made.stdout.indexOf('[\n')));
  const unpacked = await run('tar', ['-xzf', join(folder, filename), '-C', modules, '--strip-components=1']);
  t.equal(unpacked.code, 0, 'it is unpacked');
  return join(folder, 'user');
}

t.test('the package has the SDK, for Node and for browsers', async (t) => {
  const user = await install(t);
  const sdk = join(user, 'node_modules/postern/dist/sdk');

  await t.test('it imports nothing but itself', async (t) => {
    const files = readdirSync(sdk).filter((it) => it.endsWith('.js'));
    t.ok(files.length > 5, 'its files are found');
    for (const file of files) {
      const text = readFileSync(join(sdk, file), 'utf8');
      for (const [, name = ''] of text.matchAll(/(?:\bfrom|\bimport)\s*\(?\s*['"]([^'"]+)['"]/g))
        t.match(name, /^\.\/[a-z-]+\.js$/, `${file} imports ${name}`);
      t.notMatch(text, /\b(?:process|Buffer|require|setImmediate)\b/, `${file} uses what all runtimes have`);
    }
    const python = readFileSync(join(sdk, 'python/postern.py'), 'utf8');
    t.equal(
      python,
      readFileSync(join(root, 'src/sdk/python/postern.py'), 'utf8'),
      'the client in Python is there',
    );
  });

  await t.test('its command works with what is installed beside it, also by an older Node', async (t) => {
    const modules = join(user, 'node_modules');
    for (const name of readdirSync(join(root, 'node_modules')))
      if (!existsSync(join(modules, name)))
        symlinkSync(join(root, 'node_modules', name), join(modules, name));
    const old = await findOldNode(t);
    const command = [old ?? process.execPath, join(modules, 'postern/bin/postern')];
    const asUser = (...args: string[]) =>
      run('env', ['-u', 'NODE_OPTIONS', '-u', 'POSTERN_CONFIG', '-C', user, ...command, ...args]);
    const addresses = ['--listen', '127.0.0.1:0', '--control', '127.0.0.1:0'];
    const made = await asUser('init', 'gate', ...addresses);
    t.equal(made.code, 0, made.stderr);
    const ran = await asUser('--config', 'gate/postern.yaml', 'run', '--', 'sh', '-c', 'echo "$HTTPS_PROXY"');
    t.match(ran, { code: 0, stdout: /^http:\/\/agent:iv_eph_\w+@127\.0\.0\.1:\d+\n/ }, ran.stderr);
  });

  await t.test('the README’s commands work with it, also by an older Node', async (t) => {
    if (!needProgram(t, 'curl')) return;
    const old = await findOldNode(t);
    const cwd = join(user, 'first');
    mkdirSync(cwd);
    const postern = join(user, 'node_modules/postern/bin/postern');
    const nodeFolder = join(old ?? process.execPath, '..');
    t.match(await serveIn(openTerminal(t, cwd, nodeFolder), '', postern), /This was the first start/);
    const typed = readmeBlocks('Try it').map((it) => it.replaceAll('bin/postern', postern));
    const output = await openTerminal(t, cwd, nodeFolder).type(typed.join('\n'));
    t.same(decisionsIn(output), ['ALLOW', 'SANITIZE', 'DENY']);
    t.match(output, /no-deletes is applied: version 1[\s\S]*decision +SANITIZE/);
  });

  await t.test('the commands of the documents run with it', async (t) => {
    await typePages(t, { node: process.execPath, postern: join(user, 'node_modules/postern/bin/postern') });
  });

  await t.test(
    'it runs as its image runs it: without privileges, below a root that is read-only',
    async (t) => {
      for (const program of ['unshare', 'setpriv']) if (!needProgram(t, program)) return;
      const enter = ['setpriv', '--reuid', '10001', '--clear-groups', 'test', '-x', process.execPath];
      if ((await run('env', enter)).code !== 0)
        return leaveOut(t, 'a folder of the project that others may enter');
      const apart = ['unshare', '--mount', 'mount', '-o', 'remount,ro,bind', '/'];
      const may = await run('env', apart);
      if (may.code !== 0) return leaveOut(t, `the right to mount (${may.stderr.trim()})`);
      const volume = join(user, 'volume');
      mkdirSync(volume, { mode: 0o700 });
      chownSync(volume, 10_001, 10_001);
      chmodSync(join(user, '..'), 0o755);
      const typed = `
      touch "$0/x" 2>/dev/null && echo 'the package may be written'
      node=$1; postern() { "$node" "$0/node_modules/postern/bin/postern" "$@"; }
      export POSTERN_CONFIG=$PWD/postern.yaml
      postern init . --listen 127.0.0.1:0 --control 127.0.0.1:0 >/dev/null || exit
      "$node" "$0/node_modules/postern/bin/postern" serve >ready 2>&1 & daemon=$!
      until grep -q Next: ready; do kill -0 $daemon || { cat ready; exit 1; }; sleep 0.1; done
      postern status && postern key mint
      kill -TERM $daemon; wait $daemon; echo "ended with $?"`;
      const script = `
      mount --bind "$1" "$1"; mount -o remount,ro,bind /
      exec setpriv --reuid 10001 --regid 10001 --clear-groups --no-new-privs --bounding-set=-all --inh-caps=-all \
        env -i -C "$1" PATH="$PATH" HOME="$1" sh -c "$4" "$3" "$2"`;
      const args = ['--mount', '--pid', '--fork', '--kill-child', 'sh', '-euc', script, 'sh'];
      const ran = await run('unshare', [...args, volume, process.execPath, user, typed]);
      t.match(
        ran.stdout,
        /^control +http:[\s\S]*status +ready[\s\S]*\niv_live_\w+\nended with 0\n$/,
        ran.stderr,
      );
    },
  );

  await t.test('Node finds it by its name', async (t) => {
    const { gateway, upstream } = await startAgentLab(t);
    const script = `
      import { createPostern, PosternDenied } from 'postern/sdk';
      const postern = createPostern({ url: process.env.POSTERN_URL, key: process.env.POSTERN_KEY, timeoutMs: 60_000 });
      const guarded = postern.guard();
      const answer = await guarded(process.env.TARGET_URL + '/let');
      const denied = await guarded(process.env.TARGET_URL + '/deny').catch((error) => error instanceof PosternDenied);
      const inside = await import('postern/dist/errors.js').catch((error) => error.code);
      console.log(JSON.stringify([answer.status, denied, inside]));`;
    writeFileSync(join(user, 'agent.mjs'), script);
    const env = { POSTERN_URL: gateway.controlUrl, POSTERN_KEY: gateway.key, TARGET_URL: upstream.origin };
    const ran = await run('env', ['-u', 'NODE_OPTIONS', process.execPath, join(user, 'agent.mjs')], env);
    t.match(ran, { code: 0, stderr: '' });
    t.same(JSON.parse(ran.stdout), [200, true, 'ERR_PACKAGE_PATH_NOT_EXPORTED']);
    t.equal(upstream.requests.length, 1);
  });

  await t.test('its types need those of a browser alone', async (t) => {
    const text = `
      import { createPostern, PosternError, type Postern, type ScanResult } from 'postern/sdk';
      const postern: Postern = createPostern({ url: 'https://gateway.example', key: 'k' });
      const guarded: typeof fetch = postern.guard(fetch, { onApproval: 'throw' });
      export const ask = (): Promise<ScanResult> => postern.scan({ method: 'GET', url: 'https://a.example' });
      export const codeOf = (it: unknown) => (it instanceof PosternError && it.code === 'RATE_LIMITED' ? it.retryAfterMs : undefined);
      // @ts-expect-error: there is no such option
      postern.guard(fetch, { failOpen: true });
      export default guarded;`;
    const options = {
      strict: true,
      noEmit: true,
      target: 'es2024',
      module: 'nodenext',
      types: [],
      lib: ['es2024', 'dom', 'dom.iterable', 'dom.asynciterable'],
    };
    mkdirSync(join(user, 'types'));
    writeFileSync(join(user, 'types/agent.mts'), text);
    writeFileSync(
      join(user, 'types/tsconfig.json'),
      JSON.stringify({ compilerOptions: options, files: ['agent.mts'] }),
    );
    const tsc = join(root, 'node_modules/typescript/bin/tsc');
    const ran = await run('env', ['-u', 'NODE_OPTIONS', process.execPath, tsc, '-p', join(user, 'types')]);
    t.match(ran, { code: 0, stdout: '' });
  });

  await t.test('Chromium runs it in a page', async (t) => {
    const executablePath = needProgram(t, 'chromium');
    if (!executablePath) return;
    const { gateway, upstream: target } = await startAgentLab(t, (request, response) => {
      response.setHeader('access-control-allow-origin', '*');
      response.setHeader('access-control-allow-headers', '*');
      if (request.url?.startsWith('/let/on')) response.writeHead(302, { location: '/deny' });
      response.end('there');
    });
    // What serves the page hands the questions on to the gateway, since a page can ask its own origin only.
    const site = await startUpstream(
      t,
      async ({ method = '', url = '', headers }, response, body) => {
        if (url.startsWith('/v1/')) {
          const { authorization = '', 'content-type': type = 'application/json' } = headers;
          const content = method === 'GET' ? {} : { body: new Uint8Array(body) };
          const asked = { method, headers: { authorization, 'content-type': type }, ...content };
          const answer = await fetch(gateway.controlUrl + url, asked);
          response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' });
          return void response.end(await answer.text());
        }
        const isScript = url.startsWith('/sdk/');
        response.writeHead(200, { 'content-type': isScript ? 'text/javascript' : 'text/html' });
        response.end(
          isScript
            ? readFileSync(join(sdk, url.slice('/sdk/'.length)))
            : '<!doctype html><title>A page</title>',
        );
      },
      { tls: false },
    );
    const browser = await chromium.launch({
      executablePath,
      args: ['--disable-gpu', '--no-first-run', '--disable-background-networking'],
      chromiumSandbox: false,
    });
    t.teardown(() => browser.close());
    const page = await browser.newPage();
    await page.goto(site.origin);
    const secret = awsKeyId();
    const shown = await page.evaluate(`(async () => {
      const { createPostern } = await import('/sdk/index.js');
      const [target, secret] = ${JSON.stringify([target.origin, secret])};
      const postern = createPostern({ url: location.origin, key: ${JSON.stringify(gateway.key)}, timeoutMs: 60000, replayProtection: true });
      const reports = [];
      const guarded = postern.guard(undefined, { onApproval: 'throw', scanResponses: true, onResponseScan: (it) => reports.push(it) });
      const codeOf = (work) => work.then((it) => it.status, (error) => error.code ?? error.name);
      const form = new FormData();
      form.set('note', 'key ' + secret);
      form.set('file', new Blob([Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0, 255)]), 'a.png');
      const statuses = [
        await codeOf(guarded(target + '/let', { method: 'POST', body: 'x' })),
        await codeOf(guarded(target + '/clean', { method: 'POST', body: form })),
        await codeOf(guarded(new Request(target + '/clean', { method: 'POST', body: new URLSearchParams({ secret }) }))),
        await codeOf(guarded(target + '/deny')),
        await codeOf(guarded(target + '/ask')),
        await codeOf(guarded(target + '/let/on')),
      ];
      const { decision } = await postern.scan({ method: 'POST', url: 'https://api.example.org/let', body: Uint8Array.of(255) });
      while (reports.length < 3) await new Promise((resolve) => setTimeout(resolve, 20));
      return [statuses, decision, reports.every((it) => it.dataClasses.length === 0)];
    })()`);
    t.same(shown, [[200, 200, 200, 'POLICY_DENIED', 'APPROVAL_REQUIRED', 'REDIRECT_REFUSED'], 'ALLOW', true]);
    const sent = target.requests.filter((it) => it.method !== 'OPTIONS');
    t.same(
      sent.map((it) => it.url),
      ['/let', '/clean', '/clean', '/let/on'],
    );
    t.notOk(sent.some((it) => it.body.includes(secret)));
    t.ok(
      sent[1]?.body.includes(Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 255])),
      'the file of the form is whole',
    );
  });
});
