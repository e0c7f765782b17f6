import t from 'tap';
import { hasBasicKey, placedCredentials } from '../../src/credentials/credential-places.ts';
import { issuedByAnyone } from '../../src/credentials/found-credentials.ts';
import { claimsOf } from '../../src/credentials/json-web-token.ts';
import { registrableDomain } from '../../src/credentials/registrable-domain.ts';
import { headText } from '../../src/inspect/parts/head-text.ts';
import { callOf } from '../support/call.ts';
import { detectors } from '../support/detectors.ts';

const secret = 'a-secret-of-thirty-two-characters';

/** What stands in the places of credentials, as it is written there and as it is known. */
function placesOf(fields: Parameters<typeof callOf>[0]): readonly (readonly [string, string, string])[] {
  const call = callOf({ ...fields, head: Buffer.from(headText(callOf(fields)), 'latin1') });
  return placedCredentials(call).map(({ part, start, end, location, texts }) => {
    const bytes = part === 'head' ? call.head : call.body;
    return [location, bytes.toString('latin1', start, end), texts.join(' | ')] as const;
  });
}

const form = (body: string, url = 'https://auth.test/x') =>
  placesOf({ url, contentType: 'application/x-www-form-urlencoded', body: Buffer.from(body) });
const json = (body: string) => placesOf({ contentType: 'application/json', body: Buffer.from(body) });
const header = (name: string, value: string) =>
  placesOf({ headers: ['Accept', '*/*', name, value, 'B', 'c'] });

t.test('fields of the head have credentials where their protocols say so', async (t) => {
  const basic = Buffer.from(`bob:${secret}+x`).toString('base64');
  t.same(header('Authorization', `Bearer ${secret}`), [['header:authorization', `Bearer ${secret}`, secret]]);
  t.same(header('authorization', secret), [['header:authorization', secret, secret]]);
  t.same(header('Authorization', `Basic ${basic}`), [
    ['header:authorization', `Basic ${basic}`, `${basic} | ${secret}+x | ${secret} x`],
  ]);
  t.same(header('X-Acme-Api-Key', secret), [['header:x-acme-api-key', secret, secret]]);
  t.same(header('Cookie', `a=1; b=${secret}`), [
    ['header:cookie', '1', '1'],
    ['header:cookie', secret, secret],
  ]);
  t.same(placesOf({ url: `https://h.test/x?a=b&access_token=${secret}&c=d` }), [
    ['query:access_token', secret, secret],
  ]);
  for (const [name, value] of [
    ['Authorization', `Digest username="a", response="${secret}"`],
    ['Authorization', `Bearer ${secret} ${secret}`],
    ['X-Api-Key', `${secret} and more`],
    ['X-Note', secret],
    ['User-Agent', secret],
  ] as const)
    t.same(header(name, value), [], `${name}: ${value}`);
});

t.test('a key in the place of Basic credentials is one, whatever its bytes are', async (t) => {
  const isKey = (token: string) => hasBasicKey({ headers: ['Authorization', `Basic ${token}`] });
  const bytes = Buffer.from('3f:9\x01\xfe:\xc3 some more of it', 'latin1');
  t.equal(isKey(bytes.toString('base64url')), true, 'with colons');
  t.equal(isKey(Buffer.from(`bob:${secret}`).toString('base64')), false, 'a pair');
  t.equal(
    isKey(Buffer.from('Jörg:pässword of thirty characters').toString('base64')),
    false,
    'a pair in UTF-8',
  );
});

t.test('requests for tokens have them in their fields, and other bodies have none', async (t) => {
  const asks = 'grant_type=client_credentials';
  const place = ['body:$.client_secret', secret, secret] as const;
  t.same(form(`${asks}&client_secret=${secret}`), [place]);
  t.same(json(`{"grant_type":"refresh_token", "client_secret" : "${secret}","note":"${secret}"}`), [
    ['body:$.client_secret', `"${secret}"`, secret],
  ]);
  t.same(form(`${asks}&client_secret=a%2Bb+c`), [['body:$.client_secret', 'a%2Bb+c', 'a+b c']]);
  t.same(form(`token=${secret}&token_type_hint=access_token`), [['body:$.token', secret, secret]]);
  t.same(form(`token=${secret}`, 'https://auth.test/oauth2/revoke'), [['body:$.token', secret, secret]]);
  t.same(form(`response_type=code&client_id=c&client_secret=${secret}`), [place], 'RFC 9126');
  for (const body of [
    `client_secret=${secret}`,
    `token=${secret}`,
    `${asks}&note=${secret}`,
    `grant_type=${'a b'}&client_secret=${secret}`,
    `${asks}&client_secret=${secret}&client_secret=${secret}`,
    `${asks}${'&a=b'.repeat(100)}&client_secret=${secret}`,
  ])
    t.same(form(body), [], body.slice(0, 80));
  for (const body of [
    `{"client_secret":"${secret}"}`,
    `{"a":{"grant_type":"password","password":"${secret}"}}`,
    `[{"grant_type":"password","password":"${secret}"}]`,
    '{"grant_type":',
  ])
    t.same(json(body), [], body);
  const put = { method: 'PUT', contentType: 'application/json' };
  t.same(placesOf({ ...put, body: Buffer.from('{"grant_type":"password","password":"x"}') }), []);
});

