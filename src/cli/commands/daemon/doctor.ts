import type { Command } from 'commander';
import type { Config } from '../../../config/schema.ts';
import type { CommonOptions } from '../../connection/client.ts';
import { readConfig } from '../../connection/configuration.ts';
import type { WayOut } from '../../connection/way-out.ts';
import type { Check } from '../../doctor/check.ts';
import type { OutsideAddresses } from '../../doctor/ways-out.ts';
import { print, terminal, toJson, toTable } from '../../output.ts';
import { ownAgentId } from '../../own-agent.ts';

interface DoctorOptions extends CommonOptions {
  readonly prove?: boolean;
  readonly outside?: string;
  readonly outside6?: string;
  readonly dns?: string;
}

/** Adds `postern doctor`: it sends what must not get out, and tells what is enforced and how to change it. */
export function addDoctor(program: Command): void {
  program
    .command('doctor')
    .description(
      'send canaries through the daemon and past it; say what is enforced, and which setting changes it',
    )
    .option(
      '--prove',
      'try the ways past the gateway alone, from where agents run; fails when anything gets out',
    )
    .option(
      '--outside <host:port>',
      'what a direct connection and QUIC are tried with (default: 1.1.1.1:443)',
    )
    .option('--outside6 <[address]:port>', 'the same over IPv6')
    .option(
      '--dns <address:port>',
      'name server that must not answer (default: 1.1.1.1:53, and that of this machine)',
    )
    .action(async (_options: unknown, doctor: Command) => {
      const options = doctor.optsWithGlobals<DoctorOptions>();
      const checks = options.prove ? await prove(options) : await examine(options);
      const failing = checks.filter((it) => it.verdict === 'not enforced').length;
      if (options.prove && failing > 0) process.exitCode = 1;
      const columns = ['verdict', 'name', 'detail', 'setting'];
      await print(
        options.json
          ? `${toJson({ checks, not_enforced: failing })}\n`
          : `${toTable(checks.map(asRow), columns, terminal(options.wide))}\n${toSentence(checks)}\n`,
      );
    });
}

/** Returns a row of the table. The setting is left out where nothing is to be done. */
const asRow = ({ setting, ...it }: Check) => ({ ...it, setting: it.verdict === 'enforced' ? '' : setting });

function toSentence(checks: readonly Check[]): string {
  const count = (verdict: Check['verdict']): number => checks.filter((it) => it.verdict === verdict).length;
  return `${count('enforced')} enforced, ${count('not enforced')} not enforced, ${count('unknown')} unknown.`;
}

async function outsideOf({ outside, outside6, dns }: DoctorOptions): Promise<OutsideAddresses> {
  const { usualOutside } = await import('../../doctor/ways-out.ts');
  return {
    ipv4: outside ?? usualOutside.ipv4,
    ipv6: outside6 ?? usualOutside.ipv6,
    dns: dns ?? usualOutside.dns,
  };
}

/**
 * Tries the ways past the gateway from where agents run. No configuration is there, so the way through the
 * gateway is the one that the shell's variables name.
 */
async function prove(options: DoctorOptions): Promise<readonly Check[]> {
  const { tryWaysOut } = await import('../../doctor/ways-out.ts');
  const { wayOfShell } = await import('../../connection/way-out.ts');
  const way = wayOfShell();
  const out = await tryWaysOut(await outsideOf(options));
  return way ? [...out, await reachesGate(way)] : out;
}

/** Checks that the proxy can be reached. A containment that closes that way as well proves nothing. */
async function reachesGate({ variables }: WayOut): Promise<Check> {
  const { openCanaryTunnel } = await import('../../doctor/through-proxy.ts');
  const { check } = await import('../../doctor/check.ts');
  const answered = await openCanaryTunnel(
    new URL(variables['HTTPS_PROXY'] ?? ''),
    'canary.postern.example:443',
  )
    .then(({ connect, socket }) => {
      socket?.destroy();
      return connect;
    })
    .catch((error: NodeJS.ErrnoException) => error.code ?? error.message);
  const isOpen = answered === 200 || answered === 403;
  return check(
    'the way through the gateway',
    isOpen,
    `the proxy answers ${answered}`,
    'let agents reach proxy.listen',
  );
}

