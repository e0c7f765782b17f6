import { randomBytes } from 'node:crypto';
import t from 'tap';
import { validateConfig } from '../../src/config/load.ts';
import type { OwnAgent } from '../../src/core/call.ts';
import { parseTarget } from '../../src/core/target.ts';
import { secretSchemas } from '../../src/credentials/credential-secret.ts';
import { Credentials } from '../../src/credentials/credentials.ts';
import { toReadyCredential } from '../../src/credentials/injection.ts';
import { TokenBook } from '../../src/credentials/issued-tokens.ts';
import { createVault, vaultKeyBytes } from '../../src/credentials/vault.ts';
import type { SealedCredential } from '../../src/state/store.ts';
import { makeScrub } from '../../src/wire/client/scrub/scrub.ts';
import { callOf, identityOf } from '../support/call.ts';
import { takeSteps } from '../support/steps.ts';

const longest = 'x'.repeat(65_536);
const headersOf = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`X-Name-${i}`, 'value']));

const cases: readonly [name: string, type: keyof typeof secretSchemas, secret: unknown, fits: boolean][] = [
  ['a value of the longest length', 'bearer', { value: longest }, true],
  ['a longer value', 'bearer', { value: `${longest}x` }, false],
  ['no value', 'bearer', { value: '' }, false],
  ['a value of two lines', 'bearer', { value: 'a\r\nX-Evil: b' }, false],
  ['a value beyond Latin-1', 'query', { value: '\u20ac' }, false],
  ['a field that it does not have', 'query', { value: 'a', vault: true }, false],
  ['a longer password', 'basic', { username: 'a', password: `${longest}x` }, false],
  ['as many headers as may be', 'headers', { values: headersOf(32) }, true],
  ['one header more', 'headers', { values: headersOf(33) }, false],
  ['no header', 'headers', { values: {} }, false],
  ['the longest name of a header', 'headers', { values: { ['x'.repeat(128)]: 'a' } }, true],
  ['a longer name of a header', 'headers', { values: { ['x'.repeat(129)]: 'a' } }, false],
  ['a header that frames the message', 'headers', { values: { 'Transfer-Encoding': 'chunked' } }, false],
  ['a header that names the host', 'headers', { values: { HOST: 'evil.example' } }, false],
];

for (const [name, type, secret, fits] of cases) {
  t.test(`${fits ? 'takes' : 'refuses'} a credential with ${name}`, async (t) => {
    t.equal(secretSchemas[type].safeParse(secret).success, fits);
  });
}

const bot = { agentId: '5b0c7f0e-7a54-4b0e-9a55-0a2f6f0f7c12', name: 'support-bot', runtimeType: null };
const deploy = { agentId: '5b0c7f0e-7a54-4b0e-9a55-0a2f6f0f7c13', name: 'deploy-bot', runtimeType: null };

interface Asked {
  readonly path?: string;
  readonly host?: string;
  readonly own?: OwnAgent;
  readonly named?: OwnAgent;
  /** Of the route that the call came by; else by the forward proxy. */
  readonly prefix?: string;
}

/** The credentials of `acme`, asked about calls to https://api.test.example. */
function lab(written: object, sealed: ReadonlyMap<string, SealedCredential> = new Map()) {
  const config = validateConfig({ tenants: [{ id: 'acme' }], ...written }, { file: undefined, env: {} });
  const credentials = new Credentials(config, {
    store: { credentialOf: (_, name) => sealed.get(name) },
    routes: { storedOf: () => [] },
    vault,
    fetchToken: () => Promise.reject(new Error('nothing here has a token')),
    issued: new TokenBook(),
    onFailure() {},
  });
  const injectionFor = async ({
    path = '/',
    host = 'api.test.example',
    own = bot,
    named = own,
    prefix,
  }: Asked) => {
    const identity = identityOf({ agentId: named.agentId, agentName: named.name, ownAgent: own });
    const call = callOf({ url: `https://${host}${path}`, identity });
    const route = prefix === undefined ? undefined : config.inbound.get(prefix);
    return route ? credentials.forRoute(call, route) : credentials.forCall(call);
  };
  return {
    /** The Authorization that the call goes out with; '' where it has none. */
    sent: async (asked: Asked): Promise<string> => {
      const request = (await injectionFor(asked))?.apply({ target, headers: [] });
      return request?.headers.find((_, i) => request.headers[i - 1] === 'Authorization') ?? '';
    },
    /** An answer of this text as the agent sees it. */
    shown: async (asked: Asked, text: string): Promise<string> => {
      const body = (await injectionFor(asked))?.scrub.body(false);
      return body ? Buffer.concat([body.push(Buffer.from(text)), body.end()]).toString() : text;
    },
    injectionFor,
  };
}

