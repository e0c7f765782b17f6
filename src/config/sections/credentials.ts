import * as z from 'zod';
import {
  dottedName,
  flag,
  headerName,
  hostGlob,
  line,
  privateKey,
  secret,
  url,
  urlPath,
} from '../scalars.ts';
import { list, orNull, section, table } from '../section.ts';
import { configTenantId } from './agents.ts';

/*
 * Credentials that the gateway sends instead of the agent. `secretFields` names the fields that are
 * write-only. They stand in the file or, with `vault: true`, in the vault.
 */

const stored = orNull(secret);

const common = {
  name: dottedName.describe('Name of the credential, unique in its tenant.'),
  tenant: configTenantId,
  vault: flag.prefault(false).describe('Whether the secret is kept in the vault: postern credential set.'),
  hosts: list(hostGlob, 1000).describe('Hosts that it is sent to; empty: inbound routes only.'),
  paths: orNull(z.array(urlPath).min(1).max(1000).readonly()).describe('Globs of paths; null: all.'),
  agents: z
    .array(line)
    .max(1000)
    .readonly()
    .default(['*'])
    .describe('Agents whose calls get it, as ids or globs of names.'),
};

const bearer = section({
  type: z.literal('bearer').describe('Sent as Authorization: Bearer.'),
  ...common,
  value: stored.describe('The token.'),
});

const basic = section({
  type: z.literal('basic').describe('Sent as Authorization: Basic (RFC 7617).'),
  ...common,
  username: stored.describe('User name.'),
  password: stored.describe('Password.'),
});

// A field that frames the message, or that the gateway itself sets, cannot be a credential.
const settable = headerName.refine(
  (name) =>
    !/^(?:host|connection|content-length|transfer-encoding|te|trailer|upgrade|keep-alive|proxy-.*)$/i.test(
      name,
    ),
  { error: 'must be a header that a credential can set' },
);

const headers = section({
  type: z.literal('headers').describe('Sent as headers of any name.'),
  ...common,
  values: orNull(table(settable, secret, 32)).describe('Value of each header.'),
});

const query = section({
  type: z.literal('query').describe('Sent as a query parameter.'),
  ...common,
  parameter: orNull(line).describe('Name of the parameter; null: that of the credential.'),
  value: stored.describe('Its value.'),
});

/** The ways in which a client proves who it is (RFC 7591, 2: `token_endpoint_auth_method`). */
export const clientAuthentications = [
  'client_secret_basic',
  'client_secret_post',
  'private_key_jwt',
] as const;

const oauth = section({
  type: z
    .literal('oauth2_client_credentials')
    .describe('A token fetched with client credentials (RFC 6749, 4.4).'),
  ...common,
  token_url: url(['https', 'http']).describe('Where tokens are fetched.'),
  client_id: line.describe('Id of the client.'),
  client_authentication: z
    .enum(clientAuthentications)
    .default('client_secret_basic')
    .describe('How the client proves who it is: its secret in a header or in the form, or a signed token.'),
  client_secret: stored.describe('Secret of the client.'),
  private_key: orNull(privateKey).describe('PEM key that signs tokens of private_key_jwt.'),
  key_id: orNull(line).describe('Id of that key, sent as kid; null: none.'),
  scopes: list(line, 100).describe('Scopes that are asked for.'),
  audience: orNull(line).describe('Audience that is asked for.'),
});

const awsSigV4 = section({
  type: z.literal('aws_sigv4').describe('Calls are signed with AWS Signature Version 4.'),
  ...common,
  access_key_id: stored.describe('Id of the access key.'),
  secret_access_key: stored.describe('The access key.'),
  session_token: stored.describe('Session token of temporary keys.'),
  region: orNull(dottedName).describe('Region; null: read from the host.'),
  service: orNull(dottedName).describe('Service; null: read from the host.'),
});

export const credential = z.discriminatedUnion('type', [bearer, basic, headers, query, oauth, awsSigV4]);

/**
 * The fields by type that must be set unless the vault has them. A client that signs has `private_key`
 * instead.
 */
export const secretFields: Readonly<Record<string, readonly string[]>> = {
  bearer: ['value'],
  basic: ['username', 'password'],
  headers: ['values'],
  query: ['value'],
  oauth2_client_credentials: ['client_secret'],
  aws_sigv4: ['access_key_id', 'secret_access_key'],
};
