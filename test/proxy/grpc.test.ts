import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as grpc from '@grpc/grpc-js';
import t, { type Test } from 'tap';
import { testAuthority } from '../support/certificates.ts';
import { startTestGateway } from '../support/gateway.ts';
import { awsKeyId } from '../support/secrets.ts';

/* gRPC by its own client and server, through the gate. Messages are strings; what they mean is no matter of the transport. */

const asText = {
  requestSerialize: (text: string) => Buffer.from(text),
  requestDeserialize: (bytes: Buffer) => bytes.toString(),
  responseSerialize: (text: string) => Buffer.from(text),
  responseDeserialize: (bytes: Buffer) => bytes.toString(),
};
const service = {
  say: { path: '/test.Echo/Say', requestStream: false, responseStream: false, ...asText },
  count: { path: '/test.Echo/Count', requestStream: false, responseStream: true, ...asText },
} satisfies grpc.ServiceDefinition;

function metadataOf(name: string, value: string): grpc.Metadata {
  const metadata = new grpc.Metadata();
  metadata.set(name, value);
  return metadata;
}

async function startLab(t: Test) {
  const said: string[] = [];
  const server = new grpc.Server();
  server.addService(service, {
    say(call: grpc.ServerUnaryCall<string, string>, answer: grpc.sendUnaryData<string>) {
      said.push(call.request);
      if (call.request === 'fail') answer({ code: grpc.status.NOT_FOUND, details: 'no such word' });
      else
        answer(null, `you said ${call.request}`, metadataOf('x-heard', call.metadata.get('x-said').join()));
    },
    count(call: grpc.ServerWritableStream<string, string>) {
      for (let n = 1; n <= Number(call.request); n++) call.write(String(n));
      call.end();
    },
  });
  const { certPem, keyPem } = testAuthority().issue();
  const credentials = grpc.ServerCredentials.createSsl(null, [
    { cert_chain: Buffer.from(certPem), private_key: Buffer.from(keyPem) },
  ]);
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync('127.0.0.1:0', credentials, (error, port) => (error ? reject(error) : resolve(port))),
  );
  t.teardown(() => server.forceShutdown());
  const dir = mkdtempSync(join(tmpdir(), 'postern-grpc-'));
  t.teardown(() => rmSync(dir, { recursive: true, force: true }));
  const caFile = join(dir, 'ca.pem');
  writeFileSync(caFile, testAuthority().certPem);
  const gateway = await startTestGateway(t, {
    upstream: { port, caFile },
    config: { limits: { scan_timeout: '30s' } },
  });
  const Client = grpc.makeGenericClientConstructor(service, 'Echo');
  const ca = readFileSync(gateway.caFile);
  process.env['grpc_proxy'] = gateway.proxyWithKey;
  const client = new Client(`api.test.example:${port}`, grpc.credentials.createSsl(ca));
  t.teardown(() => {
    client.close();
    delete process.env['grpc_proxy'];
  });
  const say = (text: string, metadata = new grpc.Metadata()) => {
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    const trailers = Promise.withResolvers<grpc.Metadata>();
    const call = client['say']?.(text, metadata, (error: grpc.ServiceError | null, answer: string) =>
      error ? reject(error) : resolve(answer),
    );
    call.on('status', (status: grpc.StatusObject) => trailers.resolve(status.metadata));
    return { answer: promise, trailers: trailers.promise };
  };
  return { client, gateway, said, say };
}

t.test('unary calls pass with their metadata, their trailers and their status', async (t) => {
  const { say } = await startLab(t);
  const { answer, trailers } = say('hello', metadataOf('x-said', 'before'));
  t.equal(await answer, 'you said hello');
  t.same((await trailers).get('x-heard'), ['before']);
  const failed = await say('fail').answer.catch((error: grpc.ServiceError) => error);
  t.match(failed, { code: grpc.status.NOT_FOUND, details: 'no such word' });
  const many = await Promise.all(Array.from({ length: 50 }, (_, i) => say(`word ${i}`).answer));
  t.same(
    many,
    many.map((_, i) => `you said word ${i}`),
  );
});

t.test('what a message carries is read like any body', async (t) => {
  const { say, said, gateway } = await startLab(t);
  const denySecrets = { rule_id: 'no-secrets', priority: 1, match: {}, action: 'DENY' };
  await gateway.apply([{ ...denySecrets, condition: { has_data_class: ['SECRETS'] } }]);
  const failed = await say(`our key is ${awsKeyId()}`).answer.catch((error: grpc.ServiceError) => error);
  t.match(failed, { code: grpc.status.PERMISSION_DENIED });
  const inMetadata = await say('hello', metadataOf('x-note', awsKeyId())).answer.catch((error) => error);
  t.match(inMetadata, { code: grpc.status.PERMISSION_DENIED });
  t.same(said, [], 'nothing reaches the server');
});

t.test('a stream of answers passes message by message', async (t) => {
  const { client } = await startLab(t);
  const call = client['count']?.('200');
  const numbers: string[] = [];
  for await (const number of call) numbers.push(number);
  t.same(
    numbers,
    Array.from({ length: 200 }, (_, i) => String(i + 1)),
  );
});
