import t from 'tap';
import { startRedis } from '../support/redis.ts';
import { contractSuite } from './suite/index.ts';

const redis = await startRedis(t);
if (redis) await contractSuite(t, `redis://${redis.host}:${redis.port}/0`);
