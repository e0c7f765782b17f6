import * as z from 'zod';
import {
  addressRange,
  configUuid,
  dottedName,
  headerName,
  hostGlob,
  line,
  method,
  parsed,
  secret,
  size,
  urlPath,
} from '../scalars.ts';
import { list, orNull, section } from '../section.ts';
import { configTenantId } from './agents.ts';
import { responseScanOverride } from './daemon.ts';

const byKey = section({ type: z.literal('key').describe('A Bearer key of the tenant.') });
const byNobody = section({ type: z.literal('none').describe('Anybody may call.') });
const byToken = section({
  type: z.literal('token').describe('A secret that the platform sends.'),
  header: orNull(headerName).describe('Header that carries it.'),
  query: orNull(line).describe('Or the query parameter that does.'),
  value: secret.describe('The secret.'),
});
const byAddress = section({
  type: z.literal('ip').describe('Callers from these addresses.'),
  allow: list(addressRange, 1000).describe('Address ranges; empty: nobody.'),
});

const auth = z
  .union([z.enum(['key', 'none']), z.discriminatedUnion('type', [byKey, byToken, byAddress, byNobody])])
  .transform((written) => (typeof written === 'string' ? Object.freeze({ type: written }) : written))
  .prefault('key')
  .describe('How callers of the route are known: key, none, or a mapping of type token or ip.');

const upstreamUrl = parsed((text) => {
  const found = /[\s\0]/.test(text) ? null : URL.parse(text);
  if (!found?.host || !['http:', 'https:'].includes(found.protocol)) return undefined;
  if (found.username || found.password || found.search || found.hash) return undefined;
  return found.href.replace(/\/$/, '');
}, 'must be an http or https URL without user information, query and fragment');

export const routePrefix = z
  .string()
  .regex(/^[a-z0-9-]{1,32}$/, { error: 'must be 1 to 32 of a-z, 0-9 and "-"' })
  .describe('First part of the path: /inbound/<prefix>/…; unique over the daemon.');

/** The fields of a route beside prefix and tenant, in the file and in the API. */
export const routeFields = {
  agent: orNull(configUuid).describe("Agent that the calls are made by; null: the key's."),
  upstream: upstreamUrl.describe('Where calls go; the rest of the path and the query are appended.'),
  tool: orNull(dottedName).describe('Tool of the catalogue; null: found by host.'),
  credential: orNull(dottedName).describe('Credential of the tenant that is sent.'),
  auth,
  allowed_methods: list(method, 32).describe('Methods; empty: all.'),
  allowed_paths: list(urlPath, 1000).describe('Globs over the rest of the path; empty: all.'),
  allowed_sites: list(hostGlob, 1000).describe(
    'With auth none and ip: hosts or globs that Host, Origin and Referer may name beside the daemon itself; "*": any.',
  ),
  max_body_bytes: orNull(size()).describe(
    "Body limit of the route; null: that of its tool, or the tenant's.",
  ),
  response_scan: orNull(responseScanOverride).describe('Over response_scan of the tenant.'),
};

export const inbound = section({ prefix: routePrefix, tenant: configTenantId, ...routeFields });
export const routeSettings = section(routeFields);
