import { once } from 'node:events';
import type { RequestListener } from 'node:http';
import { PassThrough, type Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Test } from 'tap';
import type { RecordedRequest, UpstreamHandler } from '../../support/upstream.ts';
import { type Message, messagesOf, opcodes, toFrame } from './frames.ts';
import type { Asked, Destination, Heard, Way } from './ways.ts';

/* What is sent through every cell of the table, and what has to come of it. */

/** One client protocol on the way to one upstream protocol. */
export interface Cell {
  readonly way: Way;
  readonly to: Destination & { readonly protocol: 'HTTP/1.1' | 'HTTP/2' };
  /** Says how the upstream answers what this cell asks for; called before the request is sent. */
  serve(handler: UpstreamHandler): void;
  /** Likewise, where it answers while the body comes. */
  serveEarly(handler: RequestListener): void;
  /** `path` is what stands behind that of the cell. */
  call(asked: Omit<Asked, 'path'> & { readonly path?: string }): Promise<Heard>;
  /** What the upstream was sent by this cell, in order. */
  arrived(): readonly RecordedRequest[];
}

export interface Kind {
  readonly name: string;
  /** Undefined where the cell exists, else why it does not. */
  whyNot?(cell: Pick<Cell, 'way' | 'to'>): string | undefined;
  run(t: Test, cell: Cell): Promise<void>;
}

/** So many bytes of text that no detector takes for anything, no line like another. */
function textOf(bytes: number): Buffer {
  const lines = Array.from({ length: Math.ceil(bytes / 16) }, (_, i) => `this is line ${i}\n`);
  return Buffer.from(lines.join('')).subarray(0, bytes);
}

const wholeOf = async (body: Readable): Promise<Buffer> => Buffer.concat(await body.toArray());

const json = { 'content-type': 'application/json' };

/** One message, not compressed, as a frame of gRPC. */
function grpcMessage(text: string): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(Buffer.byteLength(text), 1);
  return Buffer.concat([head, Buffer.from(text)]);
}

const notGrpc = ({ way, to }: Pick<Cell, 'way' | 'to'>): string | undefined =>
  way.protocol === 'HTTP/2' && to.protocol === 'HTTP/2' ? undefined : 'gRPC is HTTP/2 on both sides';

