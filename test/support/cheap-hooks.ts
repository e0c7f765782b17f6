import hooks from 'node:async_hooks';
import { syncBuiltinESMExports } from 'node:module';

/*
 * tap follows each promise to the test that an error in it belongs to, which takes a fifth of the processor's time. Here it follows timers,
 * sockets and files alone, and a rejection that nobody handles fails the file, see together.ts. To be imported before tap.
 */

const { createHook } = hooks;
hooks.createHook = (callbacks) => createHook({ ...callbacks, trackPromises: false });
syncBuiltinESMExports();
