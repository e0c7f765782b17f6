import { randomUUID } from 'node:crypto';
import type { Test } from 'tap';
import type { Lab, Reply, Tenant } from './lab.ts';

const all = [
  'scan',
  'policies:read',
  'policies:write',
  'keys:read',
  'keys:ephemeral',
  'keys:revoke',
  'activity:read',
  'usage:read',
  'agents:write',
  'incidents:write',
  'approvals:decide',
  'credentials:write',
  'routes:write',
];

/** Each endpoint of the control plane: the permissions of which a key needs one, and whether the administration secret opens it. */
const endpoints: Readonly<Record<string, readonly [anyOf: readonly string[], isForSecret: boolean]>> = {
  'POST /v1/scan': [['scan'], false],
  'POST /v1/scan/response': [['scan'], false],
  'POST /v1/explain': [['scan'], false],
  'POST /v1/a2a/scan': [['scan'], false],
  'POST /v1/keys': [['admin'], true],
  'POST /v1/keys/ephemeral': [['keys:ephemeral'], false],
  'GET /v1/keys': [['keys:read'], true],
  'GET /v1/keys/{key_id}': [['keys:read'], true],
  'PATCH /v1/keys/{key_id}': [['admin'], true],
  'GET /v1/keys/{key_id}/audit': [['keys:read'], true],
  'DELETE /v1/keys/{key_id}': [['keys:revoke'], true],
  'GET /v1/agents': [['activity:read', 'agents:write'], true],
  'GET /v1/agents/{agent_id}': [['activity:read', 'agents:write'], true],
  'PATCH /v1/agents/{agent_id}': [['agents:write'], true],
  'POST /v1/agents/{agent_id}/suspend': [['agents:write'], true],
  'POST /v1/agents/{agent_id}/reactivate': [['agents:write'], true],
  'POST /v1/agents/{agent_id}/reset-trust': [['agents:write'], true],
  'GET /v1/agents/suspension': [['activity:read', 'agents:write'], true],
  'POST /v1/agents/suspend': [['agents:write'], true],
  'POST /v1/agents/reactivate': [['agents:write'], true],
  'PUT /v1/credentials/{name}': [['credentials:write'], true],
  'GET /v1/credentials': [['credentials:write'], true],
  'DELETE /v1/credentials/{name}': [['credentials:write'], true],
  'POST /v1/credentials/rekey': [['admin'], true],
  'GET /v1/inbound-routes': [['routes:write'], true],
  'POST /v1/inbound-routes': [['routes:write'], true],
  'GET /v1/inbound-routes/{prefix}': [['routes:write'], true],
  'PUT /v1/inbound-routes/{prefix}': [['routes:write'], true],
  'DELETE /v1/inbound-routes/{prefix}': [['routes:write'], true],
  'GET /v1/usage': [['usage:read'], true],
  'GET /v1/tenants': [['admin'], true],
  'GET /v1/feeds': [[], true],
  'POST /v1/feeds/{name}/refresh': [['admin'], true],
  'GET /v1/tools': [[], true],
  'GET /v1/tools/{name}': [[], true],
  'GET /v1/mcp-servers': [['policies:read'], true],
  'POST /v1/mcp-servers/{server_id}/accept': [['approvals:decide'], true],
  'GET /v1/approvals': [['activity:read', 'approvals:decide'], true],
  'GET /v1/approvals/{approval_id}': [['activity:read', 'approvals:decide'], true],
  'GET /v1/approvals/{approval_id}/status': [[], true],
  'GET /v1/approvals/{approval_id}/wait': [[], true],
  'POST /v1/approvals/{approval_id}/decision': [['approvals:decide'], true],
  'POST /v1/policies/apply': [['policies:write'], true],
  'POST /v1/policies/validate': [['policies:read', 'policies:write'], true],
  'GET /v1/policies': [['policies:read'], true],
  'POST /v1/policies/simulate': [['policies:read', 'policies:write'], true],
  'GET /v1/policies/by-name/{name}': [['policies:read'], true],
  'GET /v1/policies/by-name/{name}/versions': [['policies:read'], true],
  'DELETE /v1/policies/by-name/{name}': [['policies:write'], true],
  'GET /v1/incidents': [['activity:read', 'incidents:write'], true],
  'GET /v1/incidents/{incident_id}': [['activity:read', 'incidents:write'], true],
  'POST /v1/incidents': [['incidents:write'], true],
  'PATCH /v1/incidents/{incident_id}': [['incidents:write'], true],
  'POST /v1/incidents/{incident_id}/transition': [['incidents:write'], true],
  'POST /v1/incidents/{incident_id}/notes': [['incidents:write'], true],
  'GET /v1/traces': [['activity:read'], true],
  'GET /v1/traces/export': [['activity:read'], true],
  'GET /v1/traces/stream': [['activity:read'], true],
  'GET /v1/events': [['activity:read', 'approvals:decide', 'incidents:write'], true],
  'GET /v1/traces/{trace_id}': [['activity:read'], true],
  'GET /v1/traces/{trace_id}/exception': [['policies:read'], true],
  'GET /v1/stats': [['activity:read', 'usage:read'], true],
  'POST /v1/risk/replay': [['activity:read'], true],
  'GET /v1/audit': [['activity:read'], true],
  'GET /v1/notifications': [['activity:read'], true],
  'GET /v1/notifications/failed': [['activity:read'], true],
  'POST /v1/notifications/failed/{id}/replay': [['admin'], true],
  'POST /v1/notifications/replay': [['admin'], true],
  'POST /v1/notifications/test': [['admin'], true],
  'GET /v1/console/sessions': [['admin'], true],
  'DELETE /v1/console/sessions/{session_id}': [['admin'], true],
  'GET /v1/config': [['admin'], true],
};

