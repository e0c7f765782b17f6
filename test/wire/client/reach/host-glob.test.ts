import t from 'tap';
import { parseTarget } from '../../../../src/core/target.ts';
import { compileDenylist } from '../../../../src/tenants/destination-list.ts';
import { isExternal } from '../../../../src/tenants/external.ts';
import { createGuard } from '../../../../src/wire/client/reach/guard.ts';
import { toHostMatcher } from '../../../../src/wire/client/reach/host-glob.ts';
import { createPassesBy } from '../../../../src/wire/client/reach/no-proxy.ts';
import { createResolver } from '../../../../src/wire/client/reach/resolve.ts';

t.test('a host glob matches labels at any depth, and nothing beside them', async (t) => {
  const rows: [glob: string, host: string, isMatch: boolean][] = [
    ['*.example.com', 'a.example.com', true],
    ['*.example.com', 'a.b.example.com', true],
    ['*.example.com', 'example.com', false],
    ['*.example.com', 'notexample.com', false],
    ['*.example.com', 'a.example.com.evil.test', false],
    ['example.com', 'example.com', true],
    ['example.com', 'exampleXcom', false],
    ['Example.COM', 'example.com', true],
    ['example.com.', 'example.com', true],
    ['*.Example.Com.', 'a.example.com', true],
    ['api-*.example.com', 'api-eu.example.com', true],
    ['api-*.example.com', 'api.example.com', false],
    ['api-??.example.com', 'api-eu.example.com', true],
    ['api-??.example.com', 'api-e.example.com', false],
    ['**.example.com', 'a.b.example.com', true],
    ['*', 'anything.test', true],
    ['*.*', 'one.two', true],
    ['*.*', 'one', false],
    ['a*b*c.test', 'a-b-c.test', true],
    ['a*b*c.test', 'acb.test', false],
    ['bücher.example', 'xn--bcher-kva.example', true],
    ['*.BÜCHER.example', 'a.xn--bcher-kva.example', true],
    ['xn--bcher-kva.*', 'xn--bcher-kva.example', true],
    ['10.example.com', '10.example.com', true],
    ['*.0x1f.example.com', 'a.0x1f.example.com', true],
    ['192.0.2.*', '192.0.2.7', true],
    ['::1', '::1', true],
    ['a_b.example.com', 'a_b.example.com', true],
    ['+.example.com', 'a.example.com', false],
    ['a(b|c).test', 'ab.test', false],
  ];
  for (const [glob, host, isMatch] of rows) t.equal(toHostMatcher(glob)(host), isMatch, `${glob} on ${host}`);
});

t.test('a glob with many stars does not hold up the daemon over a host that an agent chooses', async (t) => {
  const glob = `${'*a'.repeat(40)}*.x.example.com`;
  // An expression that steps back would try more ways than there are atoms.
  const host = `${'a'.repeat(62)}.${'a'.repeat(60)}.${'a'.repeat(60)}.example.org`;
  t.equal(host.length, 196);
  const guard = createGuard({ allowPrivate: [], deny: [glob], allowedPorts: [], ownListeners: () => [] });
  const resolver = createResolver({ resolve: [{ host: glob, address: '192.0.2.1' }] });
  const tenant = { orgDomains: [], orgAccounts: {}, internal: { hosts: [glob] } };
  const target = parseTarget(`https://${host}/`);
  const call = { principals: [], toolName: 'custom_proxy', verb: 'READ', resource: {} } as const;

  t.equal(toHostMatcher(glob)(host), false);
  t.doesNotThrow(() => guard.checkHost(host, 443), 'upstream.deny');
  t.equal(resolver.isGiven(host), false, 'upstream.resolve');
  t.equal(createPassesBy([glob])(host, 443, []), false, 'upstream.no_proxy');
  t.equal(compileDenylist([glob])(target), false, 'tenants.denylist');
  t.equal(isExternal(call, target, tenant as never), true, 'tenants.internal.hosts');
});

t.test('a glob of internal hosts is read as everywhere else', async (t) => {
  const tenant = { orgDomains: [], orgAccounts: {}, internal: { hosts: ['db-*.corp.example'] } } as never;
  const call = { principals: [], toolName: 'custom_proxy', verb: 'READ', resource: {} } as const;
  t.equal(isExternal(call, parseTarget('https://db-7.corp.example/'), tenant), false);
  t.equal(isExternal(call, parseTarget('https://web.corp.example/'), tenant), true);
});
