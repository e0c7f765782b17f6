import t from 'tap';
import { comparedBody, withoutIds } from '../../../src/decision/approvals/compared-body.ts';
import { callOf, operationOf } from '../../support/call.ts';

const compared = (json: string): string => withoutIds(Buffer.from(json)).toString();

t.test('only a message of MCP or A2A that is read in one way is compared without ids', async (t) => {
  const bodyOf = (body: string, toolName: string): string =>
    comparedBody(
      callOf({
        body: Buffer.from(body),
        contentType: 'application/json',
        operation: operationOf({ toolName }),
      }),
    ).toString();
  const message = '{"jsonrpc":"2.0","id":7,"method":"x"}';
  for (const tool of ['mcp', 'a2a']) t.not(bodyOf(message, tool), message, tool);
  t.equal(bodyOf(message, 'slack'), message);
  const twice = '{"jsonrpc":"2.0","id":7,"id":8,"method":"x"}';
  t.equal(bodyOf(twice, 'mcp'), twice);
});

t.test('the ids of a message are left out, and nothing else', async (t) => {
  const messages: readonly [json: string, compared: string][] = [
    ['{"jsonrpc":"2.0","id":7,"method":"x"}', '{"jsonrpc":"2.0","id":,"method":"x"}'],
    ['{"id" : "a-b" ,"method":"x"}', '{"id" :  ,"method":"x"}'],
    ['{"\\u0069d":7}', '{"\\u0069d":}'],
    ['{"params":{"_meta":{"progressToken":3}}}', '{"params":{"_meta":{"progressToken":}}}'],
    ['{"id":null}', '{"id":}'],
  ];
  for (const [json, left] of messages) t.equal(compared(json), left, json);
  const whole = [
    '{"params":{"id":7}}',
    '{"jsonrpc":"2.0","method":"tools/call","id":"of-ann","amount":5}',
    '{"jsonrpc":"2.0","id":7,"params._meta.progressToken":8}',
    '{"params":{"arguments":{"progressToken":3}}}',
    '{"params":{"x":{"_meta":{"progressToken":3}}}}',
    '{"params":[{"_meta":{"progressToken":3}}]}',
    '[{"id":7}]',
    '{"id":{"a":7}}',
    '{"id":[7]}',
    '{"method":"id","x":"id"}',
    `{"id":"${'7'.repeat(39)}"}`,
    '"id"',
    '',
  ];
  for (const json of whole) t.equal(compared(json), json, json);
});
