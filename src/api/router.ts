import { GatewayError, problems, toGatewayError } from '../core/errors.ts';
import type { Log } from '../core/log.ts';
import { ownName, type SafeName } from '../core/safe-name.ts';
import type { Gate } from '../decision/gate.ts';
import { rejectEarly } from '../decision/reject-early.ts';
import { checkReplay } from '../decision/simulation/replay.ts';
import type { Answer } from '../wire/http1/answer.ts';
import { type FieldsByName, toFieldsByName } from '../wire/http1/field.ts';
import type { BodyLedger, BodyRoom } from '../wire/server/body-ledger.ts';
import { clientAddressOf } from '../wire/server/client-address.ts';
import { tooLarge } from '../wire/server/collect.ts';
import { type Connections, claimRequest, ownerOf } from '../wire/server/connections.ts';
import type { Exchange } from '../wire/server/exchange.ts';
import { answerProblem } from '../wire/server/problem.ts';
import { authenticate } from './authenticate.ts';
import { describedBytesMaxOf, urlAtBeginning } from './body-limit.ts';
import { invalid } from './fields/invalid.ts';
import { lacking } from './fields/permissions.ts';
import { type RequestDescription, requestAsCall } from './fields/request-as-call.ts';
import { ApiLimits } from './limits.ts';
import { parseBody, parseQuery, readRequestBody } from './request-body.ts';
import {
  type ApiRequest,
  type Caller,
  operatorOf,
  presentedBy,
  RawAnswer,
  type Route,
  StreamedAnswer,
} from './route.ts';
import { type Params, RouteTable } from './route-table.ts';
import { sendStream, sendWhole } from './send-stream.ts';
import type { SessionRequest } from './session/session-caller.ts';
import { tenantOf } from './tenant-of.ts';
import { createUnreadAnswers } from './unread-answers.ts';

const urlLengthMax = 16_384;

interface RouterOptions {
  readonly connections: Connections;
  readonly bodies: BodyLedger;
  readonly log: Log;
}

type Handler = (exchange: Exchange) => void;

/** Returns the control plane. It finds the route, authenticates, reads and validates the body, answers. */
export function createRouter(routes: readonly Route[], gate: () => Gate, options: RouterOptions): Handler {
  const router = new Router(routes, options);
  return (exchange) => router.handle(gate(), exchange);
}

/** A request whose caller is known and may call its endpoint. */
interface Asked extends Pick<SessionRequest, 'headers' | 'clientAddress' | 'nowMs'> {
  readonly exchange: Exchange;
  readonly route: Route;
  readonly params: Params;
  /** The part of the target behind the question mark; undefined where there is none. */
  readonly search: string | undefined;
  readonly caller: Caller;
}

class Router {
  readonly #table: RouteTable;
  readonly #options: RouterOptions;
  readonly #limits = new ApiLimits();
  readonly #unread = createUnreadAnswers();

  constructor(routes: readonly Route[], options: RouterOptions) {
    this.#table = new RouteTable(routes);
    this.#options = options;
  }

  handle(gate: Gate, exchange: Exchange): void {
    const { log } = this.#options;
    const leave = gate.enter();
    const [path = ''] = exchange.target.split('?', 1);
    const startMs = performance.now();
    let status = 200;
    this.#answer(gate, exchange)
      .then((answered) => {
        status = answered?.status ?? 200;
        return answered && sendWhole(exchange.answer, answered);
      })
      .catch((thrown: unknown) => {
        status = this.#refuse(gate, exchange, path, toGatewayError(thrown));
      })
      .finally(() => {
        const ms = Math.round(performance.now() - startMs);
        if (gate.config.log.access)
          log.info({ ...this.#shownRequest(gate, exchange, path), status, ms }, 'request');
        leave();
      });
  }

  /** Answers with a problem, logs what people must know of it, and returns the status. */
  #refuse(gate: Gate, exchange: Exchange, path: string, error: GatewayError): number {
    const { log } = this.#options;
    // The failure may be that the tenant is not known. So only the detectors that all tenants share look at
    // the path.
    const safePath = (): SafeName => gate.safeName('', path);
    if (exchange.answer.headersSent && !exchange.answer.destroyed)
      log.warn({ err: error.cause ?? error, path: safePath() }, 'an answer is broken off');
    if (error.code === 'INTERNAL') log.error({ err: error.cause, path: safePath() }, 'an endpoint failed');
    if (error.code === 'STATE_UNAVAILABLE')
      log.warn({ err: error.cause ?? error, path: safePath() }, 'the state failed an endpoint');
    // A connection that was refused a place must not keep one until it is closed as idle.
    answerProblem(exchange, error, error.code === 'GATEWAY_BUSY' ? ['Connection', 'close'] : []);
    return problems[error.code].status;
  }

  /** Returns what the access log has of a request: the route's path, since a parameter may be a secret. */
  #shownRequest({ config }: Gate, exchange: Exchange, path: string) {
    const { method } = exchange;
    const template = this.#table.templateOf(method, path);
    return {
      client_address: clientAddressOf(exchange, config.control.trustedProxies),
      method: ownName(template === undefined ? 'OTHER' : method),
      route: ownName(template ?? 'none'),
    };
  }

