import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import type { Listing, Readiness, Stats, Suspension } from '../../../api/answers.ts';
import { type Client, type CommonOptions, openClient, readiness } from '../../connection/client.ts';
import { readAddresses } from '../../connection/configuration.ts';
import { print, toFacts, toJson } from '../../output.ts';
import { pastTime } from '../../times.ts';

/**
 * Adds `postern status`, which shows configuration and what waits. It fails where the daemon cannot judge.
 */
export function addStatus(program: Command): void {
  program
    .command('status')
    .description('say how the daemon is; fails where it is not ready')
    .option('--tenant <id>', 'tenant, where the admin secret acts for several')
    .action(async (_options: unknown, status: Command) => {
      const options = status.optsWithGlobals<CommonOptions>();
      const { url, status: code, answer } = await readiness(options);
      const ready = answer as Readiness | { readonly checks?: undefined };
      // Only a daemon that has opened its state can tell of itself.
      if (!ready.checks) {
        process.exitCode = 1;
        const starting = { control: url, status: 'starting: it listens, and opens its state' };
        await print(options.json ? `${toJson(starting)}\n` : toFacts(starting));
        return;
      }
      if (ready.status !== 'ready') process.exitCode = 1;
      const facts = {
        control: url,
        status: ready.status,
        version: ready.version,
        state: ready.checks.state,
        configuration: `generation ${ready.config.generation}, loaded at ${ready.config.loaded_at}`,
        last_reload: reloadOf(ready, options),
        ...(await authorityFacts(options)),
        ...(code === 200 ? await traffic(options) : {}),
      };
      await print(options.json ? `${toJson(facts)}\n` : toFacts(facts));
    });
}

/** Returns what became of the last reload. A refusal has a line for each mistake, and is shown on as many. */
function reloadOf({ config }: Readiness, { json }: CommonOptions): string | readonly string[] {
  if (config.last_error === null) return 'taken';
  const refusal = `refused: ${config.last_error}`;
  return json ? refusal : refusal.split('\n');
}

/** Tells of the authority of a daemon of this machine; the file of another one is not here. */
async function authorityFacts(options: CommonOptions): Promise<Record<string, string>> {
  if (options.url) return {};
  try {
    const { config } = await readAddresses(options.config);
    const { cert } = config.authority;
    const { validTo } = new X509Certificate(readFileSync(cert));
    return { authority: `${cert}, valid to ${new Date(validTo).toISOString().slice(0, 10)}` };
  } catch {
    return {};
  }
}

/** Tells of the traffic that the key or secret of the shell may see; nothing where there is none. */
async function traffic(options: CommonOptions): Promise<Record<string, unknown>> {
  const seen: Record<string, unknown> = {};
  const client = await openClient(options).catch(() => undefined);
  if (!client) return { traffic: 'not shown: there is no key or admin secret in this shell' };
  const look = async (name: string, ask: (client: Client) => Promise<unknown>): Promise<void> => {
    // A key may see some of these, so the others are left out.
    seen[name] = await ask(client).catch(() => undefined);
  };
  await look('calls_last_hour', async (it) => {
    const stats = await it.get<Stats>('/v1/stats', { interval: 'minute', from: pastTime('1h') });
    const named = stats.decisions.names.map(({ name, count }) => `${name} ${count}`).join(', ');
    return named === '' ? '0' : `${stats.total}: ${named}`;
  });
  await look('approvals_waiting', (it) => countOf(it, '/v1/approvals', 'pending'));
  await look('incidents_open', (it) => countOf(it, '/v1/incidents', 'open'));
  await look('all_agents', async (it) => {
    const { status, since, note } = await it.get<Suspension>('/v1/agents/suspension');
    return status === 'active' ? undefined : `suspended since ${since}: ${note ?? 'without a note'}`;
  });
  return Object.fromEntries(Object.entries(seen).filter(([, value]) => value !== undefined));
}

async function countOf(client: Client, path: string, status: string): Promise<string | number> {
  const { items, next_cursor } = await client.get<Listing<unknown>>(path, { status, limit: '1000' });
  return next_cursor === null ? items.length : `more than ${items.length}`;
}
