import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import tls from 'node:tls';
import { type Check, check, unknown } from './check.ts';
import { askThrough, openCanaryTunnel, type Seen, type Through } from './through-proxy.ts';

/* Sends calls that the gateway must not let out as they are. Each is sent as an agent would send it. */

/** A URL that leads nowhere (RFC 2606), for a configuration that names no canary. */
const nowhere = 'https://canary.postern.example/';

/** Returns what the gateway makes of each canary. Rejects where the proxy cannot be reached. */
export async function sendCanaries(through: Through, canaryUrl: string | null): Promise<readonly Check[]> {
  const canary = new URL(canaryUrl ?? nowhere);
  return [
    await withoutKey(through, canary),
    ...(await withSecret(through, canary)),
    await toAddress(through, {
      name: 'metadata address',
      host: '169.254.169.254',
      setting: 'upstream.allow_private must not contain 169.254.0.0/16',
    }),
    await toAddress(through, {
      name: 'private address',
      host: '10.255.255.1',
      setting: 'upstream.allow_private: name the single addresses that agents need',
    }),
    await toExpired(through),
  ];
}

async function withoutKey({ proxy }: Through, { host, port }: URL): Promise<Check> {
  const url = new URL(proxy);
  url.username = '';
  url.password = '';
  const { connect, socket } = await openCanaryTunnel(url, `${host}:${port || 443}`);
  socket?.destroy();
  return check(
    'CONNECT without a key',
    connect === 407,
    `the proxy answers ${connect}`,
    'proxy.require_auth: true',
  );
}

/** Returns a text that looks like a key of AWS. It is made here and was never given out. */
function fakeSecret(): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
  return `AKIA${Array.from(randomBytes(16), (byte) => alphabet[byte % 32]).join('')}`;
}

async function withSecret(through: Through, { hostname, port, pathname }: URL): Promise<readonly Check[]> {
  const seen = await askThrough(through, {
    host: hostname,
    port: Number(port) || 443,
    method: 'POST',
    path: pathname,
    body: JSON.stringify({ note: `our key is ${fakeSecret()}` }),
  });
  const isRead = check(
    'TLS is read',
    seen.isRead,
    seen.isRead
      ? 'the certificate in the tunnel is of the gateway'
      : `the tunnel leads on unread (CONNECT ${seen.connect})`,
    'intercept.passthrough must not match the hosts that agents call',
  );
  const setting = 'posture.secrets: SANITIZE, and mode: enforce';
  if (!seen.isRead)
    return [isRead, unknown('fake secret', 'nothing was sent into an unread tunnel', setting)];
  const isKept = ['SANITIZE', 'DENY', 'REQUIRE_APPROVAL'].includes(seen.decision ?? '');
  return [isRead, check('fake secret', isKept, toldAnswer(seen), setting)];
}

const toldAnswer = ({ decision, status, code }: Seen): string =>
  `${decision ?? 'no decision'}, answered ${status}${code === undefined ? '' : ` ${code}`}`;

interface Place {
  readonly name: string;
  readonly host: string;
  readonly setting: string;
}

async function toAddress(through: Through, { name, host, setting }: Place): Promise<Check> {
  const seen = await askThrough(through, { host, port: 443, method: 'GET', path: '/' }).catch(
    () => undefined,
  );
  // If the tunnel opens, the answer of the gateway in it decides.
  const isBlocked = seen?.code === 'EGRESS_BLOCKED' || seen?.connect === 403;
  return check(name, isBlocked, seen ? `${seen.code ?? toldAnswer(seen)}` : 'it was dialled', setting);
}

/** Serves an expired certificate on this machine. The gateway must refuse it, where it may dial it at all. */
async function toExpired(through: Through): Promise<Check> {
  const name = 'expired upstream certificate';
  const { certPem, keyPem, close } = await expiredServerFiles();
  const server = tls.createServer({ cert: certPem, key: keyPem }, (socket) =>
    socket.end('HTTP/1.1 200 OK\r\n\r\n'),
  );
  server.on('tlsClientError', () => undefined);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    const { port } = server.address() as AddressInfo;
    const seen = await askThrough(through, { host: '127.0.0.1', port, method: 'GET', path: '/' });
    const setting = 'no setting turns it off; upstream.ca_files adds authorities';
    if (seen.code === 'EGRESS_BLOCKED' || seen.connect === 403)
      return unknown(
        name,
        'not tried: the gateway may not dial this machine, which is as it should be',
        setting,
      );
    return check(name, seen.status !== 200, toldAnswer(seen), setting);
  } finally {
    server.close();
    close();
  }
}

async function expiredServerFiles() {
  const { openAuthority } = await import('../../wire/tls/authority.ts');
  const folder = mkdtempSync(join(tmpdir(), 'postern-doctor-'));
  const close = (): void => rmSync(folder, { recursive: true, force: true });
  try {
    const [certFile, keyFile] = [join(folder, 'ca.pem'), join(folder, 'ca-key.pem')];
    const dayMs = 86_400_000;
    // The leaf is long expired, and nobody trusts its authority either.
    const authority = openAuthority({ certFile, keyFile, nowMs: Date.now() });
    const { cert, key } = authority.issue('127.0.0.1', Date.now() - 400 * dayMs);
    return { certPem: cert, keyPem: key, close };
  } catch (error) {
    close();
    throw error;
  }
}