  /**
   * Returns the answer to a request; undefined where it has gone out already, piece by piece. Throws the
   * problem that is to be answered, without secrets.
   */
  async #answer(gate: Gate, exchange: Exchange): Promise<RawAnswer | undefined> {
    const asked = await this.#admit(gate, exchange);
    try {
      return await this.#run(gate, asked);
    } catch (error) {
      const { route, caller, clientAddress, nowMs } = asked;
      const shown = withoutSecrets(gate, caller, toGatewayError(error));
      throw await toRefusal(gate, route, caller, { clientAddress, nowMs }, shown);
    }
  }

  /** Finds the endpoint and the caller, and counts the request against the caller's bounds. */
  async #admit(gate: Gate, exchange: Exchange): Promise<Asked> {
    const { target: url, method } = exchange;
    if (url.length > urlLengthMax || !url.startsWith('/'))
      throw new GatewayError('VALIDATION_FAILED', 'The request target must be a path of at most 16 KB.');
    const { trustedProxies } = gate.config.control;
    const nowMs = Date.now();
    const mark = url.indexOf('?');
    const [path, search] = mark < 0 ? [url, undefined] : [url.slice(0, mark), url.slice(mark + 1)];
    const { route, params } = this.#table.find(method, path);
    const clientAddress = clientAddressOf(exchange, trustedProxies);
    const headers = toFieldsByName(exchange.fields);
    const caller = await authenticate(gate, route, { method, headers, clientAddress, nowMs });
    if (caller.kind === 'key')
      claimRequest(this.#options.connections, exchange, ownerOf(caller.identity), {
        bounds: gate.tenants.connectionBounds(caller.identity.tenantId),
        trustedProxies,
      });
    this.#limits.spend(route, caller, nowMs);
    return { exchange, route, params, search, headers, caller, clientAddress, nowMs };
  }

  async #run(gate: Gate, asked: Asked): Promise<RawAnswer | undefined> {
    const { exchange, route, params, search, headers, caller, clientAddress, nowMs } = asked;
    const searchParams = search === undefined ? noParams : new URLSearchParams(search);
    const { value: query, ignored: inQuery } = parseQuery(route, searchParams);
    const room = this.#roomOf(gate, exchange, caller);
    const { raw, body, ignored } = await receive(gate, route, { exchange, headers, room }, caller, nowMs);
    const told = fieldsTelling(gate, caller, [...inQuery, ...ignored]);
    const named = namedIn(searchParams, body);
    // Another node may have registered the tenant.
    if (caller.kind === 'admin' && named !== undefined) await gate.tenants.learn(named);
    const signal = signalOfLeaving(exchange.answer);
    const tenantId = () => tenantOf(gate, caller, named);
    const audit: ApiRequest<unknown, unknown>['audit'] = (kind, subject, details = {}) => ({
      atMs: nowMs,
      operator: operatorOf(caller),
      tenantId: tenantId(),
      kind,
      subject,
      details,
    });
    const request = { gate, caller, params, query, body, raw, headers, clientAddress, nowMs, signal };
    return await this.#limits.run(route, caller, tenantId, async () => {
      const answered = await route.handle({ ...request, tenantId, audit, namedTenant: named });
      if (answered instanceof StreamedAnswer) {
        // The request keeps its place within the bounds until the last piece is out.
        await sendStream(exchange.answer, answered.with(told), signal());
        return undefined;
      }
      const made = answered instanceof RawAnswer ? answered : RawAnswer.of(route.status ?? 200, answered);
      const whole = made.with(told);
      const holder = caller.kind === 'key' ? caller.key.keyId : caller.kind;
      this.#unread.hold(exchange.answer, holder, whole.body.length);
      return whole;
    });
  }

  /**
   * Returns the room for the body of a key's request; undefined for administrators. Their bodies are few, and
   * bounded by the limit of each.
   */
  #roomOf({ tenants }: Gate, { answer: until }: Exchange, caller: Caller): BodyRoom | undefined {
    if (caller.kind !== 'key') return undefined;
    const { isShared } = tenants.connectionBounds(caller.identity.tenantId);
    return this.#options.bodies.roomFor(until, ownerOf(caller.identity), isShared);
  }
}

interface Receiving {
  readonly exchange: Exchange;
  readonly headers: FieldsByName;
  readonly room: BodyRoom | undefined;
}

/**
 * Reads and parses the body of a request, after checking that a change with a key is no replay. Throws where it
 * is too large or not valid.
 */
