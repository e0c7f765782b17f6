import { z } from 'zod';
import { GatewayError } from '../../../core/errors.ts';
import { isSecretType, secretSchemas, secretTypes } from '../../../credentials/credential-secret.ts';
import { tokenPlace } from '../../../credentials/route-book.ts';
import type { SealedPlace } from '../../../credentials/vault.ts';
import type { Gate } from '../../../decision/gate.ts';
import type { AuditEvent, CredentialUse, SealedCredential, Store } from '../../../state/store.ts';
import { inWords } from '../../../util/schema-words.ts';
import { pageByPlace, pageOf, pageQuery, time, toIsoOrNull, toListAnswer } from '../../fields/fields.ts';
import { invalid } from '../../fields/invalid.ts';
import { shown } from '../../fields/shown.ts';
import { operatorOf, routesOf } from '../../route.ts';

/* Credentials of the vault are written and never read. No answer and no audit entry has a secret in it. */

const route = routesOf('credentials');
const access = 'credentials:write';
const namePattern = /^[A-Za-z0-9._-]{1,64}$/;

const publicCredential = z
  .object({
    name: z.string(),
    tenant_id: z.string(),
    type: z.string(),
    source: z.enum(['vault', 'file']).describe('Where its secret stands.'),
    changed_at: time.nullable().describe('Null for one of the file.'),
    uses: z.number().int().describe('Calls that were let out to go with it.'),
    last_used_at: time.nullable(),
  })
  .meta({ id: 'Credential' });

/** A credential as it is listed. One of the file has no `changedAtMs`. */
type Listed = Pick<SealedCredential, 'name' | 'tenantId' | 'type'> & { readonly changedAtMs?: number };

const toPublic = (it: Listed, use?: CredentialUse) =>
  shown(publicCredential, it, {
    source: it.changedAtMs === undefined ? 'file' : 'vault',
    changed_at: toIsoOrNull(it.changedAtMs ?? null),
    uses: use?.uses ?? 0,
    last_used_at: toIsoOrNull(use?.lastUsedAtMs ?? null),
  });

/** Returns the credentials that calls can use. One in the file goes before one of that name in the vault. */
async function allOf({ store, config }: Gate, tenantId: string): Promise<readonly Listed[]> {
  const ofFile = config.credentials.filter((it) => it.tenantId === tenantId && !it.vault);
  const names = new Set(ofFile.map((it) => it.name));
  const stored = await store.listCredentials(tenantId);
  return [
    ...ofFile.map(({ name, type }) => ({ name, tenantId, type })),
    ...stored.filter((it) => !names.has(it.name)),
  ];
}

const ofTenant = z.object({ tenant_id: z.string().optional() });

/** `PUT /v1/credentials/{name}` sets or replaces a credential. Calls carry the new one from the next on. */
export const putCredential = route('PUT /v1/credentials/:name', {
  summary: 'Set a credential of the vault',
  access,
  body: ofTenant.extend({
    type: z.enum(secretTypes),
    secret: z.record(z.string(), z.unknown()).describe('The fields of the type; never answered.'),
  }),
  answer: publicCredential,
  async handle({ gate, params, body, tenantId, nowMs, audit }) {
    const tenant = tenantId();
    const place = { tenantId: tenant, name: nameOf(params['name']), type: body.type };
    const sealed = gate.vault.seal(place, JSON.stringify(parseSecret(body.type, body.secret)));
    const credential = { ...place, sealed, changedAtMs: nowMs };
    const { name, type } = place;
    const [standing, uses] = await Promise.all([
      gate.store.listCredentials(tenant),
      gate.store.credentialUses(tenant),
    ]);
    const kind = standing.some((it) => it.name === name) ? 'credential.rotated' : 'credential.set';
    await gate.store.putCredential(credential, audit(kind, name, { type }));
    return toPublic(credential, uses.get(name));
  },
});

/** `GET /v1/credentials` lists names, types and uses of the credentials in vault and file. */
export const listCredentials = route('GET /v1/credentials', {
  summary: 'List the credentials',
  access,
  query: ofTenant.extend(pageQuery),
  answer: pageOf(publicCredential),
  isListing: true,
  async handle({ gate, query, tenantId }) {
    const tenant = tenantId();
    const [credentials, uses] = await Promise.all([allOf(gate, tenant), gate.store.credentialUses(tenant)]);
    const page = pageByPlace(credentials, ({ name }) => name, query);
    return toListAnswer(page, (it) => toPublic(it, uses.get(it.name)));
  },
});