async function examine(options: DoctorOptions): Promise<readonly Check[]> {
  const { checkSettings } = await import('../../doctor/settings.ts');
  const { sendCanaries } = await import('../../doctor/canaries.ts');
  const { tryWaysOut } = await import('../../doctor/ways-out.ts');
  const { stands, toldWay, wayOfShell } = await import('../../connection/way-out.ts');
  const { file, config } = await readConfig(options.config);
  const way = (await toldWay(options).catch(() => undefined)) ?? wayOfShell();
  if (!way) throw new Error('there is no daemon of this folder; name its configuration with --config.');
  if (!(await stands(way))) throw new Error('the daemon does not answer: start it with "postern serve".');
  const canaries = await withOwnAgent(
    way,
    config,
    options,
    ({ HTTPS_PROXY: proxy = '', POSTERN_CA: ca = '' }) =>
      sendCanaries({ proxy, ca }, config.doctor.canaryUrl),
  );
  return [
    ...canaries,
    // Without a named file, the running daemon may have another one, whose settings are not known.
    ...(file === undefined ? [] : checkSettings(config)),
    ...(await checkOwnKey(way, config)),
    ...(await tryWaysOut(await outsideOf(options))),
  ];
}

const keyLifeMs = 600_000;

/**
 * Runs `work` with a key of the doctor's own agent, where the admin secret can make one. So no other agent
 * loses trust by the canaries. They leave traces, and perhaps an incident, as what they are.
 */
async function withOwnAgent<T>(
  { url, key, variables }: WayOut,
  { tenants }: Config,
  options: CommonOptions,
  work: (variables: Readonly<Record<string, string>>) => Promise<T>,
): Promise<T> {
  // Without a configuration there is one tenant, which need not be named.
  const [tenant] = tenants.keys();
  const { secretFor } = await import('../../connection/secrets.ts');
  const secret = await secretFor('operator', options).catch(() => undefined);
  if (url === undefined || !secret || key === '' || secret === key) return work(variables);
  const { clientFor } = await import('../../connection/client.ts');
  const client = clientFor(new URL(url), secret);
  const asked = {
    tenant_id: tenant,
    name: 'postern doctor',
    default_agent_id: ownAgentId('doctor', tenant ?? ''),
    permissions: ['scan'],
    expires_at: new Date(Date.now() + keyLifeMs).toISOString(),
  };
  type Made = { readonly key: string; readonly key_id: string };
  // Where no key can be made, the canaries go out with the key of the shell.
  const made = await client.send<Made>('POST', '/v1/keys', asked).catch(() => undefined);
  if (!made) return work(variables);
  try {
    const own = Object.entries(variables).map(([name, it]) => [name, it.replace(key, () => made.key)]);
    return await work(Object.fromEntries(own));
  } finally {
    await client.send(
      'DELETE',
      `/v1/keys/${made.key_id}`,
      undefined,
      tenant === undefined ? {} : { tenant_id: tenant },
    );
  }
}

/** Checks the permissions of the key that programs of this shell get; empty where it cannot be looked up. */
async function checkOwnKey({ url, key }: WayOut, config: Config): Promise<readonly Check[]> {
  const { clientFor } = await import('../../connection/client.ts');
  const { checkKey } = await import('../../doctor/settings.ts');
  const { adminSecret } = config.control;
  if (url === undefined || key === '') return [];
  const client = clientFor(new URL(url), adminSecret ?? key);
  try {
    for await (const page of client.pages<{ prefix: string; permissions: readonly string[] }>('/v1/keys')) {
      const own = page.find(({ prefix }) => key.startsWith(prefix));
      if (own) return [checkKey(own.permissions)];
    }
  } catch {
    // The key may not see keys, which is as it should be.
  }
  return [];
}
