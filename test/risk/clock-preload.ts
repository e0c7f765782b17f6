import { AsyncLocalStorage } from 'node:async_hooks';
import { readFileSync } from 'node:fs';
import http, { type IncomingMessage } from 'node:http';
import { registerHooks } from 'node:module';
import { clockHeader } from './clock-header.ts';

/*
 * Gives a daemon the clock of a test: `node --import clock-preload.ts?from=<ms>`. Each request to its control plane says in a header what
 * time it is, and that time holds in all that is done for it, whatever else goes on meanwhile; so a call is judged at exactly its time on
 * any node. What nobody has asked for goes by the latest time that was said. Timers are not touched.
 */

const said = new AsyncLocalStorage<number>();
let latestMs = Number(new URL(import.meta.url).searchParams.get('from'));

Date.now = () => said.getStore() ?? latestMs;

const { emit } = http.Server.prototype;
http.Server.prototype.emit = function emitAtTime(
  this: http.Server,
  event: string,
  ...args: unknown[]
): boolean {
  const go = (): boolean => Reflect.apply(emit, this, [event, ...args]);
  const ms = event === 'request' ? Number((args[0] as IncomingMessage).headers[clockHeader]) : Number.NaN;
  if (Number.isNaN(ms)) return go();
  latestMs = Math.max(latestMs, ms);
  return said.run(ms, go);
};

/** Else the state on Redis would go by the clock of Redis. */
const byServer = "clock = 'server'";
registerHooks({
  load(url, context, next) {
    const loaded = next(url, context);
    if (!url.endsWith('/src/state/redis/store.ts')) return loaded;
    const source = readFileSync(new URL(url), 'utf8');
    if (!source.includes(byServer)) throw new Error('the clock of the state is chosen elsewhere now');
    return { ...loaded, source: source.replace(byServer, "clock = 'caller'") };
  },
});
