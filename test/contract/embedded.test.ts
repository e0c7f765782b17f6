import t from 'tap';
import { contractSuite } from './suite/index.ts';

await contractSuite(t, 'embedded:./data');
