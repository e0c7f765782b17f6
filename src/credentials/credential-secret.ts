import * as z from 'zod';
import { matching, secret as text } from '../config/scalars.ts';
import type { CredentialConfig } from '../config/schema.ts';
import { clientAuthentications } from '../config/sections/credentials.ts';
import { ifValid, parseTarget } from '../core/target.ts';
import { parseSigningKey } from '../util/signing-key.ts';
import type { Secret } from './injection.ts';
import type { ClientProof } from './token-endpoint.ts';

export const secretTypes = [
  'bearer',
  'basic',
  'headers',
  'query',
  'oauth2_client_credentials',
  'aws_sigv4',
] as const satisfies readonly CredentialConfig['type'][];
type SecretType = (typeof secretTypes)[number];
export const isSecretType = (type: string): type is SecretType =>
  (secretTypes as readonly string[]).includes(type);

/**
 * Returns the secret that stands in the file; undefined where it does not suit the way that the client proves
 * itself.
 */
export function toSecret(config: CredentialConfig): Secret | undefined {
  switch (config.type) {
    case 'bearer':
      return { type: 'bearer', value: config.value ?? '' };
    case 'basic':
      return { type: 'basic', username: config.username ?? '', password: config.password ?? '' };
    case 'headers':
      return { type: 'headers', values: config.values ?? new Map() };
    case 'query':
      return { type: 'query', parameter: config.parameter ?? config.name, value: config.value ?? '' };
    case 'oauth2_client_credentials':
      return tokenSecret({
        ...tokenTermsOf(config),
        client_secret: config.clientSecret ?? undefined,
        private_key: config.privateKey ?? undefined,
      });
    case 'aws_sigv4':
      return awsSecret({
        ...awsTermsOf(config),
        access_key_id: config.accessKeyId ?? '',
        secret_access_key: config.secretAccessKey ?? '',
        session_token: config.sessionToken ?? undefined,
      });
  }
}

const fieldName = matching(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$/, 'must be the name of a header');
/** A text of one line that is sent in a form. */
const anyText = matching(/^[^\p{Cc}\p{Cs}]{1,4096}$/u, 'must be 1 to 4096 characters of one line');
const pemKey = z
  .string()
  .max(16_384)
  .refine((it) => parseSigningKey(it) !== undefined, { error: 'must be a private key in PEM that can sign' });
