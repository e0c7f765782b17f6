import { AsyncLocalStorage } from 'node:async_hooks';
import { changeProgram } from '../support/change-program.ts';
import { clockHeader } from './clock-header.ts';

/*
 * Gives a daemon the clock of a test: `node --import clock-preload.ts?from=<ms>`. The program is changed in two places while it is loaded.
 * Each request to its control plane says in a header what time it is, and that time holds in all that is done for it,
 * whatever else goes on meanwhile; so a call is judged at exactly its time on any node. What nobody has asked for goes
 * by the latest time that was said. Timers are not touched.
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

changeProgram([
  // Else the state on Redis would go by the clock of Redis.
  { from: /\bclock = (["'])server\1/, to: "clock = 'caller'" },
  {
    from: '(exchange) => this.#control(exchange)',
    to: 'globalThis.serveAtTime((exchange) => this.#control(exchange))',
  },
]);
