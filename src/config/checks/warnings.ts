import type { Written } from '../schema.ts';
import type { ListenAddress } from '../sections/addresses.ts';
import type { UnplacedMistake } from './issues.ts';
import type { Path } from './mistakes.ts';

const adminSecretLength = 16;
const secretKeys = [
  'value',
  'password',
  'clientSecret',
  'privateKey',
  'secretAccessKey',
  'sessionToken',
] as const;
const writtenAs = {
  value: 'value',
  password: 'password',
  clientSecret: 'client_secret',
  privateKey: 'private_key',
  secretAccessKey: 'secret_access_key',
  sessionToken: 'session_token',
} as const;

/** Tells whether a URL goes over a wire unencrypted. What goes to this machine itself stays in it. */
function isPlainHttp(upstream: string): boolean {
  const { protocol, hostname } = new URL(upstream);
  return protocol === 'http:' && !/^(?:127\.[\d.]+|\[::1\]|(?:.+\.)?localhost)$/.test(hostname);
}

const isLoopback = (address: ListenAddress): boolean =>
  address.kind === 'unix' || /^(?:127\.[\d.]+|\[?::1\]?|localhost)$/.test(address.host);

/**
 * Returns warnings about settings that are allowed and yet unwise. `isLiteral` tells whether the text at a
 * path stands in the file itself.
 */
export function findWarnings(
  written: Written,
  isLiteral: (path: Path) => boolean,
): readonly UnplacedMistake[] {
  return [...plainSecrets(written, isLiteral), ...weakSettings(written)];
}

function plainSecrets(written: Written, isLiteral: (path: Path) => boolean): readonly UnplacedMistake[] {
  const paths: Path[] = [];
  if (written.control.adminSecret !== '') paths.push(['control', 'admin_secret']);
  if (written.upstream.proxy !== null && URL.parse(written.upstream.proxy)?.password)
    paths.push(['upstream', 'proxy']);
  for (const [index, credential] of written.credentials.entries()) {
    const values: Readonly<Record<string, unknown>> = credential;
    for (const key of secretKeys) {
      if (typeof values[key] === 'string') paths.push(['credentials', index, writtenAs[key]]);
    }
    if (credential.type === 'headers') {
      for (const name of credential.values?.keys() ?? []) paths.push(['credentials', index, 'values', name]);
    }
  }
  for (const [index, { auth }] of written.inbound.entries()) {
    if (auth.type === 'token') paths.push(['inbound', index, 'auth', 'value']);
  }
  for (const [index, channel] of written.notifications.entries()) {
    if (channel.secret !== null) paths.push(['notifications', index, 'secret']);
    if (channel.signingSecret !== null) paths.push(['notifications', index, 'signing_secret']);
    if (URL.parse(channel.url)?.password) paths.push(['notifications', index, 'url']);
  }
  return paths.filter(isLiteral).map((path) => ({
    path,
    message: `a secret stands in the file; \${env:NAME}, \${file:path} or vault: true keep it elsewhere`,
  }));
}

function weakSettings(written: Written): readonly UnplacedMistake[] {
  const findings: UnplacedMistake[] = [];
  const { adminSecret } = written.control;
  if (adminSecret !== '' && adminSecret.length < adminSecretLength) {
    findings.push({
      path: ['control', 'admin_secret'],
      message: `is shorter than ${adminSecretLength} characters`,
    });
  }
  findings.push(...unreadCredentials(written), ...parentWarnings(written), ...boundless(written));
  if (!written.proxy.requireAuth && !written.proxy.listen.every(isLoopback)) {
    findings.push({
      path: ['proxy', 'require_auth'],
      message:
        'proxy.listen can be reached by others than this machine, and calls need no key: whoever reaches it may use it',
    });
  }
  if (written.telemetry.otlp === null && written.telemetry.otlpHeaders.size > 0)
    findings.push({ path: ['telemetry', 'otlp_headers'], message: 'has no effect without otlp' });
  if (written.mode === 'monitor')
    findings.push({ path: ['mode'], message: 'nothing is blocked in monitor mode' });
  for (const [index, credential] of written.credentials.entries()) {
    if (credential.type === 'oauth2_client_credentials' && isPlainHttp(credential.tokenUrl)) {
      findings.push({
        path: ['credentials', index, 'token_url'],
        message: 'the secret of the client goes over plain http, for everybody on the way to read',
      });
    }
  }
  for (const [index, { credential, tenant, upstream }] of written.inbound.entries()) {
    if (credential !== null && isPlainHttp(upstream)) {
      findings.push({
        path: ['inbound', index, 'upstream'],
        message: 'the credential goes over plain http, for everybody on the way to read',
      });
    }
    const isKnown = written.credentials.some(
      (it) => it.name === credential && (it.tenant ?? tenant) === (tenant ?? it.tenant),
    );
    if (credential !== null && !isKnown) {
      const message =
        'there is no such credential in this file; unless the vault has it, calls are answered 502';
      findings.push({ path: ['inbound', index, 'credential'], message });
    }
  }
  for (const [index, { url }] of written.feeds.entries()) {
    if (/^http:/i.test(url))
      findings.push({ path: ['feeds', index, 'url'], message: 'a feed over plain http can be forged' });
  }
  return [...findings, ...written.notifications.flatMap(weakChannel)];
}

