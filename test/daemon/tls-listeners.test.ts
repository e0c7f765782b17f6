import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import tls from 'node:tls';
import t, { type Test } from 'tap';
import { startGateway } from '../../src/daemon/gateway.ts';
import { testAuthority } from '../support/certificates.ts';
import { basic, run, send } from '../support/clients.ts';
import { posternCommand } from '../support/daemon.ts';
import { adminSecret, agentId, startTestGateway, writeTestConfig } from '../support/gateway.ts';
import { needProgram } from '../support/programs.ts';
import { startUpstream } from '../support/upstream.ts';

/* The listeners themselves in TLS: an https:// proxy, and a control plane over https. */

/** A certificate in files, as the configuration names them. */
function makeFiles(t: Test) {
  const dir = mkdtempSync(join(tmpdir(), 'postern-listener-'));
  t.teardown(() => rmSync(dir, { recursive: true, force: true }));
  const files = { cert: join(dir, 'own.pem'), key: join(dir, 'own-key.pem') };
  const caFile = join(dir, 'ca.pem');
  writeFileSync(caFile, testAuthority().certPem);
  const renew = (): void => {
    const { certPem, keyPem } = testAuthority().issue();
    writeFileSync(files.cert, certPem);
    writeFileSync(files.key, keyPem);
  };
  renew();
  return { files, caFile, renew };
}

/** Of a GET that names this Host. */
const statusAt = (url: string, host: string): Promise<number | undefined> =>
  new Promise((resolve, reject) => {
    http
      .get(url, { headers: { host }, agent: false }, (answer) => {
        answer.resume();
        resolve(answer.statusCode);
      })
      .once('error', reject);
  });

const serialShownBy = (url: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url);
    const socket = tls.connect({ host: hostname, port: Number(port), ca: testAuthority().certPem }, () => {
      resolve(socket.getPeerCertificate().serialNumber);
      socket.destroy();
    });
    socket.once('error', reject);
  });

t.test(
  'an https:// proxy opens tunnels, with HTTP/1.1 and HTTP/2 inside, and takes absolute URLs',
  async (t) => {
    if (!needProgram(t, 'curl')) return;
    const { files, caFile } = makeFiles(t);
    const upstream = await startUpstream(t);
    const gateway = await startTestGateway(t, { upstream, config: { proxy: { tls: files } } });
    t.match(gateway.proxyUrl, /^https:/);
    const call = async (...args: string[]) => {
      const format = '%{http_version} %{http_code} %header{x-service-decision}';
      const { stdout } = await run('curl', [
        ...['-s', '-o', '/dev/null', '-w', format, '--cacert', gateway.caFile],
        ...['--proxy-cacert', caFile, '-x', gateway.proxyWithKey, ...args],
      ]);
      return stdout;
    };
    const url = `https://api.test.example:${upstream.port}/x`;
    t.equal(await call('--http1.1', url), '1.1 200 ALLOW');
    t.equal(await call('--http2', url), '2 200 ALLOW');
    t.equal(await call('--http1.0', '--proxy1.0', gateway.proxyWithKey, url), '1.1 200 ALLOW');
    const plain = await startUpstream(t, undefined, { tls: false });
    const plainUrl = `http://localhost:${plain.port}/x`;
    t.equal(await call(plainUrl), '1.1 200 ALLOW');
    t.equal(await call('-p', '--http2-prior-knowledge', plainUrl), '2 200 ALLOW');
    const withoutTls = await run('curl', ['-s', '-x', gateway.proxyWithKey.replace('https:', 'http:'), url]);
    t.not(withoutTls.code, 0, 'who speaks plain text is not heard');
    t.equal(upstream.requests.length, 3);
  },
);

