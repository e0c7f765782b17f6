import { z } from 'zod';
import { type ReadRoute, readRoute } from '../../credentials/route-book.ts';
import type { Gate } from '../../decision/gate.ts';
import type { StoredRoute } from '../../state/store.ts';
import { time, toIsoOrNull } from './fields.ts';
import { shown } from './shown.ts';

const publicAuth = z.object({
  type: z.enum(['key', 'token', 'ip', 'none']),
  header: z.string().optional(),
  query: z.string().optional(),
  allow: z.array(z.string()).optional(),
});

const publicScan = z.object({
  mode: z.string().nullable(),
  max_bytes: z.int().nullable(),
  beyond: z.string().nullable(),
});

export const publicRoute = z
  .object({
    prefix: z.string(),
    tenant_id: z.string(),
    url: z.string().describe('Where its callers send their calls.'),
    agent: z.uuid().nullable(),
    upstream: z.string(),
    tool: z.string().nullable(),
    credential: z.string().nullable(),
    auth: publicAuth,
    allowed_methods: z.array(z.string()),
    allowed_paths: z.array(z.string()),
    allowed_sites: z.array(z.string()),
    max_body_bytes: z.int().nullable(),
    response_scan: publicScan.nullable(),
    source: z.enum(['file', 'api']),
    created_at: time.nullable(),
    changed_at: time.nullable(),
    warnings: z.array(z.string()),
  })
  .meta({ id: 'InboundRoute' });

type PublicRoute = z.infer<typeof publicRoute>;

/** Shows a route of the configuration. */
export const showWritten = (gate: Gate, route: ReadRoute): PublicRoute =>
  toPublic(gate, route, { source: 'file', created_at: null, changed_at: null, warnings: warningsOf(route) });

/** Shows a route that the API made. A warning says where the token of its callers cannot be opened. */
export function showStored(gate: Gate, stored: StoredRoute): PublicRoute {
  const route = readRoute(stored);
  return toPublic(gate, route, {
    source: 'api',
    created_at: toIsoOrNull(stored.createdAtMs),
    changed_at: toIsoOrNull(stored.changedAtMs),
    warnings: [...warningsOf(route), ...(gate.routes.opens(stored) ? [] : [unopened])],
  });
}

const unopened =
  'The token of its callers cannot be opened with the key of the vault: calls are answered CREDENTIAL_UNAVAILABLE until the route is replaced.';

type Kept = Pick<PublicRoute, 'source' | 'created_at' | 'changed_at' | 'warnings'>;

const toPublic = (gate: Gate, it: ReadRoute, kept: Kept): PublicRoute =>
  shown(publicRoute, it, {
    url: `${gate.controlUrl}/inbound/${it.prefix}`,
    agent: it.agentId,
    auth: toPublicAuth(it.auth),
    response_scan: it.responseScan && shown(publicScan, it.responseScan, {}),
    ...kept,
  });

function toPublicAuth(auth: ReadRoute['auth']): z.infer<typeof publicAuth> {
  if (auth.type === 'ip') return { type: auth.type, allow: [...auth.allow] };
  if (auth.type !== 'token') return { type: auth.type };
  return {
    type: auth.type,
    ...(auth.header === null ? {} : { header: auth.header }),
    ...(auth.query === null ? {} : { query: auth.query }),
  };
}

const warningsOf = ({ credential, upstream, auth, allowedSites }: ReadRoute): string[] => [
  ...(credential !== null && upstream.startsWith('http:')
    ? ['The credential goes over plain http, for everybody on the way to read.']
    : []),
  ...(allowedSites.includes('*') && (auth.type === 'none' || auth.type === 'ip')
    ? ['Any web page that somebody opens who reaches the gateway may call this route.']
    : []),
  ...(auth.type === 'none' ? ['Anybody who reaches the gateway may call this route.'] : []),
];
