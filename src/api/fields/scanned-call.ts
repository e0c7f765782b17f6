import type { z } from 'zod';
import { type Claimed, type ReceivedCall, receivedCall } from '../../core/call.ts';
import { newTraceId } from '../../core/ids.ts';
import { parseDescribed } from '../../core/target.ts';
import { type ApiRequest, presentedBy } from '../route.ts';
import {
  contentEncodingOf,
  contentTypeOf,
  type DescribedBody,
  describedBody,
  type describedCall,
  flatHeaders,
} from './described-call.ts';

type Described = z.output<typeof describedCall>;
export type DescribedRequest = Pick<
  ApiRequest<Described, unknown>,
  'caller' | 'body' | 'raw' | 'clientAddress' | 'nowMs'
>;

/** Makes the described call, as its caller would make it now. `form` says how its body was described. */
export function toDescribedCall({ caller, body, raw, clientAddress, nowMs }: DescribedRequest): {
  readonly call: ReceivedCall;
  readonly form: DescribedBody['form'];
} {
  const content = describedBody(body.body, raw, 'body', body.body_encoding);
  const headers = flatHeaders(body.headers);
  const call = receivedCall({
    traceId: newTraceId(nowMs),
    entrance: 'scan',
    receivedAtMs: nowMs,
    clientAddress,
    key: presentedBy(caller),
    method: body.method.toUpperCase(),
    target: parseDescribed(body.url),
    headers,
    body: content.bytes,
    contentType: contentTypeOf(content, headers),
    contentEncoding: contentEncodingOf(content, headers),
    claimed: claimedIn(body),
    lastHead: undefined,
  });
  return { call, form: content.form };
}

function claimedIn(request: Described): Claimed {
  return {
    ...(request.agent_id ? { agentId: request.agent_id } : {}),
    ...(request.agent_name ? { agentName: request.agent_name } : {}),
    ...(request.runtime_type ? { runtimeType: request.runtime_type } : {}),
    ...(request.context ? { context: request.context } : {}),
    ...(request.env ? { envName: request.env } : {}),
  };
}
