import { toEphemeralKey, toResponseScanResult, toScanResult } from './answers.ts';
import { waitForApproval } from './approval.ts';
import { createConnection } from './connection.ts';
import { describeBody } from './described.ts';
import { createFetchGuard } from './guard.ts';
import type { CallerFields, Postern, PosternOptions } from './postern.ts';

/** Returns a client of a gateway. It opens nothing, so there is nothing to close. The key stays inside. */
export function createPostern(options: PosternOptions): Postern {
  const ask = createConnection(options);
  const caller = callerFields(options);

  const postern: Postern = {
    async scan(call, { signal } = {}) {
      const body = describeBody(call.body, call.headers);
      const { method, url, headers } = call;
      const request = { method, url, headers, ...body.fields, ...caller, ...callerFields(call) };
      const result = toScanResult(await ask({ method: 'POST', path: '/v1/scan', body: request, signal }));
      if (!('sanitizedBody' in result)) return result;
      return { ...result, sanitizedBody: body.toSanitized(result.sanitizedBody) };
    },
    async scanResponse({ traceId, responseBody, responseStatus, headers }, { signal } = {}) {
      const { body, ...encoding } = describeBody(responseBody, undefined).fields;
      const request = {
        trace_id: traceId,
        response_body: body,
        response_status: responseStatus,
        headers,
        ...encoding,
      };
      return toResponseScanResult(
        await ask({ method: 'POST', path: '/v1/scan/response', body: request, signal }),
      );
    },
    waitForApproval: (approvalId, waitOptions) => waitForApproval(ask, approvalId, waitOptions),
    async mintEphemeralKey({ ttlSeconds, maxUses, scope, description } = {}, { signal } = {}) {
      const request = { ttl_seconds: ttlSeconds, max_uses: maxUses, scope, description };
      return toEphemeralKey(await ask({ method: 'POST', path: '/v1/keys/ephemeral', body: request, signal }));
    },
    guard: (fetch = globalThis.fetch, guardOptions = {}) => createFetchGuard(postern, fetch, guardOptions),
  };
  return postern;
}

/** Returns the fields that are there. Absent ones must not hide those of the client. */
function callerFields({ agentId, agentName, runtimeType, context, env }: CallerFields): object {
  const fields = { agent_id: agentId, agent_name: agentName, runtime_type: runtimeType, context, env };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
