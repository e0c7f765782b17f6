import { readFileSync } from 'node:fs';
import t, { type Test } from 'tap';
import { normaliseHost } from '../../src/core/target.ts';
import { testAuthority } from '../support/certificates.ts';
import { basic, openSecureTunnel, type Reply, send } from '../support/clients.ts';
import { startTestGateway } from '../support/gateway.ts';
import { startUpstream } from '../support/upstream.ts';
import { anyHost } from './match-keys/any-host.ts';
import { awsActions } from './match-keys/aws-actions.ts';
import { awsResources } from './match-keys/aws-resources.ts';
import { codeHosts } from './match-keys/code-hosts.ts';
import { disguises } from './match-keys/disguises.ts';
import { gcalendar } from './match-keys/gcalendar.ts';
import { gmail } from './match-keys/gmail.ts';
import { graphql } from './match-keys/graphql.ts';
import { type Group, outgoing, type Row } from './match-keys/group.ts';
import { microsoft } from './match-keys/microsoft.ts';
import { readings } from './match-keys/readings.ts';
import { slack } from './match-keys/slack.ts';
import { unclear } from './match-keys/unclear.ts';
import { vendorDisguises } from './match-keys/vendor-disguises.ts';

/*
 * The match keys that need to know what a call acts on and whom it addresses, end to end: real requests to the vendors' own host names,
 * through the real proxy, to one upstream that plays them all.
 */

const groups: readonly Group[] = [
  ...codeHosts,
  ...graphql,
  ...slack,
  ...awsResources,
  ...awsActions,
  ...gmail,
  ...gcalendar,
  ...microsoft,
  ...anyHost,
  ...readings,
  ...unclear,
  ...disguises,
  ...vendorDisguises,
];

/** The way that a host stands in the call, its normal form, and the rest. */
function partsOf({ at = '' }: Group, [, call]: Row) {
  const [method = '', rest = ''] = call.split(/ (.*)/s, 2);
  const url = rest.startsWith('/') ? at + rest : rest;
  const [, written = '', path = ''] = /^https:\/\/([^/]+)(.*)$/s.exec(url) ?? [];
  const host = normaliseHost(written);
  if (host === undefined) throw new Error(`${call} has no host`);
  return { method, written, host, path };
}

interface Seen extends Reply {
  readonly reasons: readonly string[];
  /** The bodies that reached the upstream. */
  readonly arrived: readonly string[];
}

/** Sends the call in a tunnel of its own. */
type Sender = (group: Group, row: Row) => Promise<Seen>;

async function startLab(t: Test) {
  const hosts = groups.flatMap((group) =>
    [...group.holds, ...group.passes, ...(group.stops ?? [])].map((row) => partsOf(group, row).host),
  );
  const certificate = testAuthority().issue({ names: [...new Set(hosts)] });
  const upstream = await startUpstream(t, undefined, { certificate });
  const gateway = await startTestGateway(t, {
    config: {
      // Hundreds of calls are denied here; what is asked is what rules make of each by itself.
      risk: { trust: { denial: 0, anomaly: 0 } },
      limits: { scan_timeout: '30s', max_body_bytes: '4MB' },
      upstream: {
        ca_files: [upstream.caFile],
        resolve: [{ host: '*', address: '127.0.0.1', port: upstream.port }],
      },
      tenants: [
        {
          ...{ id: 'acme', plan: 'enterprise', environments: ['production'] },
          org_domains: ['acme.test'],
          org_accounts: { aws: ['111122223333'], github: ['acme'] },
        },
      ],
    },
  });
  const ca = readFileSync(gateway.caFile, 'utf8');
  const call: Sender = async (group, row) => {
    const { method, written, host, path } = partsOf(group, row);
    const { proxyUrl, key } = gateway;
    const tunnel = { proxyUrl, authorization: basic(key), authority: `${written}:443`, ca, serverName: host };
    const socket = await openSecureTunnel(tunnel);
    const before = upstream.requests.length;
    const [, , content = {}] = row;
    const reply = await send(socket, {
      method,
      path,
      headers: { host: written, ...outgoing(content) },
      ...(content.body === undefined ? {} : { body: content.body }),
    });
    socket.destroy();
    return {
      ...reply,
      reasons: String(reply.headers['x-service-reasons'] ?? '').split(','),
      arrived: upstream.requests.slice(before).map((it) => it.body.toString()),
    };
  };
  return { gateway, call };
}

const rulesOf = ({ match, condition = {}, action = 'DENY' }: Group): readonly object[] => [
  { rule_id: 'tested', priority: 1, match, condition, action, reason_code: 'TESTED' },
  ...(action === 'ALLOW' ? [{ rule_id: 'rest', priority: 2, action: 'DENY', reason_code: 'REST' }] : []),
];

t.test('the keys of rules hold for calls as vendors read them', async (t) => {
  const { gateway, call } = await startLab(t);
  for (const group of groups) {
    await t.test(group.is, async (t) => {
      const applied = await gateway.apply(rulesOf(group));
      t.match(applied, { status: 200, body: { warnings: [] } }, 'the rule is applied');
      for (const row of group.holds) assertHeld(t, group, row, await call(group, row));
      for (const row of group.passes) assertPassed(t, group, row, await call(group, row));
      for (const row of group.stops ?? []) assertStopped(t, row, await call(group, row));
      if (group.action === 'OPEN_INCIDENT') {
        const { body } = await gateway.api(
          'GET',
          '/v1/incidents',
          undefined,
          `Bearer ${gateway.adminSecret}`,
        );
        t.match(body, { items: [{ trigger: 'policy:test/tested' }] }, 'an incident is open');
      }
    });
  }
});

/** The status and decision that an action shows in, and whether the call goes out all the same. */
const shownBy = {
  DENY: { status: 403, decision: 'DENY', goesOut: false },
  OPEN_INCIDENT: { status: 403, decision: 'DENY', goesOut: false },
  REQUIRE_APPROVAL: { status: 403, decision: 'REQUIRE_APPROVAL', goesOut: false },
  SANITIZE: { status: 200, decision: 'SANITIZE', goesOut: true },
  ALLOW: { status: 200, decision: 'ALLOW', goesOut: true },
} as const;

function assertHeld(t: Test, { action = 'DENY' }: Group, [is]: Row, seen: Seen): void {
  const { status, decision, goesOut } = shownBy[action];
  t.match(
    { ...seen, decision: seen.headers['x-service-decision'], arrived: seen.arrived.length },
    { status, decision, reasons: ['TESTED'], arrived: goesOut ? 1 : 0 },
    `holds for ${is}`,
  );
  if (action === 'SANITIZE') t.match(seen.arrived, [/\[REDACTED:/], `${is} arrives without what was cut`);
}

function assertPassed(
  t: Test,
  { action }: Group,
  [is, , content]: Row,
  { status, reasons, arrived }: Seen,
): void {
  if (action === 'ALLOW')
    return void t.match(
      { status, reasons, arrived },
      { status: 403, reasons: ['REST'], arrived: [] },
      `not for ${is}`,
    );
  t.notOk(reasons.includes('TESTED'), `not for ${is}`);
  t.strictSame(
    { status, arrived },
    { status: 200, arrived: [String(content?.body ?? '')] },
    `${is} goes out as it is`,
  );
}

function assertStopped(t: Test, [is]: Row, { status, arrived }: Seen): void {
  t.ok(status >= 400 && status < 500, `${is} does not slip past (${status})`);
  t.strictSame(arrived, [], `${is} does not arrive`);
}
