import { hash, timingSafeEqual } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import findMyWay from 'find-my-way';
import { parse as parseYaml } from 'yaml';
import type { z } from 'zod';
import { GatewayError, toGatewayError } from '../errors.ts';
import type { NodeExchange } from '../http/node-exchange.ts';
import { answerProblem } from '../http/problem.ts';
import type { Log } from '../log.ts';
import { checkAllowlist } from '../pipeline/allowlist.ts';
import type { Gate } from '../pipeline/gate.ts';
import { invalid } from './invalid.ts';
import type { ApiAnswer, Caller, Route } from './route.ts';

/** What a body of the API may add to the body of a call that it describes. */
const envelopeBytesMax = 65_536;
const urlLengthMax = 16_384;
/** Reading YAML is quadratic in places, and the event loop is everybody's. */
const yamlBytesMax = 65_536;

type Handler = (exchange: NodeExchange) => void;

/** The control plane: finds the route, authenticates, reads and validates the body, answers. */
export function createRouter(routes: readonly Route[], gate: () => Gate, log: Log): Handler {
  const router = findMyWay({ maxParamLength: 512, ignoreTrailingSlash: true });
  for (const route of routes) router.on(route.method, route.path, () => undefined, route);

  function find(method: string, path: string): { route: Route; params: Record<string, string | undefined> } {
    const found = router.find(method as Route['method'], path);
    if (found) return { route: found.store as Route, params: found.params };
    const allowed = routes.filter((it) => router.find(it.method, path)?.store === it).map((it) => it.method);
    if (allowed.length > 0) {
      throw new GatewayError('METHOD_NOT_ALLOWED', `Use ${[...new Set(allowed)].join(', ')} here.`);
    }
    throw new GatewayError('NOT_FOUND', 'There is no such endpoint.');
  }

  async function answer(exchange: NodeExchange): Promise<ApiAnswer> {
    const current = gate();
    const { request, target: url } = exchange;
    if (url.length > urlLengthMax || !url.startsWith('/')) {
      throw new GatewayError('VALIDATION_FAILED', 'The request target must be a path of at most 16 KB.');
    }
    const nowMs = Date.now();
    const mark = url.indexOf('?');
    const { route, params } = find(exchange.method, mark < 0 ? url : url.slice(0, mark));
    const authorization = request.headers.authorization ?? '';
    const clientAddress = request.socket.remoteAddress ?? '';
    const caller = await authenticate(current, route, { authorization, clientAddress }, nowMs);
    const raw = route.body ? await readBody(exchange, bodyBytesMax(current, caller)) : noBody;
    const body = route.body ? parseBody(route, raw, request.headers['content-type'] ?? '') : undefined;
    return route.handle({
      gate: current,
      caller,
      params,
      query: new URLSearchParams(mark < 0 ? '' : url.slice(mark + 1)),
      body,
      raw,
      authorization,
      clientAddress,
      nowMs,
    });
  }

  return function handle(exchange) {
    answer(exchange)
      .then(({ status, body, headers }) => send(exchange.answer, status, body, headers ?? []))
      .catch((thrown: unknown) => {
        const error = toGatewayError(thrown);
        if (error.code === 'INTERNAL') {
          log.error({ err: error.cause, path: exchange.target.split('?')[0] }, 'an endpoint failed');
        }
        answerProblem(exchange, error, []);
      });
  };
}

const noBody = Buffer.alloc(0);