/** A session of the console is that of a cookie, and a secret in the body opens one. */
const signIn = 'POST /v1/console/sessions';
const ofCookie = ['GET /v1/console/sessions/current', 'DELETE /v1/console/sessions/current'];

/** What lifts a measure that all keys are under is not for keys to do, nor is what shows other tenants. */
const forSecretAlone: readonly string[] = ['POST /v1/agents/reactivate', 'GET /v1/config'];

const open = ['GET /healthz', 'GET /metrics', 'GET /readyz', 'GET /v1/openapi.json'];

/** Verified by the signature of who sends. */
const signed = 'POST /v1/integrations/slack/interactions';

/** Decisions 3, permissions: every endpoint with a key that lacks just the one, with one that has no other, and with the secret. */
export async function permissions(t: Test, lab: Lab): Promise<void> {
  const tenant = await lab.tenant('permissions');
  const names = Object.keys(endpoints);

  await t.test('Permissions: every endpoint is in the table', async (t) => {
    const { paths } = (await lab.call({ method: 'GET', path: '/v1/openapi.json' })).body;
    const described = Object.entries<object>(paths).filter(([path]) => !path.startsWith('/inbound/'));
    const served = described.flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
    t.same(served.sort(), [...names, ...open, ...ofCookie, signIn, signed].sort());
    for (const name of open) t.equal((await ask(lab, tenant, name, undefined)).status, 200, `${name}: open`);
    for (const name of ofCookie)
      t.equal((await ask(lab, tenant, name, lab.adminSecret)).status, 401, `${name}: no secret is a session`);
    t.equal(
      (await ask(lab, tenant, signIn, lab.adminSecret)).status,
      400,
      `${signIn}: the secret is in the body`,
    );
    const unsigned = await ask(lab, tenant, signed, lab.adminSecret);
    t.equal(unsigned.status, 415, `${signed}: neither keys nor the secret open it`);
  });

  await t.test('Authentication 1: every other endpoint takes a Bearer key', async (t) => {
    for (const name of names) {
      const reply = await ask(lab, tenant, name, undefined);
      t.match(reply, { status: 401, body: { code: 'INVALID_KEY' } }, `${name}: 401 without a key`);
      t.equal(reply.headers.get('www-authenticate'), 'Bearer', `${name}: RFC 9110, 11.6.1`);
    }
  });

  await t.test('Permissions: a key that lacks one is refused by name, and needs no other', async (t) => {
    const keys = new Map<string, Promise<string>>();
    const keyWith = (granted: readonly string[]): Promise<string> => {
      const id = granted.join();
      const known = keys.get(id) ?? tenant.mint({ permissions: granted }).then(({ key }) => key);
      keys.set(id, known);
      return known;
    };
    for (const [name, [anyOf]] of Object.entries(endpoints)) {
      if (anyOf.length > 0) {
        const lacking = await keyWith(all.filter((it) => !anyOf.includes(it)));
        const reply = await ask(lab, tenant, name, lacking);
        t.match(
          reply,
          { status: 403, body: { code: 'FORBIDDEN', reason: 'FORBIDDEN' } },
          `${name}: without ${anyOf.join(' and ')}`,
        );
        for (const it of anyOf) t.ok(reply.body.detail?.includes(it), `${name}: names ${it}`);
      }
      for (const granted of [...anyOf, 'admin']) {
        // A child may scan, so that its parent must be able to.
        const also = granted === 'keys:ephemeral' ? ['scan'] : [];
        const reply = await ask(lab, tenant, name, await keyWith([granted, ...also]));
        if (forSecretAlone.includes(name)) t.equal(reply.status, 403, `${name}: ${granted} is not enough`);
        else t.notOk([401, 403].includes(reply.status), `${name}: ${granted} is enough`);
      }
      if (anyOf.length > 0) continue;
      const bare = await ask(lab, tenant, name, await keyWith(['usage:read']));
      t.equal(bare.status, name.includes('{') ? 404 : 200, `${name}: any valid key`);
    }
  });

  await t.test(
    'Permissions: the administration secret opens management, and nothing that agents use',
    async (t) => {
      for (const [name, [, isForSecret]] of Object.entries(endpoints)) {
        const reply = await ask(lab, tenant, name, lab.adminSecret);
        if (isForSecret) t.notOk([401, 403].includes(reply.status), `${name}: the secret opens it`);
        else t.match(reply, { status: 401, body: { code: 'INVALID_KEY' } }, `${name}: not with the secret`);
      }
    },
  );

  await t.test('Permissions: the administration secret acts for the tenant that is named', async (t) => {
    const authorization = `Bearer ${lab.adminSecret}`;
    const usage = (query: string) => lab.call({ method: 'GET', path: `/v1/usage${query}`, authorization });
    t.match(await usage('?tenant_id=permissions'), { status: 200 }, 'in the query');
    t.match(
      await usage(''),
      { status: 400, body: { errors: [{ path: 'tenant_id' }] } },
      'one of many: none is meant',
    );
    t.match(await usage('?tenant_id=nobody'), { status: 404, body: { code: 'NOT_FOUND' } }, 'an unknown one');
    t.match(
      await usage('?tenant_id=..%2Fx'),
      { status: 404, body: { code: 'NOT_FOUND' } },
      'one that cannot be',
    );
    const rules = [{ rule_id: 'r', match: { tool_name: 'nothing' }, action: 'DENY' }];
    const body = { tenant_id: 'permissions', name: 'by the secret', rules };
    t.match(
      await lab.call({ method: 'POST', path: '/v1/policies/apply', authorization, body }),
      { status: 200, body: { name: 'by the secret' } },
      'in the body',
    );
    t.match(
      await tenant.api('GET', '/v1/policies/by-name/by%20the%20secret'),
      { status: 200 },
      'and of that tenant',
    );
    t.match(
      await tenant.api('GET', '/v1/usage?tenant_id=foreign'),
      { status: 403, body: { code: 'FORBIDDEN' } },
      'a key acts for its own tenant only',
    );
  });
}

/** One request to the endpoint, as it would be sent to something that is not there; `secret` as Bearer. */
function ask(lab: Lab, tenant: Tenant, name: string, secret: string | undefined): Promise<Reply> {
  const [method = '', template = ''] = name.split(' ');
  const path = template.replace('{name}', 'unknown').replace(/\{\w+\}/g, randomUUID());
  const isWrite = method !== 'GET' && method !== 'DELETE';
  return lab.call({
    method,
    path: secret === lab.adminSecret ? `${path}?tenant_id=${tenant.id}` : path,
    ...(secret === undefined ? {} : { authorization: `Bearer ${secret}` }),
    ...(isWrite ? { body: {} } : {}),
    headers: lab.fromElsewhere(),
  });
}
