import { Call, type CallFields } from '../../core/call.ts';
import { newTraceId } from '../../core/ids.ts';

type Known = Pick<CallFields, 'entrance' | 'receivedAtMs' | 'clientAddress' | 'key' | 'method' | 'target'>;

/** A call without a head: nothing else of it is known, save perhaps its content. */
export const bareCall = (fields: Known & Partial<Pick<CallFields, 'body' | 'contentType'>>): Call =>
  new Call({
    traceId: newTraceId(fields.receivedAtMs),
    headers: [],
    body: Buffer.alloc(0),
    contentType: '',
    contentEncoding: '',
    claimed: {},
    lastHead: undefined,
    ...fields,
  });
