import t from 'tap';
import { newKeyText } from '../../src/key-text.ts';
import { basic, openTunnel } from '../support/clients.ts';
import { startTestGateway } from '../support/gateway.ts';

t.test(
  'an address that tries key after key is held up; asking whether a key is needed is no try',
  async (t) => {
    const gateway = await startTestGateway(t);
    const connect = async (authorization?: string) => {
      const { status, headers, socket } = await openTunnel({
        proxyUrl: gateway.proxyUrl,
        authority: 'api.test.example:443',
        ...(authorization === undefined ? {} : { authorization }),
      });
      socket.destroy();
      return { status, headers };
    };
    for (let i = 0; i < 100; i++) t.equal((await connect()).status, 407);
    const statuses: number[] = [];
    for (let i = 0; i < 100; i++) statuses.push((await connect(basic(newKeyText('live')))).status);
    t.equal(statuses[0], 407);
    t.equal(statuses.at(-1), 429);
    const { status, headers } = await connect(basic(gateway.key));
    t.equal(status, 429, 'a good key does not help');
    t.ok(Number(headers['retry-after']) >= 1);
    const api = await gateway.api('POST', '/v1/scan', { url: 'https://api.test.example/' });
    t.equal(api.status, 429, 'the control plane counts with it');
  },
);