const target = parseTarget('https://api.test.example/');
const vault = createVault(randomBytes(vaultKeyBytes));
const newSecret = (): string => `s${randomBytes(20).toString('hex')}`;
const label = '[REDACTED:credential]';
const hosts = ['api.test.example'];
const upstream = 'https://api.test.example/base';
const unavailable = { code: 'CREDENTIAL_UNAVAILABLE' };

t.test(
  'a call waits until the search for many long secrets is ready, and later calls for nothing',
  async (t) => {
    const secrets = Array.from({ length: 16 }, () => randomBytes(1125).toString('base64url'));
    const credentials = secrets.map((value, i) => ({
      ...{ name: `long-${i}`, tenant: 'acme', type: 'bearer', value, hosts },
    }));
    const { injectionFor, shown } = lab({ credentials });
    let turns = 0;
    const count = (): void => {
      turns += 1;
      counting = setImmediate(count);
    };
    let counting = setImmediate(count);
    t.teardown(() => clearImmediate(counting));
    t.ok(await injectionFor({}));
    t.ok(turns > 1, 'the event loop had turns meanwhile');
    turns = 0;
    t.equal(await shown({}, secrets.join(' ')), secrets.map(() => label).join(' '));
    t.equal(turns, 0);
  },
);

t.test('a credential goes by the agent of the key, whatever agent the call names', async (t) => {
  const [byName, byId] = [newSecret(), newSecret()];
  const of = { tenant: 'acme', type: 'bearer' };
  const { sent } = lab({
    credentials: [
      { ...of, name: 'by-name', value: byName, hosts: ['a.example'], agents: ['deploy-*'] },
      { ...of, name: 'by-id', value: byId, hosts: ['b.example'], agents: [deploy.agentId] },
    ],
  });
  for (const [host, secret] of [
    ['a.example', byName],
    ['b.example', byId],
  ] as const) {
    t.equal(await sent({ host, own: deploy }), `Bearer ${secret}`);
    t.equal(await sent({ host, own: deploy, named: bot }), `Bearer ${secret}`);
    t.equal(await sent({ host, own: bot, named: deploy }), '', 'a name is no key');
  }
});

t.test(
  'a route sends its credential where hosts, paths and agents of that are those of the call',
  async (t) => {
    const secret = newSecret();
    const route = (prefix: string, fields: object = {}) => ({
      prefix,
      tenant: 'acme',
      upstream,
      credential: prefix,
      ...fields,
    });
    const credential = (name: string, fields: object = {}) => ({
      name,
      tenant: 'acme',
      type: 'bearer',
      value: secret,
      ...fields,
    });
    const { sent } = lab({
      agents: [{ id: deploy.agentId, tenant: 'acme', name: deploy.name }],
      credentials: [
        credential('free'),
        credential('hosts', { hosts: ['elsewhere.example'] }),
        credential('paths', { hosts, paths: ['/base/repos/**'] }),
        credential('agents', { agents: ['deploy-*'] }),
        credential('routes-own', { agents: ['deploy-*'] }),
      ],
      inbound: [
        route('free'),
        route('hosts'),
        route('paths'),
        route('agents'),
        route('routes-own', { agent: deploy.agentId }),
      ],
    });
    const all = `Bearer ${secret}`;
    t.equal(await sent({ prefix: 'free' }), all);
    await t.rejects(sent({ prefix: 'hosts' }), unavailable);
    t.equal(await sent({ prefix: 'paths', path: '/base/repos/a' }), all);
    for (const path of ['/base/users', '/base/repos/..%2fusers', '/base/repos/..%252fusers'])
      await t.rejects(sent({ prefix: 'paths', path }), unavailable, path);
    t.equal(await sent({ prefix: 'agents', own: deploy }), all);
    await t.rejects(sent({ prefix: 'agents', own: bot, named: deploy }), unavailable);
    t.equal(
      await sent({ prefix: 'routes-own', own: bot, named: deploy }),
      all,
      'who calls by the route is its agent',
    );
  },
);

