import t from 'tap';
import { validateConfig } from '../../src/config/load.ts';
import { sha256Of } from '../../src/inspect/patterns/tuning.ts';
import { createEngines } from '../../src/tenants/engines.ts';
import { detectors } from '../support/detectors.ts';

const engines = createEngines(detectors);
const limits = { matchesMax: 100, isOver: () => false };

/** A tenant with these sections. */
function tenant(fields: Readonly<Record<string, unknown>> = {}) {
  const config = validateConfig({ tenants: [{ id: 'acme', ...fields }] }, { file: undefined, env: {} });
  const found = config.tenants.get('acme');
  if (!found) throw new Error('the tenant is not there');
  return found;
}

/** The kinds that the tenant's engine finds in the text. */
const kinds = (fields: Readonly<Record<string, unknown>>, text: string): string[] =>
  engines
    .of(tenant(fields))
    .find(Buffer.from(text), limits)
    .matches.map(({ detector }) => detector.id);

t.test('tenants that want nothing else have the common engine', async (t) => {
  t.equal(engines.of(tenant()), engines.common);
  t.equal(engines.of(tenant({ internal: { hosts: [] }, detectors: { off: [] } })), engines.common);
});

t.test('tenants that want the same share an engine, and others do not', async (t) => {
  const settings = {
    internal: { hosts: ['a.acme.com', 'b.acme.com'] },
    detectors: { off: ['private-address', 'email-address'], confidence: { 'own-host': 'high' } },
  };
  const engine = engines.of(tenant(settings));
  t.equal(engines.of(tenant(structuredClone(settings))), engine);
  const otherOrder = { hosts: settings.internal.hosts.toReversed() };
  t.equal(engines.of(tenant({ ...settings, internal: otherOrder })), engine, 'whatever the order');
  for (const change of [
    { internal: { hosts: ['a.acme.com'] } },
    { internal: { ...settings.internal, builtin: false } },
    { internal: { ...settings.internal, markers: ['Acme Only'] } },
    { detectors: { ...settings.detectors, off: ['private-address'] } },
    { detectors: { ...settings.detectors, allow_sha256: ['0'.repeat(64)] } },
    { detectors: { ...settings.detectors, confidence: { 'own-host': 'low' } } },
  ])
    t.not(engines.of(tenant({ ...settings, ...change })), engine, JSON.stringify(change));
  engines.keepOnly([tenant(settings)]);
  t.equal(engines.of(tenant(settings)), engine, 'it stays while somebody needs it');
  t.equal(engines.of(tenant()), engines.common);
  engines.keepOnly([]);
  t.not(engines.of(tenant(settings)), engine, 'and goes with the last');
});

const text = 'INTERNAL USE ONLY: db1.acme.internal at 10.7.33.4, wiki.acme.com, Project Heron';
const builtin = ['marking-internal-only', 'private-host-name', 'private-address'];
const cases: readonly { name: string; fields: Readonly<Record<string, unknown>>; want: readonly string[] }[] =
  [
    { name: 'what is built in is found', fields: {}, want: builtin },
    { name: 'nothing of it where it is switched off', fields: { internal: { builtin: false } }, want: [] },
    {
      name: 'hosts and markers of the tenant are found beside it',
      fields: { internal: { hosts: ['wiki.acme.com'], markers: ['Project Heron'] } },
      want: [...builtin, 'own-host', 'own-marker'],
    },
    {
      name: 'or instead of it',
      fields: { internal: { builtin: false, hosts: ['*.acme.com'], markers: ['project  heron'] } },
      want: ['own-host', 'own-marker'],
    },
    {
      name: 'one detector is switched off',
      fields: { detectors: { off: ['private-address'] } },
      want: builtin.slice(0, 2),
    },
    {
      name: 'one address is known',
      fields: { detectors: { allow_sha256: [sha256Of(Buffer.from('10.7.33.4'))] } },
      want: builtin.slice(0, 2),
    },
  ];
for (const { name, fields, want } of cases) {
  t.test(name, async (t) => {
    t.strictSame(kinds(fields, text), want);
  });
}

t.test('says what cannot be: with its path, and what was meant', async (t) => {
  const mistakes = engines.mistakesIn(
    tenant({
      internal: { hosts: ['ok.acme.com', '*'], markers: ['Acme Only', 'ab'] },
      detectors: { off: ['github-token', 'privat-address'], confidence: { 'own-marker': 'low', zzz: 'low' } },
    }),
  );
  t.match(mistakes, [
    {
      path: 'detectors.off[1]',
      message: 'there is no detector "privat-address"; did you mean "private-address"?',
    },
    { path: 'detectors.confidence.zzz', message: 'there is no detector "zzz"' },
    { path: 'internal.hosts[1]', message: /3 characters/ },
    { path: 'internal.markers[1]', message: /3 characters/ },
  ]);
  t.equal(mistakes.length, 4);
  t.strictSame(engines.mistakesIn(tenant()), []);
});
