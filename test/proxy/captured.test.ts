import { readdirSync, readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import t from 'tap';
import type { CapturedCall, CapturedRequest, Expected } from '../fixtures/captured/form.ts';
import { testAuthority } from '../support/certificates.ts';
import { basic, openSecureTunnel, send } from '../support/clients.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { startUpstream } from '../support/upstream.ts';

/*
 * Requests as the SDKs of the vendors send them (test/fixtures/captured), through the real proxy, to their real hosts, which lead to one
 * upstream on loopback. What the gateway makes of them is told by the trace: tool, operation and verb by name; resources and principals by
 * the rules that hold, for there is one for each value that somebody may write a policy about. Nothing is enforced, so that all arrive.
 */

const folder = join(import.meta.dirname, '../fixtures/captured');
const vendors = readdirSync(folder)
  .filter((it) => it.endsWith('.json'))
  .map((it) => it.slice(0, -'.json'.length));
const captured = vendors.flatMap((vendor): CapturedCall[] =>
  JSON.parse(readFileSync(join(folder, `${vendor}.json`), 'utf8')),
);

const fields = ['org', 'repo', 'channel', 'region', 'account'] as const;
const names = [...fields, 'tags', 'principals'] as const;

/** What rules can tell of a call, and how they name it. */
type Told = Readonly<Record<(typeof names)[number], readonly string[]>>;
const anotherValue = '(a value that no call is expected to have)';
const anyValue = '(nobody can tell)';

const unique = (values: readonly string[]): readonly string[] => [...new Set(values)].sort();
const toTold = (valuesOf: (name: keyof Told) => readonly string[]): Told =>
  Object.fromEntries(names.map((name) => [name, unique(valuesOf(name))])) as Told;

const partsOf = (expected: Expected): readonly Expected[] => [expected, ...(expected.parts ?? [])];
const expectedOf = (expected: Expected): Told =>
  toTold((name) => partsOf(expected).flatMap((it) => valuesOf(it, name)));

function valuesOf({ resource = {}, principals = [] }: Expected, name: keyof Told): readonly string[] {
  if (name === 'principals') return principals;
  if (name === 'tags')
    return Object.entries(resource.tags ?? {}).flatMap(([tag, values]) => values.map((it) => `${tag}=${it}`));
  if (resource.unknown?.includes(name)) return [anyValue];
  const value = resource[name];
  return value === undefined ? [] : [value];
}

const rule = (ruleId: string, priority: number, match: object, action: 'ALLOW' | 'DENY') => ({
  rule_id: ruleId,
  priority,
  match,
  action,
});
const literally = (value: string): string => value.replace(/[*?[]/g, '[$&]');

/** Of each policy one rule holds at the most, so those that can hold together stand in policies of their own. */
function policiesFor(told: readonly Told[]) {
  const all = (name: keyof Told): readonly string[] => unique(told.flatMap((it) => it[name]));
  // A rule that allows holds where it is known that all values match, and any other one also where nobody can tell.
  const byField = fields.map((field) => ({
    name: field,
    rules: [
      ...all(field)
        .filter((it) => it !== anyValue)
        .map((value) => rule(value, 1, { [`${field}_patterns`]: [literally(value)] }, 'ALLOW')),
      rule(anotherValue, 2, { [`${field}_patterns`]: ['*'] }, 'ALLOW'),
      rule(anyValue, 3, { [`${field}_patterns`]: ['*'] }, 'DENY'),
    ],
  }));
  const byTag = all('tags').map((tag, at) => {
    const [name = '', value = ''] = tag.split('=');
    return { name: `tags ${at}`, rules: [rule(tag, 1, { aws_tags: { [name]: value } }, 'ALLOW')] };
  });
  const principals = all('principals');
  const byPrincipal = principals.map((principal, at) => ({
    name: `principals ${at}`,
    rules: [rule(principal, 1, { principal_patterns: [literally(principal)] }, 'DENY')],
  }));
  const others = {
    name: 'principals others',
    rules: [
      rule('known', 1, { principal_patterns: principals.map(literally) }, 'ALLOW'),
      rule(anotherValue, 2, { principal_patterns: ['*'] }, 'DENY'),
    ],
  };
  return [...byField, ...byTag, ...byPrincipal, others];
}

/** A rule that refuses anybody holds where nobody can tell who is addressed. */
const meantBy = (told: Told, all: readonly Told[]): Told =>
  told.principals.includes('*') ? { ...told, principals: unique(all.flatMap((it) => it.principals)) } : told;

interface Trace {
  readonly matched_rules?: readonly { readonly policy_name: string; readonly rule_id: string }[];
  readonly signals?: readonly { readonly name: string; readonly details: string }[];
  readonly [field: string]: unknown;
}

/** What the rules that held say of the call. */
const toldBy = ({ matched_rules: held = [] }: Trace): Told =>
  toTold((name) =>
    held
      .filter((it) => it.policy_name.split(' ', 1)[0] === name && it.rule_id !== 'known')
      .map((it) => it.rule_id),
  );

/** What the first call to each resource is noted as; the bucket is told nowhere else. */
function destinationOf({ tool, resource: { repo, channel, bucket } = {} }: Expected, host: string): string {
  const resource = repo ?? (channel === undefined ? bucket : `#${channel.replace('#', '')}`);
  return resource === undefined ? `host:${host}` : `${tool}:${resource}`;
}

const hostOf = ({ url }: CapturedRequest): string => new URL(url).host;
const bodyOf = ({ body = '', bodyBase64 }: CapturedRequest): Buffer =>
  bodyBase64 === undefined ? Buffer.from(body) : Buffer.from(bodyBase64, 'base64');

t.test('there are calls enough, of all vendors that matter', async (t) => {
  t.ok(captured.length >= 100, `${captured.length} calls`);
  t.strictSame(vendors, [
    'a2a',
    'anthropic',
    'aws',
    'discord',
    'github',
    'google',
    'hubspot',
    'linear',
    'mcp',
    'microsoft',
    'notion',
    'openai',
    'sendgrid',
    'slack',
    'stripe',
    'twilio',
  ]);
});

t.test('what an SDK sends is understood as whoever calls it expects', async (t) => {
  const hosts = [...new Set(captured.map(({ request }) => hostOf(request)))];
  const certificate = testAuthority().issue({ names: hosts });
  const upstream = await startUpstream(t, undefined, { certificate });
  const told = captured.map(({ expected }) => expectedOf(expected));
  const gateway = await startTestGateway(t, {
    // JSON is YAML.
    policyFiles: {
      'values.yaml': policiesFor(told)
        .map((it) => JSON.stringify(it))
        .join('\n---\n'),
    },
    config: {
      upstream: {
        ca_files: [upstream.caFile],
        resolve: hosts.map((host) => ({ host, address: '127.0.0.1', port: upstream.port })),
      },
      tenants: [{ id: 'acme', plan: 'enterprise', environments: ['production'], mode: 'monitor' }],
    },
  });
  const tunnels = createTunnels(gateway);
  t.teardown(() => tunnels.close());
  const destinations = new Set<string>();

  for (const { sdk, call, request, expected } of captured) {
    const host = hostOf(request);
    await t.test(`${sdk} ${call} is ${expected.operation} of ${expected.tool}`, async (t) => {
      const body = bodyOf(request);
      const reply = await send(await tunnels.to(host), {
        method: request.method,
        path: request.url.slice(`https://${host}`.length),
        headers: { ...request.headers, host },
        ...(body.length > 0 ? { body } : {}),
      });
      t.equal(reply.status, 200);
      t.ok(upstream.requests.at(-1)?.body.equals(body), 'it arrives as it was sent');

      const answer = await gateway.api('GET', `/v1/traces/${reply.headers['x-service-trace-id']}`);
      const trace: Trace = answer.body;
      t.has(trace, { tool_name: expected.tool, operation: expected.operation, verb: expected.verb });
      if (expected.parts)
        t.same(
          new Set(trace['parts'] as string[]),
          new Set(partsOf(expected).map((it) => `${it.tool} ${it.operation}`)),
        );
      t.strictSame(
        toldBy(trace),
        meantBy(expectedOf(expected), told),
        'what it acts on, and whom it addresses',
      );

      const destination = destinationOf(expected, host);
      const noted = trace.signals?.find((it) => it.name === 'NEW_DESTINATION')?.details;
      const isNew = !destinations.has(destination);
      t.equal(noted, isNew ? `the first call of this agent to ${destination}` : undefined);
      destinations.add(destination);
    });
  }
});

/** One for each host, kept as clients keep them. */
function createTunnels({ proxyUrl, key, caFile }: TestGateway) {
  const ca = readFileSync(caFile, 'utf8');
  const kept = new Map<string, Socket>();
  return {
    async to(host: string): Promise<Socket> {
      const known = kept.get(host);
      // Node's client gives up a connection on which it has asked for a head alone.
      if (known && !known.destroyed) return known;
      const opened = await openSecureTunnel({
        proxyUrl,
        authorization: basic(key),
        authority: `${host}:443`,
        ca,
      });
      kept.set(host, opened);
      return opened;
    },
    close(): void {
      for (const socket of kept.values()) socket.destroy();
    },
  };
}
