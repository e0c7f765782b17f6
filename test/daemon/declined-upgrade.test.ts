import net, { type Socket } from 'node:net';
import t, { type Test } from 'tap';
import { basic } from '../support/clients.ts';
import { startTestGateway } from '../support/gateway.ts';
import { until } from '../support/redis.ts';
import { startUpstream } from '../support/upstream.ts';

/*
 * Whoever asks to go on in another protocol may have begun to speak it. So nothing behind such a request is read as one, where that is not
 * granted. Other requests that come at once are read one after the other.
 */

async function startLab(t: Test) {
  const held: (() => void)[] = [];
  const upstream = await startUpstream(
    t,
    (request, response) => {
      if (request.url?.endsWith('/slow')) held.push(() => void response.end('slow'));
      else response.end('{}');
    },
    { tls: false },
  );
  const origin = `http://api.test.example:${upstream.port}`;
  const gateway = await startTestGateway(t, {
    upstream,
    config: { inbound: [{ prefix: 'bot', tenant: 'acme', upstream: origin }] },
  });
  const places = {
    control: { url: gateway.controlUrl, base: '/inbound/bot', field: `Authorization: Bearer ${gateway.key}` },
    proxy: { url: gateway.proxyUrl, base: origin, field: `Proxy-Authorization: ${basic(gateway.key)}` },
  };
  const host = new URL(origin).host;
  const connect = (url: string): Socket => {
    const { hostname, port } = new URL(url);
    const socket = net.connect(Number(port), hostname);
    t.teardown(() => socket.destroy());
    return socket;
  };
  let forgotten = 0;
  const seen = () => upstream.requests.slice(forgotten).map((it) => it.url.split('/').at(-1));
  const forget = () => {
    forgotten = upstream.requests.length;
  };
  const release = () => {
    for (const let_ of held.splice(0)) let_();
  };
  return { places, host, connect, seen, forget, release };
}

const upgrade = 'Connection: Upgrade\r\nUpgrade: h2c\r\n';
const answersIn = (bytes: Buffer): number => bytes.toString().match(/HTTP\/1\.1 \d{3} /g)?.length ?? 0;

t.test('the connection ends with the answer, whatever stands behind', async (t) => {
  const { places, host, connect, seen, forget } = await startLab(t);
  for (const [place, { url, base, field }] of Object.entries(places)) {
    const head = (method: string, path: string, more = ''): string =>
      `${method} ${base}${path} HTTP/1.1\r\nHost: ${host}\r\n${field}\r\n${more}\r\n`;
    const first = {
      'a GET': head('GET', '/first', upgrade),
      'a POST with its body': `${head('POST', '/first', `${upgrade}Content-Length: 2\r\n`)}{}`,
      'a POST in chunks': `${head('POST', '/first', `${upgrade}Transfer-Encoding: chunked\r\n`)}2\r\n{}\r\n0\r\n\r\n`,
      'one that waits to be asked': `${head('POST', '/first', `${upgrade}Expect: 100-continue\r\nContent-Length: 2\r\n`)}{}`,
      'several protocols': head('GET', '/first', 'Connection: Upgrade\r\nUpgrade: foo/1, h2c\r\n'),
      'no word of it in Connection': head('GET', '/first', 'Upgrade: h2c\r\n'),
    };
    for (const [name, bytes] of Object.entries(first)) {
      const socket = connect(url);
      forget();
      socket.write(bytes + head('GET', '/second'));
      const answers = Buffer.concat(await socket.toArray());
      const interim = answers.toString().includes('100 Continue') ? 1 : 0;
      t.equal(answersIn(answers) - interim, 1, `${place}, ${name}: one answer`);
      t.same(seen(), ['first'], `${place}, ${name}: one request`);
    }
  }
});

