import { readFileSync } from 'node:fs';
import type { IncomingMessage, RequestListener } from 'node:http';
import t, { type Test } from 'tap';
import { startTestGateway } from '../support/gateway.ts';
import { startUpstream, type UpstreamHandler } from '../support/upstream.ts';
import { echoMessages } from './matrix/frames.ts';
import { type Cell, type Kind, kinds } from './matrix/kinds.ts';
import { type Heard, type Way, ways } from './matrix/ways.ts';

/*
 * The data plane as a table: each way by which a client may come, to each protocol of an upstream, with each kind of call. Whatever the
 * cell, the call arrives as it was sent, its answer comes back as it was given, and what is about one connection stays there.
 */

const destinations: readonly Cell['to'][] = [
  { protocol: 'HTTP/1.1', scheme: 'https', host: 'one.test.example', route: 'one' },
  { protocol: 'HTTP/2', scheme: 'https', host: 'two.test.example', route: 'two' },
  { protocol: 'HTTP/1.1', scheme: 'http', host: 'plain.test.example', route: 'plain' },
];

const nameOf = ({ protocol, scheme }: Cell['to']): string =>
  `${protocol}${scheme === 'https' ? ' in TLS' : ''}`;

async function startLab(t: Test) {
  const answers = new Map<string, UpstreamHandler>();
  const early = new Map<string, RequestListener>();
  const cellOf = ({ url = '' }: IncomingMessage): string => /^\/cells\/\d+/.exec(url)?.[0] ?? '';
  const upstreams = await Promise.all(
    destinations.map(({ protocol, scheme }) =>
      startUpstream(
        t,
        (request, response, body) => {
          const answer = answers.get(cellOf(request));
          if (!answer) throw new Error('No cell has asked for this.');
          return answer(request, response, body);
        },
        {
          tls: scheme === 'https',
          http2: protocol === 'HTTP/2',
          early: (request) => early.get(cellOf(request)),
          onWebSocket: (socket) => void echoMessages(socket).catch(() => socket.destroy()),
        },
      ),
    ),
  );
  const resolve = destinations.map(({ host }, i) => ({
    host,
    address: '127.0.0.1',
    port: upstreams[i]?.port,
  }));
  const inbound = destinations.map(({ scheme, host, route }) => ({
    prefix: route,
    tenant: 'acme',
    upstream: `${scheme}://${host}`,
  }));
  const gateway = await startTestGateway(t, {
    config: {
      upstream: { allow_private: ['127.0.0.0/8'], ca_files: [upstreams[0]?.caFile], resolve },
      inbound,
      // How fast a busy machine reads a body is not what is tested here.
      limits: { scan_timeout: '30s' },
    },
  });
  const ca = readFileSync(gateway.caFile, 'utf8');
  let cells = 0;

  /** A cell of its own for each test, so that none sees what another has asked for. */
  function newCell(t: Test, way: Way, to: Cell['to']): Cell & { readonly heard: readonly Heard[] } {
    const cellPath = `/cells/${++cells}`;
    const heard: Heard[] = [];
    const lab = { gateway, ca, teardown: (close: () => void) => t.teardown(close) };
    return {
      way,
      to,
      heard,
      serve: (handler) => answers.set(cellPath, handler),
      serveEarly: (handler) => early.set(cellPath, handler),
      async call(asked) {
        const answer = await way.call(lab, to, { ...asked, path: cellPath + (asked.path ?? '') });
        heard.push(answer);
        return answer;
      },
      arrived: () =>
        upstreams.flatMap(({ requests }) => requests.filter(({ url }) => url.startsWith(cellPath))),
    };
  }
  return { gateway, newCell };
}

/** What holds in every cell, whatever is asked. */
function checkEnvelope(t: Test, cell: Cell & { readonly heard: readonly Heard[] }, key: string): void {
  for (const { headers, switched } of cell.heard) {
    t.equal(headers['x-service-decision'], 'ALLOW');
    t.match(headers['x-service-trace-id'], /^[0-9a-f-]{36}$/);
    // What opens a WebSocket is no answer that is passed on, but the gateway's own.
    if (!switched)
      t.match(headers['via'], /(^|, )[0-9.]+ postern$/, 'the answer says that it came through the gateway');
  }
  t.equal(cell.arrived().length, cell.heard.length, 'each call is made once');
  for (const { headers, rawHeaders } of cell.arrived()) {
    t.match(headers.via, /(^|, )[0-9.]+ postern$/, 'the request says that it came through the gateway');
    t.equal(headers.host ?? headers[':authority' as 'host'], cell.to.host);
    t.notOk(headers['proxy-authorization']);
    t.notMatch(rawHeaders.join('\n'), key, 'the key of the gateway stays here');
  }
}

const whyNot = (kind: Kind, way: Way, to: Cell['to']): string | undefined =>
  way.whyNot?.(to) ?? kind.whyNot?.({ way, to });

t.test('every kind of call passes from every client protocol to every upstream protocol', async (t) => {
  const { gateway, newCell } = await startLab(t);
  for (const kind of kinds) {
    for (const way of ways) {
      for (const to of destinations) {
        if (whyNot(kind, way, to) !== undefined) continue;
        await t.test(`${kind.name}: from ${way.name} to ${nameOf(to)}`, async (t) => {
          const cell = newCell(t, way, to);
          await kind.run(t, cell);
          checkEnvelope(t, cell, gateway.key);
        });
      }
    }
  }
  for (const line of toTable()) t.comment(line);
});

/** The cells as they were run, a line for each kind; a dash is a cell that does not exist, and why stands below. */
function toTable(): string[] {
  const columns = ways.flatMap((way) => destinations.map((to) => ({ way, to })));
  const reasons = new Set<string>();
  const lines = kinds.map((kind) => {
    const marks = columns.map(({ way, to }) => {
      const reason = whyNot(kind, way, to);
      if (reason !== undefined) reasons.add(reason);
      return reason === undefined ? 'x' : '-';
    });
    return `${marks.map((it, i) => `${it}${i % destinations.length === destinations.length - 1 ? '  ' : ' '}`).join('')} ${kind.name}`;
  });
  return [
    `clients: ${ways.map(({ name }) => name).join(' | ')}`,
    `each to: ${destinations.map(nameOf).join(', ')}`,
    ...lines,
    ...[...reasons].map((reason) => `- ${reason}`),
  ];
}