t.test('connections of a listener in TLS count for their address until their agent is known', async (t) => {
  const { files } = makeFiles(t);
  const upstream = await startUpstream(t, undefined, { tls: false });
  const gateway = await startTestGateway(t, {
    config: { proxy: { tls: files }, limits: { max_connections: 6 } },
  });
  const { hostname, port } = new URL(gateway.proxyUrl);
  const host = `localhost:${upstream.port}`;
  const headers = { host, 'proxy-authorization': basic(gateway.key) };
  for (let i = 1; i <= 6; i++) {
    const socket = tls.connect({ host: hostname, port: Number(port), ca: testAuthority().certPem });
    t.teardown(() => void socket.destroy());
    const { status } = await send(socket, { path: `http://${host}/`, headers });
    t.equal(status, 200, `connection ${i} of 6`);
  }
});

t.test(
  'a reload shows a renewed certificate; one that is broken is refused, and the old one stays',
  async (t) => {
    const { files, renew } = makeFiles(t);
    const gateway = await startTestGateway(t, { config: { proxy: { tls: files } } });
    const first = await serialShownBy(gateway.proxyUrl);
    renew();
    t.ok(await gateway.reload());
    const second = await serialShownBy(gateway.proxyUrl);
    t.not(second, first);
    writeFileSync(files.key, 'no key');
    t.notOk(await gateway.reload());
    const { body } = await gateway.api('GET', '/readyz');
    t.match(body.config.last_error, /proxy\.tls.*cert must be certificates in PEM/);
    t.equal(await serialShownBy(gateway.proxyUrl), second);
    renew();
    const text = readFileSync(gateway.configFile, 'utf8');
    writeFileSync(gateway.configFile, text.replace(/ {2}tls:\n( {4}.*\n)+/, ''));
    t.notOk(await gateway.reload(), 'plain text instead is a matter of a restart');
  },
);

t.test('the control plane speaks https, and so does the command line', async (t) => {
  if (!needProgram(t, 'curl')) return;
  const { files, caFile } = makeFiles(t);
  const { configFile } = writeTestConfig(t, { config: { control: { tls: files } } });
  const gateway = await startGateway(configFile, {});
  t.teardown(() => gateway.stop(1000));
  t.match(gateway.controlUrl, /^https:/);
  const { stdout } = await run('curl', ['-s', '--cacert', caFile, `${gateway.controlUrl}/readyz`]);
  t.match(JSON.parse(stdout), { status: 'ready' });
  const listed = await run(
    'env',
    posternCommand(['--config', configFile, '--json', 'key', 'list', '--tenant', 'acme']),
    { NODE_EXTRA_CA_CERTS: caFile, SERVICE_API_KEYS_ADMIN_SECRET: adminSecret },
  );
  t.equal(listed.code, 0, listed.stderr);
  t.type(JSON.parse(listed.stdout), 'object');
});

t.test('a name in the certificate of a listener is no other site to its inbound routes', async (t) => {
  const { files } = makeFiles(t);
  const { certPem, keyPem } = testAuthority().issue({
    names: ['gate.test.example', '*.sub.test.example', '127.0.0.1'],
  });
  writeFileSync(files.cert, certPem);
  writeFileSync(files.key, keyPem);
  const upstream = await startUpstream(t);
  const url = `https://api.test.example:${upstream.port}`;
  const inbound = [{ prefix: 'open', agent: agentId, upstream: url, auth: 'none' }];
  const gateway = await startTestGateway(t, { upstream, config: { proxy: { tls: files }, inbound } });
  for (const [host, status] of Object.entries({
    'gate.test.example': 200,
    'a.sub.test.example:8443': 200,
    'sub.test.example': 403,
    'evil.test.example': 403,
  })) {
    const answer = await statusAt(`${gateway.controlUrl}/inbound/open/x`, host);
    t.equal(answer, status, host);
  }
});

t.test('a listener without its certificate does not begin to listen', async (t) => {
  const { files } = makeFiles(t);
  const cases = [
    { tls: { ...files, cert: '/nonexistent/own.pem' }, message: /proxy\.tls\.cert.*cannot be read/ },
    { tls: { ...files, key: files.cert }, message: /proxy\.tls.*private key/ },
  ];
  for (const { tls, message } of cases) {
    const { configFile } = writeTestConfig(t, { config: { proxy: { tls } } });
    await t.rejects(startGateway(configFile, {}), { message });
  }
});
