import t from 'tap';
import { toRequest } from '../../src/decision/request.ts';
import { callOf } from '../support/call.ts';

const asked = ['\\u00', '\\u005', '\\u006', '\\u00a', '\\u00A', '\\u0061', '\\u', 'jsonrpc', '_method'];

const bodies: Readonly<Record<string, string>> = {
  nothing: '',
  'no escape': '{"jsonrpc":"2.0"}',
  'one escape': '{"\\u0061":1}',
  'several escapes': '\\u005f\\u00A0\\u00',
  'escapes within each other': '\\u00\\u006\\u\\u00a',
  'an escape at the end': 'x\\u00',
  'more escapes than are gone through': `${'\\u0020'.repeat(20_000)}\\u0061`,
};

for (const [name, body] of Object.entries(bodies)) {
  t.test(`a body with ${name} mentions what stands in it, in whatever order it is asked`, async (t) => {
    for (const order of [asked, asked.toReversed()]) {
      const { mentions } = toRequest(callOf({ body: Buffer.from(body) }).received, 1 << 20);
      for (const text of order) t.equal(mentions(text), body.includes(text), text);
    }
  });
}
