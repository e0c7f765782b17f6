import { Call, type Claimed, type PresentedKey, type ReadHead, type Verdict } from '../call.ts';
import { GatewayError, toGatewayError } from '../errors.ts';
import { decisionHeaders, refusalHeaders } from '../http/decision-headers.ts';
import type { Exchange } from '../http/exchange.ts';
import { answerProblem } from '../http/problem.ts';
import { newTraceId } from '../ids.ts';
import type { Log } from '../log.ts';
import type { Gate } from '../pipeline/gate.ts';
import { parseAuthority, parseTarget, type Target, targetWithin, toAuthority } from '../target.ts';
import { toUpstreamHeaders } from '../upstream/headers.ts';
import type { KeyConnections } from './key-connections.ts';
import { readProxyAuthorization } from './proxy-authorization.ts';
import { type RequestHead, readRequestHead } from './request-head.ts';

/** A CONNECT that was answered 200: what all requests inside it share. */
export interface Tunnel {
  readonly scheme: 'http' | 'https';
  readonly host: string;
  readonly port: number;
  readonly key: PresentedKey;
  readonly claimed: Claimed;
  readonly tenantId: string;
  readonly clientAddress: string;
  /** The name in the TLS handshake; '' where the client sent none, as for addresses (RFC 6066, 3). */
  readonly serverName: string;
  readonly lastHead: ReadHead;
}

/** Who sends a request, and where to. */
interface Addressed {
  readonly target: Target;
  readonly key: PresentedKey;
  readonly claimed: Claimed;
  readonly tenantId: string;
  readonly clientAddress: string;
}

const via = '1.1 postern';

/**
 * The forward proxy's requests: from inside a tunnel, or in absolute-form (RFC 9112, 3.2.2) on the listener itself. Each is made a `Call`,
 * inspected, and sent on or answered.
 */
export function createForward(gate: () => Gate, connections: KeyConnections, log: Log) {
  return function forward(exchange: Exchange, tunnel: Tunnel | undefined): void {
    const current = gate();
    const { names } = current;
    const receivedAtMs = Date.now();
    const traceId = newTraceId(receivedAtMs);
    /** Whatever goes wrong before there is a verdict ends here. */
    const refuse = (thrown: unknown): void => {
      const error = inProxyTerms(toGatewayError(thrown), tunnel);
      if (error.code === 'INTERNAL') log.error({ trace_id: traceId, err: error.cause }, 'a call failed');
      answerProblem(exchange, error, refusalHeaders(names, traceId, error.code));
    };
    exchange.answer.once('close', current.enter());

    const proceed = (head: RequestHead, from: Addressed): void => {
      const inspect = (body: Buffer): void => {
        const call = new Call({
          traceId,
          entrance: 'forward',
          receivedAtMs,
          clientAddress: from.clientAddress,
          key: from.key,
          method: exchange.method,
          target: from.target,
          headers: head.headers,
          body,
          contentType: head.contentType,
          contentEncoding: head.contentEncoding,
          claimed: head.claimed ? { ...from.claimed, ...head.claimed } : from.claimed,
          lastHead: tunnel?.lastHead,
        });
        judge(current, call, exchange).catch(refuse);
      };
      if (!exchange.hasBody) inspect(noBody);
      else {
        const bytesMax = current.tenants.find(from.tenantId)?.maxBodyBytes ?? 0;
        exchange.collect(bytesMax, { done: inspect, failed: refuse });
      }
    };

    try {
      const head = readRequestHead(exchange.fields, names.requestPrefix, current.config.limits.maxHeaders);
      if (tunnel) proceed(head, addressedInside(tunnel, exchange, head));
      else
        authenticated(current, connections, exchange, head)
          .then((from) => proceed(head, from))
          .catch(refuse);
    } catch (error) {
      refuse(error);
    }
  };
}

/** Asks the pipeline and does what it says. Rejects when there is no verdict. */
async function judge(gate: Gate, call: Call, exchange: Exchange): Promise<void> {
  const verdict = await gate.inspect(call);
  enforce(gate, call, verdict, exchange);
}

const noBody = Buffer.alloc(0);

/** CONNECT, Host and, where it is absolute, the request target must name one origin; else the request is misdirected. */
function addressedInside(tunnel: Tunnel, { target: url }: Exchange, head: RequestHead): Addressed {
  const { scheme, host, port, serverName } = tunnel;
  if (serverName !== '' && serverName !== host) throw misdirected(host);
  const target = url.startsWith('/') ? targetWithin(scheme, host, port, url) : parseTarget(url);
  if (target.host !== host || target.port !== port || target.scheme !== scheme) throw misdirected(host);
  agreeWithHost(head, target);
  const { key, claimed, tenantId, clientAddress } = tunnel;
  return { target, key, claimed, tenantId, clientAddress };
}

