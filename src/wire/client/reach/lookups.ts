import { GatewayError } from '../../../core/errors.ts';
import { RecentMap } from '../../../util/recent-map.ts';

/*
 * Names are looked up in threads, of which there are few, and a name server that never answers keeps one for
 * many seconds. So that names of one agent's choice cannot keep all threads, each domain has a few of them at
 * a time, and those that wait are served domain by domain in turn. Some threads are for domains that have
 * answered before: of dead ones there are many. Within a domain, names that have answered come first, since a
 * part of it may be dead. A name that is being looked up already is not looked up twice.
 */

type Answers = readonly { readonly address: string }[];

export type Lookup = (host: string) => Promise<Answers>;

/** Lookups at a time: libuv gives half of its threads to them, which `bin/postern` sets to 64. */
const runningMax = 28;
/** Of domains that have not answered lately, or were slow. */
const unprovenMax = 20;
/** Of one domain. */
const perDomainMax = 4;
/** Names that wait; of domains that have answered, twice as many. */
export const waitingMax = 4_096;
/** Whoever has waited for longer has given up, as a rule. */
const waitMsMax = 15_000;

/** Name servers take a fraction of it. */
const slowMs = 2_000;
/** For so long a slow domain has not answered, whatever it does: else it could be slow again at once. */
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

export function createLookups(lookup: Lookup, nowMs: () => number = () => performance.now()): Lookup {
  const underWay = new Map<string, Promise<Answers>>();
  /** In the order of their turns. */
  const domains = new Map<string, Domain>();
  /** Domains that have answered, or until when they count as slow. */
  const standing = new RecentMap<string, 'answers' | number>(domainsMax);
  /** Names that have answered. */
  const known = new RecentMap<string, true>(domainsMax);
  let running = 0;
  let unproven = 0;
  let waiting = 0;

  const isProven = (name: string): boolean => standing.get(name) === 'answers';

  function note(host: string, name: string, tookMs: number, isAnswered: boolean): void {
    const before = standing.get(name);
    if (isAnswered && tookMs <= slowMs) known.set(host, true);
    else known.delete(host);
    if (tookMs > slowMs) standing.set(name, nowMs() + slowKeptMs);
    else if (isAnswered && (typeof before !== 'number' || before <= nowMs())) standing.set(name, 'answers');
  }

  /** Takes the next name, and puts its domain at the end of the line. */
  function next(): [Asked, string, Domain] | undefined {
    for (const [name, domain] of domains) {
      const [first] = domain.waiting;
      if (!first || (domain.running >= perDomainMax && !known.has(first.host))) continue;
      if (unproven >= unprovenMax && !isProven(name)) continue;
      domains.delete(name);
      domains.set(name, domain);
      return [domain.waiting.shift() as Asked, name, domain];
    }
    return undefined;
  }

  function start(): void {
    while (running < runningMax) {
      const found = next();
      if (!found) return;
      const [asked, name, domain] = found;
      const share = isProven(name) ? 0 : 1;
      waiting--;
      running++;
      unproven += share;
      domain.running++;
      void run(asked, name).finally(() => {
        underWay.delete(asked.host);
        running--;
        unproven -= share;
        domain.running--;
        if (domain.running === 0 && domain.waiting.length === 0) domains.delete(name);
        start();
      });
    }
  }

  async function run({ host, sinceMs, resolve, reject }: Asked, name: string): Promise<void> {
    const startMs = nowMs();
    if (startMs - sinceMs > waitMsMax) {
      reject(new Error('The name has waited for too long.'));
      return;
    }
    try {
      const answers = await lookup(host);
      note(host, name, nowMs() - startMs, true);
      resolve(answers);
    } catch (error) {
      note(host, name, nowMs() - startMs, false);
      reject(error);
    }
  }

  return (host) => {
    const same = underWay.get(host);
    if (same) return same;
    const name = domainOf(host);
    if (waiting >= (isProven(name) ? 2 : 1) * waitingMax)
      throw new GatewayError('GATEWAY_BUSY', 'Too many names wait to be resolved.', { retryAfterSeconds: 5 });
    const { promise, resolve, reject } = Promise.withResolvers<Answers>();
    underWay.set(host, promise);
    const domain = domains.get(name) ?? { waiting: [], running: 0 };
    domains.set(name, domain);
    const asked = { host, sinceMs: nowMs(), resolve, reject };
    if (known.has(host)) domain.waiting.unshift(asked);
    else domain.waiting.push(asked);
    waiting++;
    start();
    return promise;
  };
}

/** Returns what somebody has registered, roughly: two labels, or three where the second one is as in `co.uk`. */
function domainOf(host: string): string {
  const labels = host.split('.');
  const isCountry = labels.at(-1)?.length === 2 && (labels.at(-2)?.length ?? 0) <= 3;
  return labels.slice(isCountry ? -3 : -2).join('.');
}