export const kinds: readonly Kind[] = [
  {
    name: 'a call and its answer pass byte for byte, without the fields of either connection',
    async run(t, cell) {
      cell.serve(({ httpVersionMajor }, response) => {
        const ofConnection =
          httpVersionMajor === 1 ? { connection: 'keep-alive, x-gone', upgrade: 'h2c' } : {};
        response.writeHead(201, {
          ...json,
          ...ofConnection,
          'x-gone': httpVersionMajor === 1 ? 'no' : [],
          'x-kept': 'caf\u00e9',
          'set-cookie': ['a=1', 'b=2'],
          'alt-svc': 'h3=":443"',
          'x-service-decision': 'DENY',
          'x-service-more': 'no',
        });
        response.end('{"made":true}');
      });
      const body = Buffer.from('{"text":"gr\u00fc\u00dfe","n":1.50}');
      const headers = { ...json, 'x-kept': 'caf\u00e9', cookie: 'c=3', 'x-service-agent-name': 'matrix' };
      const heard = await cell.call({ method: 'POST', path: '/a%2Fb?q=%20x&y=a+b', headers, body });
      t.equal(heard.status, 201);
      t.equal((await wholeOf(heard.body)).toString(), '{"made":true}');
      t.match(heard.headers, { 'x-kept': 'caf\u00e9', 'set-cookie': ['a=1', 'b=2'] });
      for (const name of ['x-gone', 'alt-svc', 'upgrade', 'x-service-more'])
        t.notOk(heard.headers[name], name);
      const [arrived] = cell.arrived();
      t.ok(arrived?.body.equals(body), 'the body arrives as it was sent');
      t.match(arrived?.url, /\/a%2Fb\?q=%20x&y=a\+b$/, 'and so does the path');
      t.match(arrived?.headers, { 'x-kept': 'caf\u00e9', cookie: 'c=3', te: 'trailers' });
      for (const name of ['x-hop', 'proxy-connection', 'x-service-agent-name'])
        t.notOk(arrived?.headers[name], name);
    },
  },
  {
    name: 'events are not held back',
    async run(t, cell) {
      // The upstream sends an event only when the client has seen the one before: held back, the stream would stand still.
      let sendNext = () => {};
      cell.serve((_request, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.flushHeaders();
        let number = 0;
        sendNext = () => {
          response.write(`data: ${++number}\n\n`);
          if (number === 5) response.end();
        };
      });
      const { headers, body } = await cell.call({ headers: { accept: 'text/event-stream' } });
      t.equal(headers['content-type'], 'text/event-stream', 'the head comes before the first event');
      const seen: string[] = [];
      sendNext();
      for await (const chunk of body) {
        seen.push(String(chunk));
        if (seen.length < 5) sendNext();
      }
      const sent = [1, 2, 3, 4, 5].map((it) => `data: ${it}\n\n`);
      t.same(seen, sent, 'each event comes alone, before the next is made');
    },
  },
  {
    name: '200 KB are uploaded byte for byte',
    async run(t, cell) {
      const body = textOf(200 * 1024);
      cell.serve((_request, response, arrived) => {
        response.writeHead(200, { 'content-type': 'text/plain' });
        response.end(String(arrived.length));
      });
      const heard = await cell.call({ method: 'PUT', headers: { 'content-type': 'text/plain' }, body });
      t.equal(heard.status, 200);
      t.equal((await wholeOf(heard.body)).toString(), String(body.length));
      t.ok(cell.arrived()[0]?.body.equals(body));
    },
  },
  {
    name: 'a large download waits for its reader, and is whole',
    async run(t, cell) {
      const chunk = textOf(65_536);
      const chunksTotal = 512;
      let sentChunks = 0;
      cell.serve(async (_request, response) => {
        response.writeHead(200, {
          'content-type': 'text/plain',
          'content-length': chunk.length * chunksTotal,
        });
        while (sentChunks < chunksTotal) {
          sentChunks++;
          if (!response.write(chunk)) await once(response, 'drain');
        }
        response.end();
      });
      const { status, body } = await cell.call({});
      t.equal(status, 200);
      // Nobody reads. Without back-pressure all would come through; with it, buffers fill and nothing moves any more.
      for (let still = 0, before = 0; still < 1000 && sentChunks < chunksTotal; before = sentChunks) {
        await nextTurn();
        still = sentChunks === before ? still + 1 : 0;
      }
      t.ok(sentChunks < chunksTotal, `${sentChunks} of ${chunksTotal} chunks are in the buffers on the way`);
      let bytes = 0;
      let isAsSent = true;
      for await (const data of body as AsyncIterable<Buffer>) {
        for (let at = 0; at < data.length; ) {
          const from = (bytes + at) % chunk.length;
          const length = Math.min(data.length - at, chunk.length - from);
          isAsSent &&= chunk.compare(data, at, at + length, from, from + length) === 0;
          at += length;
        }
        bytes += data.length;
      }
      t.equal(bytes, chunk.length * chunksTotal, 'nothing is lost');
      t.ok(isAsSent, 'and nothing is changed');
    },
  },
  {
    name: 'HEAD is answered with the head alone, and the length that GET would have',
    async run(t, cell) {
      cell.serve((_request, response) => {
        response.writeHead(200, { 'content-type': 'text/plain', 'content-length': 1234 });
        response.end();
      });
      const heard = await cell.call({ method: 'HEAD' });
      t.match(heard, { status: 200, headers: { 'content-length': '1234', 'content-type': 'text/plain' } });
      t.equal((await wholeOf(heard.body)).length, 0);
      t.equal(cell.arrived()[0]?.method, 'HEAD');
    },
  },
  ...[204, 304].map(
    (status): Kind => ({
      name: `${status} has no body, and no length that would make one wait for it`,
      async run(t, cell) {
        cell.serve((_request, response) => {
          response.writeHead(status, { etag: '"one"' });
          response.end();
        });
        const heard = await cell.call({ headers: { 'if-none-match': '"one"' } });
        t.match(heard, { status, headers: { etag: '"one"' } });
        t.notOk(heard.headers['transfer-encoding']);
        t.notOk(status === 204 && heard.headers['content-length']);
        t.equal((await wholeOf(heard.body)).length, 0);
      },
    }),
  ),
  {
    name: 'trailers follow the body',
    async run(t, cell) {
      cell.serve((_request, response) => {
        response.writeHead(200, { 'content-type': 'text/plain', trailer: 'x-sum' });
        response.write('part');
        response.addTrailers({ 'x-sum': '42', 'x-service-decision': 'DENY', 'set-cookie': 'late=1' });
        response.end();
      });
      const heard = await cell.call({});
      t.equal((await wholeOf(heard.body)).toString(), 'part');
      t.equal(heard.trailers()['x-sum'], '42');
      for (const name of ['x-service-decision', 'set-cookie'])
        t.notOk(heard.trailers()[name], `no ${name} so late`);
    },
  },
  {
    name: 'a client that waits for 100 Continue is told to go on, and the upstream has the whole call',
    async run(t, cell) {
      cell.serve((_request, response, body) => {
        response.end(body);
      });
      const heard = await cell.call({
        method: 'POST',
        headers: json,
        body: Buffer.from('{"a":1}'),
        awaitsContinue: true,
      });
      t.equal(heard.status, 200);
      t.equal((await wholeOf(heard.body)).toString(), '{"a":1}');
      t.notOk(cell.arrived()[0]?.headers.expect, 'the expectation is met by the gateway');
    },
  },
  {
    name: 'an interim answer (103) ends at the gateway, and the final one passes',
    async run(t, cell) {
      cell.serve((_request, response) => {
        response.writeEarlyHints({ link: '</style.css>; rel=preload; as=style' });
        response.writeHead(200, { 'content-type': 'text/plain' });
        response.end('final');
      });
      const heard = await cell.call({});
      t.equal(heard.status, 200);
      t.equal((await wholeOf(heard.body)).toString(), 'final');
      t.same(heard.interim, [], 'what was not judged is not shown');
    },
  },
  {
    name: 'a gRPC call has its answers message by message, and its status in the trailers',
    whyNot: notGrpc,
    async run(t, cell) {
      let sendNext = () => {};
      cell.serve((_request, response, body) => {
        response.writeHead(200, { 'content-type': 'application/grpc+proto', trailer: 'grpc-status' });
        response.flushHeaders();
        let number = 0;
        sendNext = () => {
          response.write(number++ === 0 ? body : grpcMessage(`message ${number}`));
          if (number < 3) return;
          response.addTrailers({ 'grpc-status': '0', 'grpc-message': 'fine' });
          response.end();
        };
      });
      const asked = grpcMessage('hello');
      const headers = { 'content-type': 'application/grpc+proto' };
      const heard = await cell.call({ method: 'POST', headers, body: asked });
      t.match(heard, { status: 200, headers: { 'content-type': 'application/grpc+proto' } });
      const seen: Buffer[] = [];
      sendNext();
      for await (const message of heard.body) {
        seen.push(message);
        if (seen.length < 3) sendNext();
      }
      t.same(seen, [asked, grpcMessage('message 2'), grpcMessage('message 3')]);
      t.match(heard.trailers(), { 'grpc-status': '0', 'grpc-message': 'fine' });
      t.match(cell.arrived()[0]?.headers, { te: 'trailers', 'content-type': 'application/grpc+proto' });
    },
  },
  {
    name: 'messages of a gRPC call go both ways, each before the next is made',
    whyNot: notGrpc,
    async run(t, cell) {
      cell.serveEarly((request, response) => {
        response.writeHead(200, { 'content-type': 'application/grpc', trailer: 'grpc-status' });
        request.on('data', (message: Buffer) => response.write(message));
        request.on('end', () => {
          response.addTrailers({ 'grpc-status': '0' });
          response.end();
        });
      });
      const messages = new PassThrough();
      const headers = { 'content-type': 'application/grpc' };
      const said = ['one', 'two', 'three', 'four'].map(grpcMessage);
      messages.write(said[0]);
      const heard = await cell.call({ method: 'POST', headers, messages });
      const echoed: Buffer[] = [];
      for await (const message of heard.body) {
        echoed.push(message);
        const next = said[echoed.length];
        if (next) messages.write(next);
        else messages.end();
      }
      t.same(echoed, said);
      t.match(heard.trailers(), { 'grpc-status': '0' });
    },
  },
  {
    name: 'WebSocket is opened, and its messages go both ways, each before the next is made',
    async run(t, cell) {
      const { status, switched } = await cell.call({ isWebSocket: true });
      t.equal(status, cell.way.protocol === 'HTTP/2' ? 200 : 101);
      if (!switched) return;
      const said: Message[] = [
        { opcode: opcodes.text, content: Buffer.from('gr\u00fc\u00dfe') },
        { opcode: opcodes.binary, content: textOf(20_000) },
        { opcode: opcodes.text, content: Buffer.from('{"last":true}') },
        { opcode: opcodes.close, content: Buffer.from([0x03, 0xe8]) },
      ];
      const heard: Message[] = [];
      const sayNext = () => switched.write(toFrame(said[heard.length] as Message, true));
      sayNext();
      for await (const message of messagesOf(switched)) {
        heard.push(message);
        if (heard.length < said.length) sayNext();
      }
      t.same(heard, said, 'the upstream sends back what it was sent, the end too');
    },
  },
];