t.test('of fields with one name the last one counts, as servers parse them', async (t) => {
  const places = json(`{"grant_type":"password","password":"first","\\u0070assword":"last"}`);
  t.same(places, [['body:$.password', '"last"', 'last']]);
});

const jwt = (claims: unknown): string =>
  ['{"alg":"none"}', JSON.stringify(claims), 'signature']
    .map((it) => Buffer.from(it).toString('base64url'))
    .join('.');

t.test('claims say where a JWT belongs', async (t) => {
  const nothing = { audience: [], issuer: undefined, endsAtMs: undefined };
  t.same(claimsOf(jwt({})), nothing);
  t.same(claimsOf(jwt({ iss: 'https://login.acme.com/x', aud: 'https://api.acme.co.uk:8443/', exp: 7 })), {
    ...{ audience: ['api.acme.co.uk'], issuer: 'login.acme.com', endsAtMs: 7000 },
  });
  t.same(claimsOf(jwt({ aud: ['a', 'https://a.acme.com', 'https://b.acme.github.io', 7, null] }))?.audience, [
    'a.acme.com',
    'b.acme.github.io',
  ]);
  t.same(claimsOf(jwt({ htu: 'https://mcp.acme.com/mcp' }))?.audience, ['mcp.acme.com']);
  for (const aud of [
    'mcp',
    'api://default',
    'https://my-api',
    'https://kubernetes.default.svc',
    'https://[',
    {},
  ])
    t.same(claimsOf(jwt({ aud })), nothing, String(aud));
  for (const text of ['', secret, 'a.b.c', `${jwt({})} x`, `x ${jwt({})}`, jwt(null), jwt('x')])
    t.equal(claimsOf(text), undefined, text);
});

t.test('a domain is what one owner has registered', async (t) => {
  for (const [host, domain] of [
    ['api.acme.com', 'acme.com'],
    ['a.b.acme.co.uk', 'acme.co.uk'],
    ['acme.github.io', 'acme.github.io'],
    ['github.io', 'github.io'],
    ['10.0.0.1', '10.0.0.1'],
    ['::1', '::1'],
    ['intranet', 'intranet'],
    ['api.company.test', 'company.test'],
    ['a.acme.modal.run', 'acme.modal.run'],
    ['modal.run', 'modal.run'],
    ['acme.app.n8n.cloud', 'acme.app.n8n.cloud'],
    ['app.n8n.cloud', 'app.n8n.cloud'],
    ['a.10.0.0.1.nip.io', 'a.10.0.0.1.nip.io'],
    ['10-0-0-1.sslip.io', '10-0-0-1.sslip.io'],
    ['api.ns1.svc.cluster.local', 'ns1.svc.cluster.local'],
    ['x.evil.eastus.cloudapp.azure.com', 'evil.eastus.cloudapp.azure.com'],
    ['management.azure.com', 'azure.com'],
    ['abc-80.euw.devtunnels.ms', 'abc-80.euw.devtunnels.ms'],
    [
      'app.happyhill-70162bb9.eastus.azurecontainerapps.io',
      'happyhill-70162bb9.eastus.azurecontainerapps.io',
    ],
    ['name-80.app.github.dev', 'name-80.app.github.dev'],
    ['4.3.2.1.bc.googleusercontent.com', '4.3.2.1.bc.googleusercontent.com'],
    ['script.google.com', 'script.google.com'],
    ['accounts.google.com', 'google.com'],
    ...['e2b.dev', 'loca.lt', 'pinggy.link', 'beeceptor.com', 'oastify.com', 'interact.sh', 'oast.fun'].map(
      (suffix) => [`a.${suffix}`, `a.${suffix}`] as const,
    ),
  ] as const)
    t.equal(registrableDomain(host), domain, host);
});

t.test('every kind that any service may issue is that of a detector without a vendor', async (t) => {
  for (const kind of issuedByAnyone)
    t.match(
      detectors.find((it) => it.id === kind),
      { class: 'SECRETS', vendorHosts: [] },
      kind,
    );
});
