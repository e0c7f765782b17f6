import type { z } from 'zod';
import { Call, type Claimed } from '../../call.ts';
import { newTraceId } from '../../ids.ts';
import { parseDescribed } from '../../target.ts';
import {
  contentEncodingOf,
  contentTypeOf,
  describedBody,
  describedCall,
  flatHeaders,
} from '../described-call.ts';
import { presentedBy, route } from '../route.ts';
import { scanAnswer, toScanAnswer, withSanitizedBody } from '../scan-answer.ts';

/** `POST /v1/scan`: judges a described call. The answer tells the caller what the proxies would have done. */
export const scan = route({
  method: 'POST',
  path: '/v1/scan',
  tag: 'scan',
  summary: 'Judge an outbound call',
  access: 'call',
  isForKeys: true,
  body: describedCall,
  answer: scanAnswer,
  takesBase64: true,
  async handle({ gate, caller, body: request, raw, clientAddress, nowMs }) {
    const described = describedBody(request.body, raw, 'body', request.body_encoding);
    const headers = flatHeaders(request.headers);
    const call = new Call({
      traceId: newTraceId(nowMs),
      entrance: 'scan',
      receivedAtMs: nowMs,
      clientAddress,
      key: presentedBy(caller),
      method: request.method.toUpperCase(),
      target: parseDescribed(request.url),
      headers,
      body: described.bytes,
      contentType: contentTypeOf(described, headers),
      contentEncoding: contentEncodingOf(described, headers),
      claimed: claimedIn(request),
      lastHead: undefined,
    });
    const verdict = await gate.inspect(call);
    return withSanitizedBody(toScanAnswer(call, verdict), verdict, described.form);
  },
});

function claimedIn(request: z.output<typeof describedCall>): Claimed {
  return {
    ...(request.agent_id ? { agentId: request.agent_id } : {}),
    ...(request.agent_name ? { agentName: request.agent_name } : {}),
    ...(request.runtime_type ? { runtimeType: request.runtime_type } : {}),
    ...(request.context ? { context: request.context } : {}),
    ...(request.env ? { envName: request.env } : {}),
  };
}
