import t from 'tap';
import { startRedisCluster } from '../support/redis.ts';
import { commandsOf } from './suite/commands.ts';
import { contractSuite } from './suite/index.ts';

const cluster = await startRedisCluster(t);
if (cluster) {
  const { masters } = cluster;
  const url = `redis+cluster://${masters.map(({ host, port }) => `${host}:${port}`).join(',')}`;
  await contractSuite(t, { url, dirs: [t.testdirName], asked: () => commandsOf(masters) });
}