/** The name of a scope (RFC 6749, 3.3). */
const scope = matching(/^[!#-[\]-~]{1,256}$/, 'must be the name of a scope');
const tokenUrl = z
  .string()
  .max(4096)
  .refine((it) => /^https:/i.test(it) && ifValid(() => parseTarget(it)) !== undefined, {
    error: 'must be an https URL without user information',
  });
/** A name of AWS, which stands between commas and slashes in a signature. */
const awsName = matching(/^[A-Za-z0-9._-]{1,128}$/, 'must be 1 to 128 of letters, digits, ".", "_" and "-"');
const ofConnection =
  /^(?:host|connection|content-length|transfer-encoding|te|trailer|upgrade|keep-alive|proxy-.*)$/i;

/** The fields of a secret by type, as they are given to be sealed. */
export const secretSchemas = {
  bearer: z.strictObject({ value: text }),
  basic: z.strictObject({ username: text, password: text }),
  headers: z.strictObject({
    values: z
      .record(fieldName, text)
      .refine((it) => Object.keys(it).every((name) => !ofConnection.test(name)), {
        error: 'has a header that a credential cannot set',
      })
      .refine((it) => Object.keys(it).length >= 1 && Object.keys(it).length <= 32, {
        error: 'must have 1 to 32 headers',
      }),
  }),
  query: z.strictObject({ value: text }),
  // Fields of the configuration win over these. They are there for a credential that only a route names.
  oauth2_client_credentials: z
    .strictObject({
      client_secret: anyText.optional(),
      private_key: pemKey.optional(),
      client_id: anyText.optional(),
      token_url: tokenUrl.optional(),
      scopes: z.array(scope).max(100).optional(),
      audience: anyText.optional(),
      client_authentication: z.enum(clientAuthentications).optional(),
      key_id: anyText.optional(),
    })
    .refine((it) => (it.client_secret === undefined) !== (it.private_key === undefined), {
      error: 'must have either client_secret or private_key',
    }),
  aws_sigv4: z.strictObject({
    access_key_id: awsName,
    secret_access_key: text,
    session_token: text.optional(),
    region: awsName.optional(),
    service: awsName.optional(),
  }),
} as const satisfies Record<SecretType, z.ZodType>;

/**
 * Merges the sealed secret with the configuration. Returns undefined for an unknown type, and where a field
 * that is no secret is in neither.
 */
export function parseSecret(
  type: string,
  json: string,
  name: string,
  config?: CredentialConfig,
): Secret | undefined {
  if (!isSecretType(type)) return undefined;
  const fields: unknown = JSON.parse(json);
  switch (type) {
    case 'bearer':
      return { type, ...secretSchemas.bearer.parse(fields) };
    case 'basic':
      return { type, ...secretSchemas.basic.parse(fields) };
    case 'headers':
      return { type, values: new Map(Object.entries(secretSchemas.headers.parse(fields).values)) };
    case 'query': {
      const parameter = (config?.type === 'query' ? config.parameter : null) ?? name;
      return { type, parameter, ...secretSchemas.query.parse(fields) };
    }
    case 'oauth2_client_credentials': {
      const stored = secretSchemas.oauth2_client_credentials.parse(fields);
      const terms = config?.type === type ? tokenTermsOf(config) : undefined;
      const { token_url, client_id } = terms ?? stored;
      return token_url === undefined || client_id === undefined
        ? undefined
        : tokenSecret({ ...stored, ...terms, token_url, client_id });
    }
    case 'aws_sigv4': {
      const stored = secretSchemas.aws_sigv4.parse(fields);
      return awsSecret(config?.type === type ? { ...stored, ...awsTermsOf(config) } : stored);
    }
  }
}

type OfType<T extends SecretType> = Extract<CredentialConfig, { type: T }>;
type Stored<T extends SecretType> = z.infer<(typeof secretSchemas)[T]>;

const tokenTermsOf = (config: OfType<'oauth2_client_credentials'>) => ({
  token_url: config.tokenUrl,
  client_id: config.clientId,
  scopes: [...config.scopes],
  audience: config.audience ?? undefined,
  client_authentication: config.clientAuthentication,
  key_id: config.keyId ?? undefined,
});

type TokenFields = Stored<'oauth2_client_credentials'> & { token_url: string; client_id: string };

/** Returns the secret of a client; undefined where it does not suit the way that the client proves itself. */
function tokenSecret(fields: TokenFields): Secret | undefined {
  const proof = proofOf(fields);
  if (proof === undefined) return undefined;
  const { token_url, client_id, scopes = [], audience } = fields;
  return {
    type: 'oauth2_client_credentials',
    client: { tokenUrl: token_url, clientId: client_id, proof, scopes, audience },
  };
}

function proofOf({
  client_authentication,
  client_secret,
  private_key,
  key_id: keyId,
}: TokenFields): ClientProof | undefined {
  const byDefault = private_key === undefined ? 'client_secret_basic' : 'private_key_jwt';
  const method = client_authentication ?? byDefault;
  if (method !== 'private_key_jwt')
    return client_secret === undefined ? undefined : { method, clientSecret: client_secret };
  const signing = private_key === undefined ? undefined : parseSigningKey(private_key);
  return signing && { method, signing, keyId };
}

const awsTermsOf = ({ region, service }: OfType<'aws_sigv4'>) => ({
  ...(region === null ? {} : { region }),
  ...(service === null ? {} : { service }),
});

const awsSecret = (fields: Stored<'aws_sigv4'>): Secret => ({
  type: 'aws_sigv4',
  keys: {
    accessKeyId: fields.access_key_id,
    secretAccessKey: fields.secret_access_key,
    sessionToken: fields.session_token,
  },
  scope: { region: fields.region, service: fields.service },
});
