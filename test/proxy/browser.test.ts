import { join } from 'node:path';
import { chromium } from 'playwright-core';
import t from 'tap';
import { run } from '../support/clients.ts';
import { startTestGateway } from '../support/gateway.ts';
import { needProgram } from '../support/programs.ts';
import { startUpstream, type UpstreamHandler } from '../support/upstream.ts';

/* A browser through the gateway, which trusts its authority because a user has put it into the browser's store, and for nothing else. */

const host = 'www.test.example';
const redPixel = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC',
  'base64',
);

const page = `<!doctype html>
<title>A page</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/style.css">
<img id="image" src="/pixel.png">
<script src="/script.js"></script>`;

const script = `
const loaded = new Promise((resolve) => addEventListener('load', resolve));
async function main() {
  const answer = await fetch('/data', { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"asked":1}' });
  const data = await answer.json();
  const events = await new Promise((resolve) => {
    const seen = [];
    const source = new EventSource('/events');
    source.onmessage = ({ data }) => {
      seen.push(data);
      if (data === 'last') { source.close(); resolve(seen); }
    };
  });
  await loaded;
  const resources = performance.getEntriesByType('resource').concat(performance.getEntriesByType('navigation'));
  return {
    data,
    decision: answer.headers.get('x-service-decision'),
    events,
    color: getComputedStyle(document.body).color,
    width: document.getElementById('image').naturalWidth,
    protocols: [...new Set(resources.map((it) => it.nextHopProtocol))].filter((it) => it !== ''),
  };
}
globalThis.result = main();`;

const files: Readonly<Record<string, readonly [type: string, content: string | Buffer]>> = {
  '/': ['text/html', page],
  '/style.css': ['text/css', 'body { color: rgb(1, 2, 3) }'],
  '/script.js': ['text/javascript', script],
  '/pixel.png': ['image/png', redPixel],
  '/events': ['text/event-stream', 'data: first\n\ndata: last\n\n'],
};

const site: UpstreamHandler = ({ method, url = '' }, response, body) => {
  const [type, content] = method === 'POST' ? ['application/json', body] : (files[url] ?? ['text/plain', '']);
  response.writeHead(method === 'POST' || files[url] ? 200 : 404, { 'content-type': type });
  response.end(content);
};

for (const http2 of [false, true]) {
  t.test(
    `Chromium loads a page and all that belongs to it, from an upstream of HTTP/${http2 ? '2' : '1.1'}`,
    async (t) => {
      const executablePath = needProgram(t, 'chromium');
      const certutil = needProgram(t, 'certutil');
      if (!executablePath || !certutil) return;
      const upstream = await startUpstream(t, site, { http2 });
      const gateway = await startTestGateway(t, {
        upstream,
        config: {
          limits: { scan_timeout: '30s' },
          upstream: { resolve: [{ host, address: '127.0.0.1', port: upstream.port }] },
        },
      });
      const home = t.testdir({ '.pki': { nssdb: {} } });
      const store = `sql:${join(home, '.pki/nssdb')}`;
      await run(certutil, ['-d', store, '-N', '--empty-password']);
      await run(certutil, ['-d', store, '-A', '-t', 'C,,', '-n', 'postern', '-i', gateway.caFile]);
      const browser = await chromium.launch({
        executablePath,
        env: { ...process.env, HOME: home, XDG_CONFIG_HOME: home, XDG_CACHE_HOME: home },
        proxy: { server: gateway.proxyUrl, username: 'browser', password: gateway.key },
        args: ['--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking'],
        chromiumSandbox: false,
      });
      t.teardown(() => browser.close());
      const tab = await browser.newPage();
      const answer = await tab.goto(`https://${host}/`);
      t.equal(answer?.status(), 200);
      t.equal(answer?.headers()['x-service-decision'], 'ALLOW');
      t.equal(await tab.title(), 'A page');
      t.same(await tab.evaluate('globalThis.result'), {
        data: { asked: 1 },
        decision: 'ALLOW',
        events: ['first', 'last'],
        color: 'rgb(1, 2, 3)',
        width: 1,
        protocols: ['h2'],
      });
      t.same(new Set(upstream.requests.map(({ url }) => url)), new Set([...Object.keys(files), '/data']));
    },
  );
}
