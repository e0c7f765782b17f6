import { Call, type Claimed } from '../call.ts';
import type { InboundRoute } from '../config/schema.ts';
import { GatewayError, toGatewayError } from '../errors.ts';
import { clientAddressOf } from '../http/client-address.ts';
import { refusalHeaders } from '../http/decision-headers.ts';
import type { NodeExchange } from '../http/node-exchange.ts';
import { answerProblem } from '../http/problem.ts';
import { newTraceId } from '../ids.ts';
import type { Log } from '../log.ts';
import type { Gate } from '../pipeline/gate.ts';
import { compilePathGlob, type PathGlob } from '../pipeline/path-glob.ts';
import { readingsOf } from '../policy/url-pattern.ts';
import { enforce } from './enforce.ts';
import { authenticateInbound, noRoute } from './inbound-auth.ts';
import { type InboundPath, isInboundTarget, parseInboundPath, targetBelow } from './inbound-path.ts';
import { readRequestHead } from './request-head.ts';

/** Whether a request target belongs to the inbound routes, so that `createInbound` answers it. */
export const isInbound = isInboundTarget;

/**
 * `/inbound/{prefix}/*` on both listeners, for agents that cannot use a proxy: the request is judged like any other and sent on to the
 * upstream of its route, with the stored credential of that. Every answer says what was decided.
 */
export function createInbound(gate: () => Gate, log: Log): (exchange: NodeExchange) => void {
  return function inbound(exchange) {
    const current = gate();
    const receivedAtMs = Date.now();
    const traceId = newTraceId(receivedAtMs);
    exchange.answer.once('close', current.enter());
    serve(current, exchange, traceId, receivedAtMs).catch((thrown: unknown) => {
      const error = toGatewayError(thrown);
      if (error.code === 'INTERNAL') log.error({ trace_id: traceId, err: error.cause }, 'a call failed');
      answerProblem(exchange, error, refusalHeaders(current.names, traceId, error.code));
    });
  };
}

async function serve(
  gate: Gate,
  exchange: NodeExchange,
  traceId: string,
  receivedAtMs: number,
): Promise<void> {
  const path = parseInboundPath(exchange.target);
  const route = path && gate.config.inbound.get(path.prefix);
  if (!path || !route) throw noRoute();
  const clientAddress = clientAddressOf(exchange.request, gate.config.control.trustedProxies);
  const head = readRequestHead(exchange.fields, gate.names.requestPrefix, gate.config.limits.maxHeaders);
  const { key, headers, query } = await authenticateInbound(
    gate,
    route,
    { headers: withoutWay(head.headers), query: path.query, clientAddress },
    receivedAtMs,
  );
  const target = targetBelow(route.upstream, { rest: path.rest, query });
  checkAllowed(route, exchange.method, path);
  gate.guard.checkHost(target.host, target.port);
  const bytesMax = bodyBytesMax(gate, route);
  const body = await readBody(exchange, bytesMax);
  const call = new Call({
    traceId,
    entrance: 'inbound',
    receivedAtMs,
    clientAddress,
    key,
    method: exchange.method,
    target,
    headers,
    body,
    contentType: head.contentType,
    contentEncoding: head.contentEncoding,
    claimed: claimedFor(route, head.claimed),
    lastHead: undefined,
    bodyBytesMax: bytesMax,
    isAwaited: () => !exchange.answer.destroyed,
  });
  const verdict = await gate.inspect(call);
  const { credential, tenantId } = route;
  enforce(gate, call, verdict, exchange, () =>
    credential === null ? undefined : gate.credentials.named(tenantId, credential),
  );
}

/** The agent of the route makes its calls, whatever they claim; who shows no key is not believed a name either. */
function claimedFor({ agentId, auth }: InboundRoute, claimed: Claimed = {}): Claimed {
  const { agentId: _, agentName, ...rest } = claimed;
  if (agentId !== null)
    return { ...rest, ...(auth.type === 'key' && agentName ? { agentName } : {}), agentId };
  return claimed;
}

/** What proxies before us say of the way to here: addresses of the inside, which are nothing for the upstream. */
const ofTheWay = /^(?:forwarded|x-forwarded-.*|x-real-ip|x-client-ip|true-client-ip|cf-connecting-ip)$/i;

const withoutWay = (headers: readonly string[]): readonly string[] =>
  headers.filter((_, i) => !ofTheWay.test(headers[i & ~1] as string));

const allowedPaths = new WeakMap<readonly string[], readonly PathGlob[]>();

/** Methods and paths that the route takes. A path that servers read in several ways must be allowed in each. */
function checkAllowed(route: InboundRoute, method: string, { rest }: InboundPath): void {
  const { allowedMethods } = route;
  if (allowedMethods.length > 0 && !allowedMethods.includes(method)) {
    throw new GatewayError('METHOD_NOT_ALLOWED', `Use ${allowedMethods.join(', ')} here.`);
  }
  if (route.allowedPaths.length === 0) return;
  let globs = allowedPaths.get(route.allowedPaths);
  if (!globs) {
    globs = route.allowedPaths.map(compilePathGlob);
    allowedPaths.set(route.allowedPaths, globs);
  }
  const origin = 'https://route';
  const readings = readingsOf(`${origin}${rest || '/'}`).map((url) => url.slice(origin.length));
  const isAllowed = readings.every((path) => globs.some((matches) => matches(path)));
  if (!isAllowed) throw new GatewayError('NOT_FOUND', 'The route does not lead to this path.');
}

const noBody = Buffer.alloc(0);

const bodyBytesMax = (gate: Gate, { maxBodyBytes, tenantId }: InboundRoute): number =>
  maxBodyBytes ?? gate.tenants.find(tenantId)?.maxBodyBytes ?? 0;

/** Never settles where the client leaves before its body is there: then there is nobody to answer. */
function readBody(exchange: NodeExchange, bytesMax: number): Promise<Buffer> {
  if (!exchange.hasBody) return Promise.resolve(noBody);
  return new Promise((resolve, reject) => exchange.collect(bytesMax, { done: resolve, failed: reject }));
}