function weakChannel({ type, url, secret, allowPrivate }: Written['notifications'][number], index: number) {
  const findings: UnplacedMistake[] = [];
  const path: Path = ['notifications', index];
  if (type === 'webhook' && secret === null) {
    const message = 'nothing is signed without it, so the receiver cannot tell who has sent a notice';
    findings.push({ path: [...path, 'secret'], message });
  }
  // Plain traffic may stay inside the network, but a secret or token often goes with it.
  if (isPlainHttp(url) && !allowPrivate) {
    const message = 'notices go over plain http, for everybody on the way to read';
    findings.push({ path: [...path, 'url'], message });
  }
  return findings;
}

/** Warns of credentials for hosts whose tunnels are not read. Nothing can be put into such a tunnel. */
function unreadCredentials({ intercept, credentials }: Written): readonly UnplacedMistake[] {
  return intercept.passthrough.flatMap((glob, index) => {
    const without = credentials.filter(({ hosts }) => hosts.some((host) => mayMatchAlike(glob, host)));
    if (without.length === 0) return [];
    const names = without.map(({ name }) => name).join(', ');
    const message = `tunnels are not read, so no credential goes with what they carry: ${names}`;
    return [{ path: ['intercept', 'passthrough', index], message }];
  });
}

/** Tells whether every host matches the glob. */
const isAnyHost = (glob: string): boolean => /^[*?.]*\*[*?.]*$/.test(glob);
const isAnyAddress = (range: string): boolean => range.endsWith('/0');

/** Warns of lists that match every place, where some were meant. */
function boundless({ intercept, upstream, credentials }: Written): readonly UnplacedMistake[] {
  const among = (path: Path, texts: readonly string[], isAll: (text: string) => boolean, message: string) =>
    texts.flatMap((text, index) => (isAll(text) ? [{ path: [...path, index], message }] : []));
  return [
    ...among(
      ['intercept', 'passthrough'],
      intercept.passthrough,
      isAnyHost,
      'no tunnel is read: of all calls policies see host and port alone',
    ),
    ...among(
      ['upstream', 'allow_private'],
      upstream.allowPrivate,
      isAnyAddress,
      'agents may reach every private address; name the ranges that they need',
    ),
    ...credentials.flatMap(({ hosts }, index) =>
      among(
        ['credentials', index, 'hosts'],
        hosts,
        isAnyHost,
        'every host gets this credential, those that an agent chooses included; name the hosts that it is for',
      ),
    ),
  ];
}

function parentWarnings({ upstream: { proxy, proxyResolves } }: Written): readonly UnplacedMistake[] {
  if (proxy === null || !proxyResolves) return [];
  const message =
    'addresses behind names are not checked here; the parent proxy must refuse those that are not public';
  return [{ path: ['upstream', 'proxy_resolves'], message }];
}

/** Tells whether some host matches both globs, in which `*` is any run of characters and `?` is one. */
function mayMatchAlike(a: string, b: string): boolean {
  if (!/[*?]/.test(a + b)) return a === b;
  // The cells tell whether some text matches what is left of both globs. They are filled from the shortest
  // ends on.
  let below: readonly boolean[] = [];
  for (let i = a.length; i >= 0; i--) {
    const row: boolean[] = new Array<boolean>(b.length + 1).fill(false);
    for (let j = b.length; j >= 0; j--) {
      const [first, second] = [a[i], b[j]];
      const skipsA = below[j] === true;
      const skipsB = row[j + 1] === true;
      if (first === undefined && second === undefined) row[j] = true;
      else if (first === '*' || second === '*') {
        row[j] = skipsA || skipsB;
      } else if (first !== undefined && second !== undefined) {
        row[j] = (first === '?' || second === '?' || first === second) && below[j + 1] === true;
      }
    }
    below = row;
  }
  return below[0] === true;
}
