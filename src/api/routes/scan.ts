import { describedCall } from '../fields/described-call.ts';
import { toDescribedCall } from '../fields/scanned-call.ts';
import { routesOf } from '../route.ts';
import { scanAnswer, toScanAnswer, withSanitizedBody } from '../scan-answer.ts';

const route = routesOf('scan');

/** `POST /v1/scan` judges a described call. The answer tells the caller what the proxies would have done. */
export const scan = route('POST /v1/scan', {
  summary: 'Judge an outbound call',
  access: 'call',
  isForKeys: true,
  body: describedCall,
  answer: scanAnswer,
  takesBase64: true,
  describesCall: true,
  async handle(request) {
    const { call, form } = toDescribedCall(request);
    const decided = await request.gate.inspect(call);
    return withSanitizedBody(toScanAnswer(decided), decided.verdict, form);
  },
});
