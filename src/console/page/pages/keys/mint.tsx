import { useEffect, useState } from 'preact/hooks';
import type { MintedKey, Tenant } from '../../../../api/answers.ts';
import { permissions } from '../../../../core/permissions.ts';
import { useNames } from '../../data/agents.ts';
import { chosenTenant, post, session } from '../../data/api.ts';
import { type ProxyPlace, proxyPlace } from '../../data/config.ts';
import { agentExports } from '../../data/exports.ts';
import { useOne } from '../../data/pages.ts';
import { useAction } from '../../data/resource.ts';
import { href } from '../../data/route.ts';
import { Command } from '../../kit/bits.tsx';
import { Dialog } from '../../kit/dialog.tsx';
import { AgentOptions, Form, Tabs } from '../../kit/form.tsx';

const sets: Readonly<Record<string, readonly string[]>> = {
  'An agent': ['scan'],
  'A developer': [
    'scan',
    'policies:read',
    'policies:write',
    'keys:read',
    'keys:ephemeral',
    'activity:read',
    'usage:read',
  ],
  'A reviewer': ['activity:read', 'policies:read', 'usage:read', 'approvals:decide', 'incidents:write'],
  'An auditor': ['activity:read', 'policies:read', 'keys:read', 'usage:read'],
};

/** Returns a UUID of version 4. `randomUUID` is not there on plain http. */
function newUuid(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = Array.from(bytes, (it) => it.toString(16).padStart(2, '0')).join('');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

interface MintOf {
  readonly onClose: () => void;
  readonly onMinted: (key: MintedKey) => void;
}

export function MintForm({ onClose, onMinted }: MintOf) {
  const names = useNames();
  const tenantId = chosenTenant.value ?? session.value?.tenant_id;
  const tenants = useOne<{ items: readonly Tenant[] }>('/v1/tenants');
  const environments = tenants.data?.items.find((it) => it.tenant_id === tenantId)?.environments ?? [];
  const [chosen, setChosen] = useState<readonly string[]>(sets['An agent'] ?? []);
  const mint = useAction(async (form: HTMLFormElement) => {
    const fields = new FormData(form);
    const text = (name: string) => String(fields.get(name) ?? '').trim();
    const days = Number(text('days'));
    const addresses = text('addresses')
      .split(/[\s,]+/)
      .filter((it) => it !== '');
    const key = await post<MintedKey>('/v1/keys', {
      name: text('name'),
      default_agent_id: text('agent') || newUuid(),
      permissions: chosen,
      ...(text('env') === '' ? {} : { env_name: text('env') }),
      ...(days > 0 ? { expires_at: new Date(Date.now() + days * 86_400_000).toISOString() } : {}),
      ...(addresses.length > 0 ? { ip_allowlist: addresses } : {}),
    });
    onMinted(key);
  });
  return (
    <Dialog title="Mint a key" onClose={onClose} isWide>
      <Form action={mint}>
        <div class="cols">
          <label>
            Name
            <input name="name" required maxLength={128} placeholder="support bot, production" />
          </label>
          <label>
            Agent
            <select name="agent">
              <option value="">A new agent</option>
              <AgentOptions names={names} />
            </select>
          </label>
          {environments.length > 1 && (
            <label>
              Environment
              <select name="env">
                {environments.map((it) => (
                  <option key={it}>{it}</option>
                ))}
              </select>
            </label>
          )}
          <label>
            Ends after days (empty: never)
            <input name="days" type="number" min={1} max={3650} />
          </label>
          <label>
            Only from these addresses (empty: any)
            <input name="addresses" placeholder="10.0.0.0/8" />
          </label>
        </div>
        <fieldset>
          <legend>What it may do</legend>
          <div class="row">
            {Object.entries(sets).map(([word, set]) => (
              <button key={word} type="button" class="small" onClick={() => setChosen(set)}>
                {word}
              </button>
            ))}
          </div>
          <div class="permissions">
            {permissions.map((it) => (
              <label key={it}>
                <input
                  type="checkbox"
                  checked={chosen.includes(it)}
                  onChange={() =>
                    setChosen(chosen.includes(it) ? chosen.filter((own) => own !== it) : [...chosen, it])
                  }
                />
                {it}
              </label>
            ))}
          </div>
        </fieldset>
        <div>
          <button type="submit" disabled={mint.isRunning || chosen.length === 0}>
            Mint it
          </button>
        </div>
      </Form>
    </Dialog>
  );
}

/** Shows the text of a new key, which is seen only here, with all that an agent needs to use it. */
export function Minted({ of, onDone }: { of: MintedKey; onDone: () => void }) {
  const [where, setWhere] = useState<ProxyPlace>();
  const [word, setWord] = useState('Shell');
  useEffect(() => {
    void proxyPlace().then(setWhere);
  }, []);
  const ways = where ? agentExports(of.key, where) : [];
  const way = ways.find((it) => it.word === word);
  return (
    <section class="secret-once" aria-label="The new key">
      <p>
        <strong>{of.name}</strong> is minted. This is the only time that its text is shown.
      </p>
      <Command text={of.key} label="The text of the key" />
      <Tabs label="Where it is used" words={ways.map((it) => it.word)} chosen={word} onChoose={setWord} />
      {way && <Command text={way.text} label={`For ${way.word}`} />}
      {where && !where.isKnown && (
        <p class="hint">Put in the address of the proxy (proxy.listen) where it is another one.</p>
      )}
      <div class="row">
        <button type="button" class="plain" onClick={onDone}>
          I have stored it
        </button>
        <a href={href('activity', { agent_id: of.default_agent_id })}>Watch its calls arrive</a>
      </div>
    </section>
  );
}
