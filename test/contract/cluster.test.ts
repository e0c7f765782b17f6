import t from 'tap';
import { startRedisCluster } from '../support/redis.ts';
import { contractSuite } from './suite/index.ts';

const cluster = await startRedisCluster(t);
const nodes = cluster?.masters.map(({ host, port }) => `${host}:${port}`).join(',');
if (nodes) await contractSuite(t, `redis+cluster://${nodes}`);
