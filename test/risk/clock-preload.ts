import { AsyncLocalStorage } from 'node:async_hooks';
import { readFileSync } from 'node:fs';
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

/** What of a request tells its time: names and values in turn. */
interface Dated {
  readonly fields: readonly string[];
}

const serveAtTime =
  <T extends Dated>(serve: (exchange: T) => void) =>
  (exchange: T): void => {
    const at = exchange.fields.findIndex((it, index) => index % 2 === 0 && it.toLowerCase() === clockHeader);
    const ms = at < 0 ? Number.NaN : Number(exchange.fields[at + 1]);
    if (Number.isNaN(ms)) {
      serve(exchange);
      return;
    }
    latestMs = Math.max(latestMs, ms);
    said.run(ms, () => serve(exchange));
  };
Object.assign(globalThis, { serveAtTime });

/** By the end of a module's address: what is changed in its source, and into what. */
const changes: Readonly<Record<string, readonly [source: string, changed: string]>> = {
  // Else the state on Redis would go by the clock of Redis.
  '/src/state/redis/store.ts': ["clock = 'server'", "clock = 'caller'"],
  '/src/daemon/start/servers.ts': [
    'agents.serve(socket, control)',
    'agents.serve(socket, globalThis.serveAtTime(control))',
  ],
};
registerHooks({
  load(url, context, next) {
    const loaded = next(url, context);
    const [, change] = Object.entries(changes).find(([end]) => url.endsWith(end)) ?? [];
    if (!change) return loaded;
    const source = readFileSync(new URL(url), 'utf8');
    if (!source.includes(change[0])) throw new Error(`the test's clock does not know ${url} as it is now`);
    return { ...loaded, source: source.replace(...change) };
  },
});
