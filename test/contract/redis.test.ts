import t from 'tap';
import { startRedis } from '../support/redis.ts';
import { commandsOf } from './suite/commands.ts';
import { contractSuite } from './suite/index.ts';

const dir = t.testdir();
const redis = await startRedis(t, { dir });
if (redis) {
  const url = `redis://${redis.host}:${redis.port}/0`;
  await contractSuite(t, { url, dirs: [dir], asked: () => commandsOf([redis]) });
}
