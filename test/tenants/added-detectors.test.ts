import { readFileSync } from 'node:fs';
import t from 'tap';
import { ConfigError, validateConfig } from '../../src/config/load.ts';
import { addedMax, detectorsOf, parseAddedDetectors } from '../../src/tenants/added-detectors.ts';
import { createEngines } from '../../src/tenants/engines.ts';
import { customer } from '../support/added-detectors.ts';
import { detectors } from '../support/detectors.ts';

const file = '/etc/postern/detectors/acme.yaml';
const added = (...texts: readonly string[]) =>
  parseAddedDetectors(
    texts.map((text, at) => ({ file: at === 0 ? file : `/other/${at}.yaml`, text })),
    '/etc/postern/postern.yaml',
  );
const token = `id: acme-token
class: SECRETS
pattern: '(?:acme|rr)_(?:live|test)_[0-9a-f]{32}(?![0-9a-f])'
examples: { match: ['acme_live_0123456789abcdef0123456789abcdea'] }
`;

/** All that is wrong with the texts, as it is told. */
function mistakesOf(...texts: readonly string[]): readonly string[] {
  try {
    added(...texts);
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.mistakes.map(({ path, message }) => `${path}: ${message}`);
  }
}

t.test('a detector of four lines has defaults for the rest', async (t) => {
  const made = added(customer);
  t.match(made && detectorsOf(made), [
    {
      id: 'acme-customer',
      title: 'acme-customer',
      class: 'PII',
      confidence: 'medium',
      anchors: ['ACME-'],
      anchorCase: true,
    },
  ]);
});

t.test('the example of the documentation is a detector', async (t) => {
  const page = readFileSync(new URL('../../docs/detection.md', import.meta.url), 'utf8');
  const [, yaml = ''] = /## Detectors of your own\n[^#]*?```yaml\n([^`]*)```/.exec(page) ?? [];
  t.equal(yaml.trim().split('\n').length, 4);
  const made = added(yaml);
  t.match(made && detectorsOf(made), [{ id: 'acme-customer', anchors: ['ACME-'] }]);
});

t.test('a detector has what it names instead', async (t) => {
  const made = added(
    `${token}title: A token\nconfidence: high\nanchors: ['acme_', 'rr_']\n---\n${customer}flags: i\n`,
  );
  t.match(made && detectorsOf(made), [
    { title: 'A token', confidence: 'high', anchors: ['acme_', 'rr_'], anchorCase: false },
    { anchors: ['acme-'], anchorCase: false },
  ]);
});

t.test(
  'the digest is the same where the files say the same, and another one where they do not',
  async (t) => {
    const { digest } = added(customer) ?? {};
    t.equal(added(`# A comment.\n${customer}`)?.digest === digest, false, 'lines are shown in mistakes');
    t.equal(added(customer)?.digest, digest);
    t.not(added(customer.replace('{8}', '{7,8}').replace("'ACME-1234567'", "'ACME-123456'"))?.digest, digest);
  },
);

t.test('files of comments alone have no detectors', async (t) => {
  t.equal(added('# nothing yet\n'), undefined);
  t.equal(added(), undefined);
});

