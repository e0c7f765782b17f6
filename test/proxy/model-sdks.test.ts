import { readFileSync } from 'node:fs';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import t, { type Test } from 'tap';
import { ProxyAgent, fetch as undiciFetch } from 'undici';
import { testAuthority } from '../support/certificates.ts';
import { startTestGateway } from '../support/gateway.ts';
import { awsKeyId } from '../support/secrets.ts';
import { startUpstream, type UpstreamHandler } from '../support/upstream.ts';

/*
 * The SDKs of model providers, streaming through the gateway from a server that speaks the providers' formats. It sends each event only
 * when the SDK has handed on the one before, so that an event that is held back would hold up all.
 */

/** Events that leave one by one. */
interface Paced {
  readonly handler: UpstreamHandler;
  next(): void;
}

function paced(events: readonly string[]): Paced {
  let sent = 0;
  let send: (() => void) | undefined;
  return {
    handler(_request, response) {
      response.writeHead(200, {
        'content-type': 'text/event-stream; charset=utf-8',
        'cache-control': 'no-cache',
      });
      send = () => {
        const event = events[sent++];
        if (event !== undefined) response.write(event);
        if (sent === events.length) response.end();
      };
      send();
    },
    next: () => send?.(),
  };
}

async function startLab(t: Test, host: string, handler: UpstreamHandler) {
  const upstream = await startUpstream(t, handler, { certificate: testAuthority().issue({ names: [host] }) });
  const gateway = await startTestGateway(t, {
    upstream,
    config: {
      limits: { scan_timeout: '30s' },
      upstream: { resolve: [{ host, address: '127.0.0.1', port: upstream.port }] },
    },
  });
  const dispatcher = new ProxyAgent({
    uri: gateway.proxyUrl,
    token: `Bearer ${gateway.key}`,
    requestTls: { ca: readFileSync(gateway.caFile, 'utf8') },
  });
  t.teardown(() => dispatcher.close());
  // One implementation of fetch for dispatcher and request; the types of the two are not related.
  const fetch = ((url: string, init?: object) =>
    undiciFetch(url, { ...init, dispatcher })) as unknown as typeof globalThis.fetch;
  return { upstream, fetch };
}

/** What the environment says of keys and addresses is nothing to these tests. */
const apiKey = 'of-the-tests';
const words = ['Hel', 'lo, ', 'wor', 'ld'];

/** The text of a stream, in the pieces in which it came; each piece asks for the next. */
async function piecesOf<Event>(
  stream: AsyncIterable<Event>,
  textOf: (event: Event) => string | null | undefined,
  { next }: Paced,
): Promise<string[]> {
  const pieces: string[] = [];
  for await (const event of stream) {
    const text = textOf(event);
    if (text) pieces.push(text);
    next();
  }
  return pieces;
}

t.test("OpenAI's SDK streams a chat completion", async (t) => {
  const chunk = (delta: object, finish: string | null = null): string =>
    `data: ${JSON.stringify({ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'gpt-4o', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
  const events = [
    chunk({ role: 'assistant', content: '' }),
    ...words.map((content) => chunk({ content })),
    `${chunk({}, 'stop')}data: [DONE]\n\n`,
  ];
  const provider = paced(events);
  const { upstream, fetch } = await startLab(t, 'api.openai.com', provider.handler);
  const client = new OpenAI({ apiKey, baseURL: 'https://api.openai.com/v1', fetch, maxRetries: 0 });
  const stream = await client.chat.completions.create({
    model: 'gpt-4o',
    stream: true,
    messages: [{ role: 'user', content: `Greet the world. Our key is ${awsKeyId()}.` }],
  });
  t.same(await piecesOf(stream, (it) => it.choices[0]?.delta.content, provider), words);
  const [arrived] = upstream.requests;
  t.equal(arrived?.url, '/v1/chat/completions');
  t.equal(arrived?.headers.authorization, `Bearer ${apiKey}`);
  t.match(
    JSON.parse(arrived?.body.toString() ?? '').messages[0].content,
    /Our key is \[REDACTED:/,
    'read on the way',
  );
});

t.test("OpenAI's SDK streams a response", async (t) => {
  let sequence = 0;
  const event = (type: string, fields: object): string =>
    `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: sequence++, ...fields })}\n\n`;
  const response = {
    id: 'resp_1',
    object: 'response',
    created_at: 1,
    model: 'gpt-4o',
    status: 'in_progress',
    output: [],
  };
  const place = { item_id: 'msg_1', output_index: 0, content_index: 0 };
  const provider = paced([
    event('response.created', { response }),
    ...words.map((delta) => event('response.output_text.delta', { ...place, delta, logprobs: [] })),
    event('response.output_text.done', { ...place, text: words.join(''), logprobs: [] }),
    event('response.completed', { response: { ...response, status: 'completed' } }),
  ]);
  const { fetch } = await startLab(t, 'api.openai.com', provider.handler);
  const client = new OpenAI({ apiKey, baseURL: 'https://api.openai.com/v1', fetch, maxRetries: 0 });
  const stream = await client.responses.create({ model: 'gpt-4o', stream: true, input: 'Greet the world.' });
  const textOf = (it: OpenAI.Responses.ResponseStreamEvent): string =>
    it.type === 'response.output_text.delta' ? it.delta : '';
  t.same(await piecesOf(stream, textOf, provider), words);
});

t.test("Anthropic's SDK streams a message", async (t) => {
  const event = (type: string, fields: object = {}): string =>
    `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
  const message = {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'claude-sonnet-4-5',
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { input_tokens: 3, output_tokens: 1 },
  };
  // The SDK keeps pings to itself, so they come with an event that it hands on.
  const provider = paced([
    event('message_start', { message }),
    event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
    ...words.map(
      (text) =>
        event('ping') + event('content_block_delta', { index: 0, delta: { type: 'text_delta', text } }),
    ),
    event('content_block_stop', { index: 0 }),
    event('message_delta', {
      delta: { stop_reason: 'end_turn', stop_sequence: null },
      usage: { output_tokens: 5 },
    }),
    event('message_stop'),
  ]);
  const { upstream, fetch } = await startLab(t, 'api.anthropic.com', provider.handler);
  const client = new Anthropic({ apiKey, baseURL: 'https://api.anthropic.com', fetch, maxRetries: 0 });
  const stream = client.messages.stream({
    model: 'claude-sonnet-4-5',
    max_tokens: 100,
    messages: [{ role: 'user', content: 'Greet the world.' }],
  });
  const textOf = (it: Anthropic.MessageStreamEvent): string =>
    it.type === 'content_block_delta' && it.delta.type === 'text_delta' ? it.delta.text : '';
  t.same(await piecesOf(stream, textOf, provider), words);
  t.match(await stream.finalMessage(), {
    stop_reason: 'end_turn',
    content: [{ type: 'text', text: words.join('') }],
  });
  t.equal(upstream.requests[0]?.headers.authorization, `Bearer ${apiKey}`);
});