async function authenticate(
  gate: Gate,
  route: Route,
  { authorization, clientAddress }: { authorization: string; clientAddress: string },
  nowMs: number,
): Promise<Caller> {
  if (route.access === 'public') return { kind: 'anybody' };
  const text = /^Bearer +(\S+)$/i.exec(authorization)?.[1] ?? '';
  const key = gate.readKey(text);
  if (!key) {
    if (route.access !== 'scan' && isAdminSecret(text, gate.config.control.adminSecret))
      return { kind: 'admin' };
    throw new GatewayError('INVALID_KEY', 'Send a valid API key: "Authorization: Bearer iv_live_…".');
  }
  const holder = await gate.store.identify(key.hash, nowMs);
  if (!holder.ok) throw new GatewayError('INVALID_KEY', holder.detail);
  if (!gate.tenants.find(holder.identity.tenantId))
    throw new GatewayError('INVALID_KEY', 'The key is not valid here.');
  checkAllowlist(holder.key, clientAddress);
  const { permissions } = holder.identity;
  const needed = route.access === 'secret' ? 'admin' : route.access;
  if (needed !== 'key' && !permissions.has(needed) && !permissions.has('admin')) {
    throw new GatewayError('FORBIDDEN', `The key lacks the permission "${needed}".`);
  }
  return { kind: 'key', key: holder.key, identity: holder.identity };
}

/** Compared as digests: equal lengths, constant time. Where there is no secret, none is right. */
function isAdminSecret(presented: string, secret: string | null): boolean {
  if (secret === null || presented === '') return false;
  return timingSafeEqual(hash('sha256', presented, 'buffer'), hash('sha256', secret, 'buffer'));
}

function bodyBytesMax(gate: Gate, caller: Caller): number {
  const tenant = caller.kind === 'key' ? gate.tenants.find(caller.identity.tenantId) : undefined;
  return (tenant?.maxBodyBytes ?? gate.config.limits.maxBodyBytes) + envelopeBytesMax;
}

function readBody(exchange: NodeExchange, bytesMax: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    exchange.request.once('close', () =>
      reject(new GatewayError('VALIDATION_FAILED', 'The request ended before its body was there.')),
    );
    exchange.collect(bytesMax, { done: resolve, failed: reject });
  });
}

function parseBody(route: Route, raw: Buffer, contentType: string): unknown {
  const type = (contentType.split(';')[0] ?? '').trim().toLowerCase();
  const isYaml = type === 'application/yaml' || type === 'text/yaml' || type === 'application/x-yaml';
  if (isYaml ? !route.takesYaml : type !== '' && type !== 'application/json' && !type.endsWith('+json')) {
    throw new GatewayError('UNSUPPORTED_MEDIA_TYPE', 'Send application/json.');
  }
  if (isYaml && raw.length > yamlBytesMax) {
    throw new GatewayError(
      'PAYLOAD_TOO_LARGE',
      `YAML may have ${yamlBytesMax} bytes here; send JSON, or put the policy into a file.`,
      {
        actual_bytes: raw.length,
        limit_bytes: yamlBytesMax,
      },
    );
  }
  let value: unknown;
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(raw);
    // Without its own voice: the parser would print what it doubts to standard error.
    value = isYaml ? parseYaml(text, { maxAliasCount: 50, logLevel: 'error' }) : JSON.parse(text);
  } catch {
    // The parser's own message quotes the text, which may hold a secret.
    throw invalid([
      { path: '', message: isYaml ? 'The body is not valid YAML.' : 'The body is not valid JSON.' },
    ]);
  }
  const result = route.body?.safeParse(value);
  if (result?.success) return result.data;
  throw invalid((result?.error.issues ?? []).map(toFieldError));
}

const toFieldError = (issue: z.core.$ZodIssue): { path: string; message: string } => ({
  path: issue.path.join('.'),
  message: issue.message,
});

function send(response: ServerResponse, status: number, body: unknown, headers: readonly string[]): void {
  if (response.destroyed) return;
  const bytes = Buffer.isBuffer(body) ? body : Buffer.from(`${JSON.stringify(body)}\n`);
  response.writeHead(status, [
    'Content-Type',
    'application/json',
    'Content-Length',
    String(bytes.length),
    'Cache-Control',
    'no-store',
    'X-Content-Type-Options',
    'nosniff',
    ...headers,
  ]);
  response.end(bytes);
}