const start = customer.slice(0, customer.indexOf('pattern'));
const examples = "examples: { match: ['ACME-12345678'] }\n";
const mistakes: readonly { name: string; text: string; says: RegExp }[] = [
  { name: 'an empty file', text: ' \n', says: /^\/etc\S+acme\.yaml: is empty; if its detectors/ },
  { name: 'broken YAML', text: `${customer}x: [`, says: /acme\.yaml:5:5: a quote, bracket/ },
  { name: 'a list', text: '- id: a\n', says: /acme\.yaml:1: must be a mapping, not a list/ },
  {
    name: 'an unknown key',
    text: `${customer}patern: x\n`,
    says: /acme\.yaml:5 patern: unknown key; did you mean "pattern"\?/,
  },
  {
    name: 'a key that objects inherit',
    text: `${customer}__proto__: { a: 1 }\n`,
    says: /acme\.yaml:5 __proto__: unknown key/,
  },
  {
    name: 'a key twice',
    text: `${customer}class: PII\n`,
    says: /acme\.yaml:5:1: this key stands here twice/,
  },
  { name: 'an alias', text: `${customer}title: *x\n`, says: /acme\.yaml:5:8: aliases are not supported/ },
  {
    name: 'a class that there is not',
    text: customer.replace('PII', 'PIJ'),
    says: /acme\.yaml:2 class: must be one of SECRETS/,
  },
  { name: 'no class', text: customer.replace('class: PII\n', ''), says: /class: is missing; it is one of/ },
  {
    name: 'an id of a path',
    text: customer.replace('acme-customer', '../../x'),
    says: /acme\.yaml:1 id: must be kebab-case/,
  },
  {
    name: 'an id that steers a terminal',
    text: customer.replace('acme-customer', '"a\\u001b[31m"'),
    says: /acme\.yaml:1 id: must be kebab-case/,
  },
  {
    name: 'no example that matches',
    text: `${start}pattern: 'ACME-[0-9]{8}'\n`,
    says: /examples: is missing/,
  },
  {
    name: 'an example that is not found',
    text: customer.replace('ACME-12345678', 'ACME-1234567'),
    says: /acme\.yaml:1 examples\.match\[0\]: is not found/,
  },
  {
    name: 'an example that should not be found',
    text: customer.replace("'ACME-1234567'", "'a ACME-12345678'"),
    says: /examples\.pass\[0\]: is found/,
  },
  {
    name: 'too many examples',
    text: `${start}pattern: 'ACME-[0-9]{8}'\nexamples: { match: [${"'ACME-12345678',".repeat(101)}] }\n`,
    says: /examples\.match: must be at most 100 entries/,
  },
  {
    name: 'a long example',
    text: `${start}pattern: 'ACME-[0-9]{8}'\nexamples: { match: ['ACME-12345678${'x'.repeat(988)}'] }\n`,
    says: /examples\.match\[0\]: must be at most 1000 characters/,
  },
  {
    name: 'an unbounded pattern',
    text: `${start}pattern: 'ACME-[0-9]+'\n${examples}`,
    says: /acme\.yaml:3 pattern: a quantifier is unbounded/,
  },
  {
    name: 'a pattern that steps back',
    text: `${start}pattern: 'ACME-(?:[0-9]{1,64}){2,64}x'\n${examples}`,
    says: /pattern: a repeated group can match one text in several ways/,
  },
  {
    name: 'a pattern of a megabyte',
    text: `${start}pattern: 'ACME-${'[0-9]'.repeat(200_000)}'\n${examples}`,
    says: /pattern: must be at most 2000 characters/,
  },
  {
    name: 'a pattern of many parts',
    text: `${start}pattern: 'ACME-${'{{name}}'.repeat(40)}'\n${examples}`,
    says: /pattern: has more than 4000 characters with its parts/,
  },
  {
    name: 'a pattern that is none',
    text: `${start}pattern: 'ACME-('\n${examples}`,
    says: /acme\.yaml:3 pattern: .*Unterminated group/,
  },
  {
    name: 'a pattern without a literal at its start',
    text: `${start}pattern: '[0-9]{8}'\n${examples}`,
    says: /acme\.yaml:3 pattern: does not begin with a literal text/,
  },
  {
    name: 'letters beyond ASCII in a pattern',
    text: `${start}pattern: 'für [0-9]{8}'\n${examples}`,
    says: /pattern: must be ASCII/,
  },
  {
    name: 'near',
    text: `${start}pattern: 'ACME-[0-9]{8}'\nnear: [person]\nwindow: { before: 9 }\n${examples}`,
    says: /near: is for detectors of the package alone/,
  },
  {
    name: 'matches that reach far behind a short word',
    text: `${start}pattern: 'ACME-[^x]{3000}'\n${examples}`,
    says: /acme\.yaml:3 pattern: detector acme-customer: its matches may be so long/,
  },
  {
    name: 'an id twice in a file',
    text: `${customer}---\n${customer}`,
    says: /acme\.yaml:6 id: is taken by \S+acme\.yaml:1$/,
  },
];
for (const { name, text, says } of mistakes) {
  t.test(`refuses ${name}`, async (t) => {
    t.match(mistakesOf(text), [says]);
    t.equal(mistakesOf(text).length, 1);
  });
}

t.test('all mistakes of all files are told at once, also an id that another file has', async (t) => {
  t.strictSame(mistakesOf(customer, `${customer}---\n${token.replace('SECRETS', 'SECRET')}`), [
    '/other/1.yaml:1 id: is taken by /etc/postern/detectors/acme.yaml:1',
    '/other/1.yaml:7 class: must be one of SECRETS, PII, PHI, INTERNAL; did you mean "SECRETS"?',
  ]);
});

t.test('the number of detectors is bounded, in a file and in all', async (t) => {
  const many = (count: number, from = 0): string =>
    Array.from({ length: count }, (_, at) =>
      customer.replace('acme-customer', `acme-${from + at}`).replaceAll('ACME-', `ACME${from + at}-`),
    ).join('---\n');
  const most = added(many(addedMax));
  t.equal(most && detectorsOf(most).length, addedMax);
  t.match(mistakesOf(many(addedMax + 1)), [/there are more than 256 documents/]);
  t.match(mistakesOf(many(addedMax), many(1, addedMax)), [
    /^detectors: files and known_secrets have more than 256 detectors/,
  ]);
});

