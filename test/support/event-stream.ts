import { once } from 'node:events';
import http from 'node:http';
import type { Test } from 'tap';
import type { TestGateway } from './gateway.ts';
import { until } from './redis.ts';

/** An event of a stream of server-sent events. */
export interface Event {
  readonly id: string | undefined;
  readonly event: string | undefined;
  // biome-ignore lint/suspicious/noExplicitAny: data is looked into field by field
  readonly data: any;
}

/** Opens a stream, as a client without a pool would. */
export async function openStream(
  t: Test,
  gateway: Pick<TestGateway, 'controlUrl' | 'key'>,
  { path = '/v1/traces/stream', key = gateway.key, headers = {} } = {},
) {
  const request = http.get(new URL(path, gateway.controlUrl), {
    headers: { authorization: `Bearer ${key}`, ...headers },
    agent: false,
  });
  t.teardown(() => request.destroy());
  const [response] = (await once(request, 'response')) as [http.IncomingMessage];
  const events: Event[] = [];
  let rest = '';
  let hasEnded = false;
  response.setEncoding('utf8');
  response.on('data', (chunk: string) => {
    const blocks = (rest + chunk).split('\n\n');
    rest = blocks.pop() ?? '';
    for (const block of blocks) {
      const fields = new Map(
        block.split('\n').map((it) => [it.slice(0, it.indexOf(':')), it.slice(it.indexOf(':') + 2)]),
      );
      const data = fields.get('data');
      if (data !== undefined)
        events.push({ id: fields.get('id'), event: fields.get('event'), data: JSON.parse(data) });
    }
  });
  response.once('end', () => {
    hasEnded = true;
  });
  const ids = () => events.filter((it) => it.event === 'trace').map((it) => it.id);
  return {
    response,
    events,
    ids,
    has: (...wanted: string[]) => until('events', async () => wanted.every((id) => ids().includes(id))),
    ended: () => until('the end of the stream', async () => hasEnded),
    leave: () => request.destroy(),
  };
}
