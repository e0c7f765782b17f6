import { z } from 'zod';
import { GatewayError } from '../../errors.ts';
import { isSecretType, secretSchemas, secretTypes } from '../../pipeline/credential-secret.ts';
import type { SealedCredential } from '../../state/store.ts';
import { auditEvent } from '../audit-event.ts';
import { pageByPlace, pageOf, pageQuery, time, toIso, toListAnswer } from '../fields.ts';
import { invalid } from '../invalid.ts';
import { route } from '../route.ts';

/* Credentials of the vault. They are written and never read: no answer and no audit entry has a secret in it. */

const tag = 'credentials';
const access = 'credentials:write';
const namePattern = /^[A-Za-z0-9._-]{1,64}$/;

const publicCredential = z
  .object({ name: z.string(), tenant_id: z.string(), type: z.string(), changed_at: time })
  .meta({ id: 'Credential' });

type PublicCredential = z.infer<typeof publicCredential>;

const toPublic = ({ name, tenantId, type, changedAtMs }: SealedCredential): PublicCredential => ({
  name,
  tenant_id: tenantId,
  type,
  changed_at: toIso(changedAtMs),
});

const ofTenant = z.object({ tenant_id: z.string().optional() });

/** `PUT /v1/credentials/{name}`: sets or replaces it; calls carry the new one from the next on. */
export const putCredential = route({
  method: 'PUT',
  path: '/v1/credentials/:name',
  tag,
  summary: 'Set a credential of the vault',
  access,
  body: ofTenant.extend({
    type: z.enum(secretTypes),
    secret: z.record(z.string(), z.unknown()).describe('The fields of the type; never answered.'),
  }),
  answer: publicCredential,
  async handle({ gate, caller, params, body, tenantId, nowMs }) {
    const tenant = tenantId();
    const place = { tenantId: tenant, name: nameOf(params['name']), type: body.type };
    const sealed = gate.vault.seal(place, JSON.stringify(parseSecret(body.type, body.secret)));
    const credential = { ...place, sealed, changedAtMs: nowMs };
    const { name: subject, type } = place;
    await gate.store.putCredential(
      credential,
      auditEvent({ caller, nowMs }, { tenantId: tenant, kind: 'credential.set', subject, details: { type } }),
    );
    return toPublic(credential);
  },
});

/** `GET /v1/credentials`: names and types of what the vault holds. */
export const listCredentials = route({
  method: 'GET',
  path: '/v1/credentials',
  tag,
  summary: 'List the credentials of the vault',
  access,
  query: ofTenant.extend(pageQuery),
  answer: pageOf(publicCredential),
  isListing: true,
  async handle({ gate, query, tenantId }) {
    const credentials = await gate.store.listCredentials(tenantId());
    return toListAnswer(
      pageByPlace(credentials, ({ name }) => name, query),
      toPublic,
    );
  },
});

/** `DELETE /v1/credentials/{name}`: calls that need it are answered CREDENTIAL_UNAVAILABLE from the next on. */
export const revokeCredential = route({
  method: 'DELETE',
  path: '/v1/credentials/:name',
  tag,
  summary: 'Take a credential out of the vault',
  access,
  query: ofTenant,
  answer: z.object({ name: z.string(), tenant_id: z.string(), status: z.literal('revoked') }),
  async handle({ gate, caller, params, tenantId, nowMs }) {
    const tenant = tenantId();
    const name = nameOf(params['name']);
    const what = { tenantId: tenant, kind: 'credential.revoked', subject: name, details: {} };
    if (!(await gate.store.removeCredential(tenant, name, auditEvent({ caller, nowMs }, what))))
      throw new GatewayError('NOT_FOUND', 'There is no such credential in the vault.');
    return { name, tenant_id: tenant, status: 'revoked' as const };
  },
});

function nameOf(written: string | undefined): string {
  if (written !== undefined && namePattern.test(written)) return written;
  throw invalid([{ path: 'name', message: 'must be 1 to 64 of letters, digits, ".", "_" and "-"' }]);
}

/** Messages name fields and never quote what stands in them. */
function parseSecret(type: string, secret: unknown): unknown {
  if (!isSecretType(type))
    throw invalid([{ path: 'type', message: `must be one of ${secretTypes.join(', ')}` }]);
  const parsed = secretSchemas[type].safeParse(secret);
  if (parsed.success) return parsed.data;
  throw invalid(
    parsed.error.issues.map(({ path, message }) => ({
      path: ['secret', ...path.slice(0, 1)].join('.'),
      message,
    })),
  );
}
