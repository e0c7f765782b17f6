import { type CommonOptions, isAnswering, openClient } from '../connection/client.ts';
import { readAddresses } from '../connection/configuration.ts';
import { NoKeyError, toldWay, type WayOut } from '../connection/way-out.ts';
import { ownAgentId } from '../own-agent.ts';

const lifeMs = 86_400_000;
const permissions = ['scan', 'keys:ephemeral', 'keys:revoke', 'activity:read'];

/** A way out, and how the key ends that was made for it. */
interface EndedWay {
  readonly way: WayOut | undefined;
  end(): Promise<void>;
}

/**
 * Returns the way that configuration or folder names. Where only the key is missing, the admin secret makes
 * one for this run. Throws where there is neither. The program itself never sees that key, which makes the
 * program's own.
 */
export async function wayWithKey(options: CommonOptions): Promise<EndedWay> {
  try {
    return { way: await toldWay(options), end: async () => undefined };
  } catch (error) {
    if (!(error instanceof NoKeyError)) throw error;
    const made = (await isAnswering(options)) ? await mint(options) : undefined;
    if (!made) throw error;
    process.env['POSTERN_KEY'] = made.key;
    return { way: await toldWay(options), end: made.end };
  }
}

async function mint(options: CommonOptions) {
  const client = await openClient(options).catch(() => undefined);
  if (!client) return undefined;
  const { config } = await readAddresses(options.config);
  const [tenant = '', ...others] = config.tenants.keys();
  const named = options.tenant ?? (others.length === 0 ? tenant : undefined);
  const own = config.agents.find((it) => it.tenantId === named)?.id;
  const made = await client
    .send<{ key: string; key_id: string }>('POST', '/v1/keys', {
      tenant_id: named,
      name: 'postern run',
      default_agent_id: own ?? ownAgentId('run', named ?? ''),
      permissions,
      expires_at: new Date(Date.now() + lifeMs).toISOString(),
    })
    .catch(() => undefined);
  if (!made) return undefined;
  const query = named === undefined ? {} : { tenant_id: named };
  return {
    key: made.key,
    async end() {
      await client.send('DELETE', `/v1/keys/${made.key_id}`, undefined, query);
    },
  };
}