t.test('nested groups take no time that doubles with each', async (t) => {
  const nested = `ACME-${'(?:a'.repeat(150)}b${'){0,1}'.repeat(150)}`;
  t.strictSame(mistakesOf(`${start}pattern: '${nested}'\nexamples: { match: ['ACME-'] }\n`), []);
});

const engines = createEngines(detectors);
const limits = { matchesMax: 100, isOver: () => false };

function settings(fields: Readonly<Record<string, unknown>> = {}) {
  const config = validateConfig({ tenants: [{ id: 'acme', ...fields }] }, { file: undefined, env: {} });
  const found = config.tenants.get('acme');
  if (!found) throw new Error('the tenant is not there');
  return found;
}

const text = 'ACME-12345678 and acme_live_0123456789abcdef0123456789abcdea at 10.7.33.4 in Project Heron';
const cases: readonly { name: string; fields: object; want: readonly string[] }[] = [
  {
    name: 'added detectors find beside those of the package',
    fields: {},
    want: ['acme-customer', 'acme-token', 'private-address'],
  },
  {
    name: 'a tenant does without one',
    fields: { detectors: { off: ['acme-customer'] } },
    want: ['acme-token', 'private-address'],
  },
  {
    name: 'a tenant has markers of its own as well',
    fields: { internal: { markers: ['Project Heron'] } },
    want: ['acme-customer', 'acme-token', 'private-address', 'own-marker'],
  },
];
for (const { name, fields, want } of cases) {
  t.test(name, async (t) => {
    const tenant = { ...settings(fields as Record<string, unknown>), added: added(customer, token) };
    t.strictSame(engines.mistakesIn(tenant), []);
    const { matches } = engines.of(tenant).find(Buffer.from(text), limits);
    t.strictSame(
      matches.map(({ detector }) => detector.id),
      want,
    );
  });
}

t.test('a tenant sets the confidence of an added detector', async (t) => {
  const fields = { detectors: { confidence: { 'acme-customer': 'low' } } };
  const { matches } = engines
    .of({ ...settings(fields), added: added(customer) })
    .find(Buffer.from(text), limits);
  t.match(matches, [{ detector: { id: 'acme-customer' }, confidence: 'low' }, {}]);
});

t.test('the same detectors have the same engine, others have another, and none the common one', async (t) => {
  const of = (it: ReturnType<typeof added>) => engines.of(engines.bare(it));
  const engine = of(added(customer));
  t.equal(of(added(customer)), engine);
  t.not(of(added(token)), engine);
  t.equal(of(undefined), engines.common);
  t.equal(engines.settingsOf(engine)?.added?.digest, added(customer)?.digest);
  engines.keepOnly([]);
  t.not(of(added(customer)), engine, 'and it goes with its last tenant');
});

t.test('markers of added detectors are no findings, in any engine', async (t) => {
  const engine = engines.of({ ...settings({ internal: { markers: ['acme-token'] } }), added: added(token) });
  const redacted = Buffer.from('the password is [REDACTED:acme-token], token=[REDACTED:acme-token]');
  t.strictSame(engine.find(redacted, limits).matches, []);
});

t.test('an id of the package is taken, and both files are named', async (t) => {
  const taken = added(
    customer.replace('acme-customer', 'private-address'),
    token.replace('acme-token', 'own-host'),
  );
  t.strictSame(taken && engines.takenIn(taken).map(({ path, message }) => `${path}: ${message}`), [
    '/etc/postern/detectors/acme.yaml:1 id: "private-address" is taken by config/detectors/internal-hosts.yaml',
    '/other/1.yaml:1 id: "own-host" is taken by a detector of the gateway',
  ]);
  const free = added(customer);
  t.strictSame(free && engines.takenIn(free), []);
});

t.test('ids of added detectors are known only where they are added', async (t) => {
  const tenant = settings({ detectors: { off: ['acme-customer'] } });
  t.match(engines.mistakesIn(tenant), [{ path: 'detectors.off[0]' }]);
  t.match(engines.mistakesIn({ ...tenant, added: added(token) }), [{ path: 'detectors.off[0]' }]);
  t.strictSame(engines.mistakesIn({ ...tenant, added: added(customer) }), []);
});

t.test('engines are bounded where nobody says which are needed', async (t) => {
  const few = createEngines(detectors, 2);
  const of = (host: string) => few.of({ ...settings({ internal: { hosts: [host] } }) });
  const first = of('a.acme.com');
  t.equal(of('a.acme.com'), first);
  of('b.acme.com');
  of('c.acme.com');
  t.not(of('a.acme.com'), first);
});