/**
 * `POST /v1/credentials/rekey` seals anew what was not sealed with the first key of the vault, tokens of
 * routes too. It covers the tenant, or all tenants where the admin secret names none. Secrets that are sealed
 * with the other keys open as before, so that the work may be broken off and repeated. A secret that is
 * changed meanwhile is sealed anew already.
 */
export const rekeyCredentials = route('POST /v1/credentials/rekey', {
  summary: 'Seal all credentials with the new key of the vault',
  access: 'secret',
  body: ofTenant,
  answer: z.object({
    rekeyed: z.number().int(),
    unchanged: z.number().int().describe('Sealed with that key already.'),
    unreadable: z
      .array(z.object({ tenant_id: z.string(), name: z.string() }))
      .describe('Sealed with a key that is not there.'),
  }),
  async handle({ gate, caller, tenantId, namedTenant, nowMs }) {
    const { store, vault } = gate;
    const done = { rekeyed: 0, unchanged: 0, unreadable: [] as { tenant_id: string; name: string }[] };
    const isOfAll = caller.kind === 'admin' && namedTenant === undefined;
    for (const tenant of isOfAll ? gate.tenants.ids() : [tenantId()]) {
      for (const { name, place, from, reseal } of await sealedOf(store, tenant)) {
        const secret = vault.open(place, from);
        if (secret === undefined) done.unreadable.push({ tenant_id: tenant, name });
        else if (vault.isOfToday(place, from)) done.unchanged += 1;
        else {
          const by = { atMs: nowMs, operator: operatorOf(caller), tenantId: tenant };
          const event = (kind: string, subject: string) => ({ ...by, kind, subject, details: {} });
          if (await reseal(vault.seal(place, secret), event)) done.rekeyed += 1;
        }
      }
    }
    return done;
  },
});

/** A secret that the vault has sealed, and how it is sealed anew. */
interface Sealed {
  readonly name: string;
  readonly place: SealedPlace;
  readonly from: string;
  reseal(to: string, event: (kind: string, subject: string) => AuditEvent): Promise<boolean>;
}

/**
 * Returns the sealed secrets of a tenant: its credentials, and the tokens of its routes as `inbound/…`. No
 * credential's name has a slash.
 */
async function sealedOf(store: Store, tenantId: string): Promise<readonly Sealed[]> {
  const credentials = await store.listCredentials(tenantId);
  const routes = await store.routesOf(tenantId);
  return [
    ...credentials.map((it): Sealed => {
      const { name, sealed: from } = it;
      return {
        ...{ name, place: it, from },
        reseal: (to, event) =>
          store.resealCredential({ tenantId, name, from, to }, event('credential.rekeyed', name)),
      };
    }),
    ...[...routes.values()].flatMap((it): Sealed[] => {
      const { prefix, sealedToken: from } = it;
      if (from === null) return [];
      const reseal: Sealed['reseal'] = (to, event) =>
        store.resealRoute({ tenantId, prefix, from, to }, event('route.rekeyed', prefix));
      return [{ name: `inbound/${prefix}`, place: tokenPlace(it), from, reseal }];
    }),
  ];
}

/** `DELETE /v1/credentials/{name}` removes a credential. Calls that need it get CREDENTIAL_UNAVAILABLE. */
export const revokeCredential = route('DELETE /v1/credentials/:name', {
  summary: 'Take a credential out of the vault',
  access,
  query: ofTenant,
  answer: z.object({ name: z.string(), tenant_id: z.string(), status: z.literal('revoked') }),
  async handle({ gate, params, tenantId, audit }) {
    const tenant = tenantId();
    const name = nameOf(params['name']);
    if (!(await gate.store.removeCredential(tenant, name, audit('credential.revoked', name))))
      throw new GatewayError('NOT_FOUND', 'There is no such credential in the vault.');
    return { name, tenant_id: tenant, status: 'revoked' as const };
  },
});

function nameOf(written: string | undefined): string {
  if (written !== undefined && namePattern.test(written)) return written;
  throw invalid([{ path: 'name', message: 'must be 1 to 64 of letters, digits, ".", "_" and "-"' }]);
}

/** Returns the secret by the schema of its type. Messages of errors never quote what its fields hold. */
function parseSecret(type: string, secret: unknown): unknown {
  if (!isSecretType(type))
    throw invalid([{ path: 'type', message: `must be one of ${secretTypes.join(', ')}` }]);
  const parsed = secretSchemas[type].safeParse(secret);
  if (parsed.success) return parsed.data;
  throw invalid(
    parsed.error.issues.map((issue) => ({
      path: ['secret', ...issue.path.slice(0, 1)].join('.'),
      message: inWords(issue),
    })),
  );
}