t.test('an answer shows no credential that its host may have got, whoever sent it', async (t) => {
  const [first, second, third, fourth] = [newSecret(), newSecret(), newSecret(), newSecret()];
  const of = { tenant: 'acme', type: 'bearer' };
  const sealed = (value: string): SealedCredential => {
    const place = { tenantId: 'acme', name: 'vaulted', type: 'bearer' };
    return { ...place, sealed: vault.seal(place, JSON.stringify({ value })), changedAtMs: 0 };
  };
  const stored = new Map([['vaulted', sealed(fourth)]]);
  const { shown, sent, injectionFor } = lab(
    {
      credentials: [
        { ...of, name: 'paths', value: first, hosts, paths: ['/repos/**'] },
        { ...of, name: 'agents', value: second, hosts, agents: ['deploy-*'] },
        { ...of, name: 'route', value: third },
      ],
      inbound: [
        { prefix: 'a', tenant: 'acme', upstream, credential: 'route' },
        { prefix: 'b', tenant: 'acme', upstream, credential: 'vaulted' },
        { prefix: 'bare', tenant: 'acme', upstream },
      ],
    },
    stored,
  );
  const text = [first, second, third, fourth].join(' ');
  const nothing = [label, label, label, label].join(' ');
  const places: Asked[] = [
    { path: '/repos/x' },
    { path: '/debug' },
    { prefix: 'a' },
    { prefix: 'b' },
    { prefix: 'bare' },
  ];
  for (const asked of places) t.equal(await shown(asked, text), nothing, JSON.stringify(asked));
  t.equal(await sent({ path: '/debug' }), '');
  const asIs = await injectionFor({ prefix: 'bare' });
  const headers = [
    'Authorization',
    'Bearer own',
    'X-Ms-Range',
    'bytes=0-1',
    'Request_Range',
    'bytes=0-1',
    'Range',
    'x',
  ];
  t.same(asIs?.apply({ target, headers }).headers, [
    'Authorization',
    'Bearer own',
    'Accept-Encoding',
    'identity',
  ]);
  t.equal(await shown({ host: 'else.example' }, text), text, 'another host has got none');

  const fifth = newSecret();
  stored.set('vaulted', sealed(fifth));
  t.equal(await shown({ path: '/debug' }, fifth), label, 'what the vault has now is looked for');
  stored.delete('vaulted');
  t.equal(
    await shown({ path: '/debug' }, first),
    label,
    'one that is gone does not keep others from being found',
  );
  await t.rejects(sent({ prefix: 'b' }), unavailable);
});

const values: readonly [name: string, values: Record<string, string>, hidden: string[], shown: string[]][] = [
  ['a token behind its scheme', { Authorization: 'Token s3cretvalue' }, ['s3cretvalue'], ['Token']],
  [
    'parameters',
    { Authorization: 'Signature_of keyId="k3y-of-acme",signature="s1gnature+of=="' },
    ['k3y-of-acme', 's1gnature+of'],
    ['Signature_of', 'signature', 'keyId'],
  ],
  [
    'cookies',
    { Cookie: 'session_token=abc123def456; theme=dark' },
    ['abc123def456'],
    ['session_token', 'dark'],
  ],
  [
    'user and password',
    { Authorization: `Basic ${btoa('user:pa55word')}` },
    ['pa55word', 'user:pa55word'],
    ['user'],
  ],
  [
    'what says nothing secret',
    {
      Accept: 'application/json',
      'Content-Type': 'text/plain',
      'User-Agent': 'curl/8.14.1',
      'X-Api-Version': '2022-11-28',
    },
    [],
    ['application/json', 'text/plain', 'curl/8.14.1', '2022-11-28'],
  ],
];

for (const [name, headers, hidden, shown] of values) {
  t.test(`of a header with ${name} the secrets are looked for, and nothing else`, async (t) => {
    const { secrets } = toReadyCredential({ type: 'headers', values: new Map(Object.entries(headers)) });
    for (const text of hidden) t.notMatch(scrubbed(secrets, `<${text}>`), text);
    for (const text of shown) t.equal(scrubbed(secrets, `<${text}>`), `<${text}>`);
  });
}

function scrubbed(secrets: readonly string[], text: string): string {
  const body = takeSteps(makeScrub(secrets)).result.body(false);
  return Buffer.concat([body.push(Buffer.from(text)), body.end()]).toString();
}
