import t from 'tap';
import { contractSuite } from './suite/index.ts';

await contractSuite(t, { url: 'embedded:./data', dirs: [], asked: async () => 0 });
