import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import t from 'tap';
import { METHODS, STATUS_CODES } from '../../src/util/plain-http.ts';

const gateway = resolve(import.meta.dirname, '../../src/daemon/gateway.ts');

t.test('it is what node:http has', async (t) => {
  t.ok(METHODS.includes('GET'));
  t.equal(STATUS_CODES[404], 'Not Found');
});

t.test(
  'a daemon loads neither WebSocket nor fetch of Node, nor does a library that it imports',
  async (t) => {
    const program = `await import(${JSON.stringify(gateway)}); console.log(process.moduleLoadList.join('\\n'));`;
    const { NODE_OPTIONS: _, ...env } = process.env;
    const args = ['--input-type=module', '--eval', program];
    const { stdout } = await promisify(execFile)(process.execPath, args, { env });
    t.match(stdout, /NativeModule http$/m);
    t.notMatch(stdout, /undici/);
  },
);
