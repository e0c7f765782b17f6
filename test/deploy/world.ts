// What lies outside, for the tests of recipes: an upstream, a name server and QUIC's port. Prints where it is, and on each line that it
// reads how much has arrived at each port since.
import dgram from 'node:dgram';
import { once } from 'node:events';
import net from 'node:net';
import { createInterface } from 'node:readline';
import { startUpstream } from '../support/upstream.ts';

const address = process.argv[2] ?? '';
const arrived: Record<string, number> = {};
const count = (what: string): void => {
  arrived[what] = (arrived[what] ?? 0) + 1;
};

const steps: (() => void | Promise<void>)[] = [];
const upstream = await startUpstream({ teardown: (step) => steps.push(step) }, undefined, { address });
for (const port of [53, 443]) {
  const server = net.createServer((socket) => {
    count(`tcp ${port}`);
    socket.end();
  });
  server.listen(port, address);
  await once(server, 'listening');
  const datagrams = dgram.createSocket('udp4');
  datagrams.on('message', () => count(`udp ${port}`));
  datagrams.bind(port, address);
  await once(datagrams, 'listening');
}
console.log(JSON.stringify({ port: upstream.port, caFile: upstream.caFile }));
for await (const _ of createInterface({ input: process.stdin })) console.log(JSON.stringify(arrived));
for (const step of steps) await step();
process.exit(0);
