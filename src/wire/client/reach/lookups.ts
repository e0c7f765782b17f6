import { getDomain } from 'tldts';
import { GatewayError } from '../../../core/errors.ts';
import { RecentMap } from '../../../util/recent-map.ts';

/*
 * Names are looked up in threads, of which there are few, and a name server that never answers keeps one for
 * many seconds. So that names of one agent's choice cannot keep all threads, each domain has a few of them at
 * a time, and those that wait are served domain by domain in turn. Some threads are kept for domains that
 * have answered before, since there are many dead ones. Within a domain, names that have answered come first,
 * since a part of it may be dead. A name that is being looked up already is not looked up twice.
 */

type Answers = readonly { readonly address: string }[];

export type Lookup = (host: string) => Promise<Answers>;

/** Lookups that run at a time. libuv gives half of its threads to them, which `bin/postern` sets to 64. */
const runningMax = 28;
/** Lookups at a time for domains that have not answered lately, or were slow. */
const unprovenMax = 20;
/** Lookups at a time for one domain, beside those of names that have answered. */
const perDomainMax = 4;
/** Names that may wait; of domains that have answered, twice as many may. */
export const waitingNamesMax = 4_096;
/** Time that a name may wait. Whoever asked for it has given up by then, as a rule. */
const waitMsMax = 15_000;

/** Time above which an answer is slow. Name servers take a fraction of it. */
const slowMs = 2_000;
/** Time for which a slow domain counts as slow, whatever it does: else it could be slow again at once. */
const slowKeptMs = 600_000;
export const domainsMax = 16_384;

interface Asked {
  readonly host: string;
  readonly sinceMs: number;
  resolve(answers: Answers): void;
  reject(error: unknown): void;
}

interface Domain {
  readonly waiting: Asked[];
  running: number;
}

/** Returns a lookup that shares the threads fairly. That throws GATEWAY_BUSY where too many names wait. */
export function createLookups(lookup: Lookup, nowMs: () => number = () => performance.now()): Lookup {
  const lookups = new Lookups(lookup, nowMs);
  return (host) => lookups.ask(host);
}

class Lookups {
  readonly #lookup: Lookup;
  readonly #nowMs: () => number;
  readonly #underWay = new Map<string, Promise<Answers>>();
  /** Domains with names that run or wait, in the order of their turns. */
  readonly #domains = new Map<string, Domain>();
  /** Domains that have answered, or the time in milliseconds until which they count as slow. */
  readonly #standing = new RecentMap<string, 'answers' | number>(domainsMax);
  /** Names that have answered, and not slowly. */
  readonly #known = new RecentMap<string, true>(domainsMax);
  #running = 0;
  #unproven = 0;
  #waiting = 0;

  constructor(lookup: Lookup, nowMs: () => number) {
    this.#lookup = lookup;
    this.#nowMs = nowMs;
  }

  ask(host: string): Promise<Answers> {
    const same = this.#underWay.get(host);
    if (same) return same;
    const name = domainOf(host);
    if (this.#waiting >= (this.#isProven(name) ? 2 : 1) * waitingNamesMax)
      throw new GatewayError('GATEWAY_BUSY', 'Too many names wait to be resolved.', { retryAfterSeconds: 5 });
    const { promise, resolve, reject } = Promise.withResolvers<Answers>();
    this.#underWay.set(host, promise);
    const domain = this.#domains.get(name) ?? { waiting: [], running: 0 };
    this.#domains.set(name, domain);
    const asked = { host, sinceMs: this.#nowMs(), resolve, reject };
    if (this.#known.has(host)) domain.waiting.unshift(asked);
    else domain.waiting.push(asked);
    this.#waiting++;
    this.#start();
    return promise;
  }

  #start(): void {
    while (this.#running < runningMax) {
      const found = this.#next();
      if (!found) return;
      const [asked, name, domain] = found;
      const share = this.#isProven(name) ? 0 : 1;
      this.#waiting--;
      this.#running++;
      this.#unproven += share;
      domain.running++;
      void this.#run(asked, name).finally(() => {
        this.#underWay.delete(asked.host);
        this.#running--;
        this.#unproven -= share;
        domain.running--;
        if (domain.running === 0 && domain.waiting.length === 0) this.#domains.delete(name);
        this.#start();
      });
    }
  }

  /** Takes the next name, and puts its domain at the end of the line. */
  #next(): [Asked, string, Domain] | undefined {
    for (const [name, domain] of this.#domains) {
      const [first] = domain.waiting;
      if (!first || (domain.running >= perDomainMax && !this.#known.has(first.host))) continue;
      if (this.#unproven >= unprovenMax && !this.#isProven(name)) continue;
      this.#domains.delete(name);
      this.#domains.set(name, domain);
      return [domain.waiting.shift() as Asked, name, domain];
    }
    return undefined;
  }

  async #run({ host, sinceMs, resolve, reject }: Asked, name: string): Promise<void> {
    const startMs = this.#nowMs();
    if (startMs - sinceMs > waitMsMax) {
      reject(new Error('The name has waited for too long.'));
      return;
    }
    try {
      const answers = await this.#lookup(host);
      this.#note(host, name, this.#nowMs() - startMs, true);
      resolve(answers);
    } catch (error) {
      this.#note(host, name, this.#nowMs() - startMs, false);
      reject(error);
    }
  }

  #note(host: string, name: string, tookMs: number, isAnswered: boolean): void {
    const before = this.#standing.get(name);
    if (isAnswered && tookMs <= slowMs) this.#known.set(host, true);
    else this.#known.delete(host);
    if (tookMs > slowMs) this.#standing.set(name, this.#nowMs() + slowKeptMs);
    else if (isAnswered && (typeof before !== 'number' || before <= this.#nowMs()))
      this.#standing.set(name, 'answers');
  }

  #isProven(name: string): boolean {
    return this.#standing.get(name) === 'answers';
  }
}

/**
 * Returns the domain that was registered, whose name servers answer for all below it. Domains that are shared
 * by strangers (`github.io`) are not divided: whoever runs them answers for all of them.
 */
const domainOf = (host: string): string => getDomain(host) ?? host;