async function receive(
  gate: Gate,
  route: Route,
  { exchange, headers, room }: Receiving,
  caller: Caller,
  nowMs: number,
): Promise<{ raw: Buffer; body: unknown; ignored: readonly string[] }> {
  if (caller.kind === 'key' && exchange.method !== 'GET') await checkReplay(gate, caller.key, headers, nowMs);
  if (!route.body) return { raw: noBody, body: undefined, ignored: [] };
  const bytesMax = (url?: string): number => describedBytesMaxOf(gate, route, caller, url);
  const inBase64 = (bytes: number): number => (route.takesBase64 ? Math.ceil((bytes * 4) / 3) : bytes);
  const timeoutMs =
    caller.kind === 'key' ? gate.tenants.find(caller.identity.tenantId)?.bodyTimeoutMs : undefined;
  const raw = await readRequestBody(exchange, { bytesMax: inBase64(bytesMax()), room, timeoutMs });
  const begun = route.describesCall ? bytesMax(urlAtBeginning(raw)) : bytesMax();
  if (raw.length > inBase64(begun)) throw tooLarge(raw.length, begun);
  const { value: body, ignored } = parseBody(route, raw, headers['content-type'] ?? '');
  const most = route.describesCall ? bytesMax(textAt(body, 'url')) : begun;
  if (raw.length > (textAt(body, 'body_encoding') === 'base64' ? inBase64(most) : most))
    throw tooLarge(raw.length, most);
  return { raw, body, ignored };
}

/**
 * Returns the header field that tells a caller which members of its request were ignored, such as a misspelt
 * restriction of a key; none where there were none.
 */
function fieldsTelling(gate: Gate, caller: Caller, ignored: readonly string[]): string[] {
  if (ignored.length === 0) return [];
  const tenantId = caller.kind === 'key' ? caller.identity.tenantId : '';
  const shown = ignored.map((name) => encodeURIComponent(gate.safeName(tenantId, name).toWellFormed()));
  return [gate.names.ignored, shown.join(', ')];
}

/** Returns the error with texts that are safe to show. They quote the request, which may have a secret. */
function withoutSecrets(gate: Gate, caller: Caller, error: GatewayError): GatewayError {
  if (error.traceId !== undefined || error.code === 'INTERNAL') return error;
  const tenantId = caller.kind === 'key' ? caller.identity.tenantId : '';
  const shown = (text: string): SafeName => gate.safeName(tenantId, text);
  const errors = error.extra.errors?.map(({ path, message }) => ({
    path: shown(path),
    message: shown(message),
  }));
  const extra = errors ? { ...error.extra, errors } : error.extra;
  return new GatewayError(error.code, shown(error.message), extra, error.cause);
}

/** Returns the error to answer. A call that cannot be read never reaches the pipeline; it is refused here. */
async function toRefusal(
  gate: Gate,
  route: Route,
  caller: Caller,
  asked: RequestDescription,
  error: GatewayError,
): Promise<GatewayError> {
  const key = route.access === 'call' ? presentedBy(caller) : undefined;
  if (!key || error.traceId !== undefined || error.code === 'INVALID_KEY') return error;
  // A key that may not call at all is told that, and not what is wrong with the call.
  const forbidden =
    caller.kind === 'key' && error.code === 'VALIDATION_FAILED' ? lacking(caller.key, ['scan']) : undefined;
  return rejectEarly(gate, requestAsCall(gate, route, key, asked), forbidden ?? error);
}

const noBody = Buffer.alloc(0);
const noParams: Readonly<URLSearchParams> = new URLSearchParams();

/** Returns a function that makes the signal of a client that leaves, which is expensive and rarely needed. */
function signalOfLeaving(answer: Answer): () => AbortSignal {
  let leaving: AbortController | undefined;
  return () => {
    if (leaving) return leaving.signal;
    const made = new AbortController();
    leaving = made;
    // A client that has its answer may leave.
    const onClose = (): void => {
      if (!answer.writableEnded) made.abort();
    };
    if (answer.destroyed) onClose();
    else answer.once('close', onClose);
    return made.signal;
  };
}
const textAt = (body: unknown, name: string): string | undefined => {
  const value = typeof body === 'object' && body !== null ? Reflect.get(body, name) : undefined;
  return typeof value === 'string' ? value : undefined;
};

/** Returns the tenant that a request names, in its query or body. Throws where the two disagree. */
function namedIn(query: URLSearchParams, body: unknown): string | undefined {
  const written = typeof body === 'object' && body !== null ? Reflect.get(body, 'tenant_id') : undefined;
  const inQuery = query.get('tenant_id') || undefined;
  const inBody = typeof written === 'string' && written !== '' ? written : undefined;
  if (inQuery !== undefined && inBody !== undefined && inQuery !== inBody)
    throw invalid([{ path: 'tenant_id', message: 'the query names another tenant than the body' }]);
  return inQuery ?? inBody;
}
