import { z } from 'zod';
import { Call, type Claimed } from '../../call.ts';
import { newTraceId } from '../../ids.ts';
import { parseTarget } from '../../target.ts';
import { describedBody, flatHeaders, headerOf } from '../described-call.ts';
import { uuid } from '../fields.ts';
import { presentedBy, route } from '../route.ts';
import { scanAnswer, toScanAnswer, withSanitizedBody } from '../scan-answer.ts';

const scanRequest = z.object({
  method: z.string().regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,32}$/, 'must be an HTTP method'),
  url: z.string().min(1).max(65_536).describe('Absolute'),
  body: z.unknown().optional(),
  headers: z.unknown().optional().describe('An object of texts, or of lists of texts'),
  agent_id: uuid.nullish(),
  agent_name: z.string().max(128).nullish(),
  runtime_type: z.string().max(64).nullish(),
  context: z.string().max(65_536).nullish(),
  env: z.string().max(128).nullish(),
});

/** `POST /v1/scan`: judges a described call. The answer tells the caller what the proxies would have done. */
export const scan = route({
  method: 'POST',
  path: '/v1/scan',
  tag: 'scan',
  summary: 'Judge an outbound call',
  access: 'call',
  isForKeys: true,
  body: scanRequest,
  answer: scanAnswer,
  async handle({ gate, caller, body: request, raw, clientAddress, nowMs }) {
    const described = describedBody(request.body, raw);
    const headers = flatHeaders(request.headers);
    const call = new Call({
      traceId: newTraceId(nowMs),
      entrance: 'scan',
      receivedAtMs: nowMs,
      clientAddress,
      key: presentedBy(caller),
      method: request.method.toUpperCase(),
      target: parseTarget(request.url),
      headers,
      body: described.bytes,
      // What is described as a value is JSON, whatever its header says, and is answered as JSON.
      contentType: described.isText ? (headerOf(headers, 'content-type') ?? '') : 'application/json',
      contentEncoding: '',
      claimed: claimedIn(request),
      lastHead: undefined,
    });
    const verdict = await gate.inspect(call);
    return withSanitizedBody(toScanAnswer(call, verdict), verdict, described.isText);
  },
});

function claimedIn(request: z.output<typeof scanRequest>): Claimed {
  return {
    ...(request.agent_id ? { agentId: request.agent_id } : {}),
    ...(request.agent_name ? { agentName: request.agent_name } : {}),
    ...(request.runtime_type ? { runtimeType: request.runtime_type } : {}),
    ...(request.context ? { context: request.context } : {}),
    ...(request.env ? { envName: request.env } : {}),
  };
}