t.test('what comes while the answer is owed is no request either', async (t) => {
  const { places, host, connect, seen, forget, release } = await startLab(t);
  for (const [place, { url, base, field }] of Object.entries(places)) {
    forget();
    const socket = connect(url);
    socket.write(`GET ${base}/slow HTTP/1.1\r\nHost: ${host}\r\n${field}\r\n${upgrade}\r\nGET ${base}/cu`);
    await until('it is on its way', async () => seen().length === 1);
    // The end of a request whose beginning was dropped, and in it a whole one of somebody else.
    socket.write(`GET ${base}/smuggled HTTP/1.1\r\nHost: ${host}\r\n${field}\r\n\r\n`);
    socket.write(
      `POST ${base}/smuggled HTTP/1.1\r\nHost: ${host}\r\n${field}\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n{}`,
    );
    await new Promise((resolve) => setTimeout(resolve, 200));
    release();
    const answers = Buffer.concat(await socket.toArray());
    t.equal(answersIn(answers), 1, place);
    t.same(seen(), ['slow'], place);
  }
});

t.test('a CONNECT behind a request that is owed its answer waits for it', async (t) => {
  const { places, host, connect, seen, release } = await startLab(t);
  const { url, base, field } = places.proxy;
  const socket = connect(url);
  socket.write(`GET ${base}/slow HTTP/1.1\r\nHost: ${host}\r\n${field}\r\n\r\n`);
  await until('it is on its way', async () => seen().length === 1);
  socket.write(`CONNECT ${host} HTTP/1.1\r\n${field}\r\n\r\nGET /inside HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
  let answers = '';
  socket.on('data', (chunk: Buffer) => {
    answers += chunk.toString('latin1');
  });
  // A tunnel to whoever reads none: its answer would come in the middle of the one that is owed.
  await new Promise((resolve) => setTimeout(resolve, 200));
  t.equal(answers, '', 'nothing is said of it before');
  release();
  await until('all is answered', async () => answersIn(Buffer.from(answers)) === 3);
  t.match(answers, /^HTTP\/1\.1 200 OK.*slowHTTP\/1\.1 200 Connection Established\r\n\r\nHTTP\/1\.1 200 OK/s);
  t.same(seen(), ['slow', 'inside']);
});

t.test(
  'pipelined requests run one after the other, and nothing behind a malformed one is read',
  async (t) => {
    const { places, host, connect, seen, forget, release } = await startLab(t);
    for (const [place, { url, base, field }] of Object.entries(places)) {
      forget();
      const head = (path: string, line = 'HTTP/1.1'): string =>
        `GET ${base}${path} ${line}\r\nHost: ${host}\r\n${field}\r\n\r\n`;
      const socket = connect(url);
      socket.write(head('/slow') + head('/second') + head('/two', ' HTTP/1.1') + head('/behind'));
      await until('it is on its way', async () => seen().length === 1);
      await new Promise((resolve) => setTimeout(resolve, 100));
      t.same(seen(), ['slow'], `${place}: the next one waits`);
      release();
      const answers = Buffer.concat(await socket.toArray()).toString('latin1');
      t.same(
        answers.match(/(?<=HTTP\/1\.1 )\d{3}(?= )/g),
        ['200', '200', '400'],
        `${place}: two blanks are malformed`,
      );
      t.match(answers, /\r\nConnection: close\r\n/, `${place}: and end the connection`);
      t.same(seen(), ['slow', 'second'], place);
    }
  },
);

t.test('a CONNECT with a body opens no tunnel', async (t) => {
  const { places, host, connect } = await startLab(t);
  const { url, field } = places.proxy;
  for (const framing of ['Content-Length: 5', 'Transfer-Encoding: chunked']) {
    const socket = connect(url);
    socket.write(`CONNECT ${host} HTTP/1.1\r\n${field}\r\n${framing}\r\n\r\nhello`);
    const answer = Buffer.concat(await socket.toArray()).toString();
    t.match(answer, /^HTTP\/1\.1 400 .*\r\nConnection: close\r\n/s, framing);
  }
});