/** Every request in absolute-form says itself who sends it. */
async function authenticated(
  gate: Gate,
  connections: KeyConnections,
  { target: url, socket }: Exchange,
  head: RequestHead,
): Promise<Addressed> {
  const user = readProxyAuthorization(head.proxyAuthorization, gate.readKey);
  const holder = user && (await gate.store.identify(user.key.hash, Date.now()));
  const tenant = holder?.ok ? gate.tenants.find(holder.identity.tenantId) : undefined;
  if (!user || !tenant) throw proxyAuthRequired();
  connections.claim(socket, user.key.hash, tenant.maxConnectionsPerAgent);
  if (url.startsWith('/')) {
    throw new GatewayError('NOT_FOUND', 'This is a forward proxy: send an absolute URL, or use CONNECT.');
  }
  const target = parseTarget(url);
  if (target.scheme !== 'http' && target.scheme !== 'https') {
    throw new GatewayError('VALIDATION_FAILED', 'The proxy forwards http and https.');
  }
  agreeWithHost(head, target);
  gate.guard.checkHost(target.host, target.port);
  const tenantId = tenant.id;
  return {
    target,
    key: user.key,
    claimed: user.claimed,
    tenantId,
    clientAddress: socket.remoteAddress ?? '',
  };
}

/** Host must name where the request goes (RFC 9112, 3.2): a field that says something else is an attack or a mistake. */
function agreeWithHost(head: RequestHead, target: Target): void {
  if (head.host === undefined) return;
  if (head.host === toAuthority(target.scheme, target.host, target.port)) return;
  const named = parseAuthority(head.host, target.scheme === 'http' ? 80 : 443);
  if (named?.host !== target.host || named.port !== target.port) throw misdirected(target.host);
}

const misdirected = (host: string): GatewayError =>
  new GatewayError(
    'MISDIRECTED_REQUEST',
    `This connection leads to ${host}; open another one for another host.`,
  );

export const proxyAuthRequired = (): GatewayError =>
  new GatewayError(
    'PROXY_AUTH_REQUIRED',
    'Send an API key: Proxy-Authorization: Basic base64("agent:<key>").',
  );

/** Outside a tunnel an invalid key is a matter between client and proxy (407); inside one, 401 says the same of the origin's answer. */
function inProxyTerms(error: GatewayError, tunnel: Tunnel | undefined): GatewayError {
  return error.code === 'INVALID_KEY' && !tunnel ? proxyAuthRequired() : error;
}

function enforce(gate: Gate, call: Call, verdict: Verdict, exchange: Exchange): void {
  const ours = decisionHeaders(gate.names, call.traceId, verdict);
  if (verdict.decision === 'DENY' || verdict.decision === 'REQUIRE_APPROVAL') {
    answerProblem(exchange, toRefusal(gate, call, verdict), ours);
    return;
  }
  const { target } = call;
  const sanitized = verdict.sanitizedBody;
  const isRewritten = sanitized !== undefined && sanitized !== call.body;
  const fields = isRewritten ? withoutBodyFields(call.headers) : call.headers;
  const body = sanitized ?? call.body;
  gate.upstream.forward(
    {
      tenantId: call.identity?.tenantId ?? '',
      target,
      method: call.method,
      headers: toUpstreamHeaders(fields, toAuthority(target.scheme, target.host, target.port), via),
      body: body.length > 0 ? body : undefined,
    },
    {
      response: exchange.answer,
      extraHeaders: ours,
      onError: (error) => answerProblem(exchange, withTrace(error, call.traceId), ours),
    },
  );
}

/** Fields that say something of the body as it was before it was redacted. */
const bodyFields = new Set([
  'content-encoding',
  'content-md5',
  'digest',
  'content-digest',
  'repr-digest',
  'signature',
  'signature-input',
]);

function withoutBodyFields(headers: readonly string[]): string[] {
  return headers.filter((_, i) => !bodyFields.has((headers[i - (i % 2)] ?? '').toLowerCase()));
}

function toRefusal(gate: Gate, call: Call, verdict: Verdict): GatewayError {
  const detail = verdict.explanation[0] ?? 'The call is denied.';
  const extra = { reason_codes: verdict.reasonCodes, explanation: verdict.explanation };
  const { approval } = verdict;
  const error = approval
    ? new GatewayError('APPROVAL_REQUIRED', detail, {
        ...extra,
        approval_id: approval.approvalId,
        status_url: `${gate.controlUrl}/v1/approvals/${approval.approvalId}/status`,
        retryAfterSeconds: 5,
      })
    : new GatewayError('POLICY_DENIED', detail, extra);
  return withTrace(error, call.traceId);
}

function withTrace(error: GatewayError, traceId: string): GatewayError {
  error.traceId = traceId;
  return error;
}
