import { promises as dns } from 'node:dns';
import { isIP } from 'node:net';
import { GatewayError } from '../../../core/errors.ts';
import { type HostMatcher, toHostMatcher } from './host-glob.ts';
import { createLookups, type Lookup } from './lookups.ts';

/** An entry of `upstream.resolve`: hosts that match are dialled at `address`, and at `port` if given. */
export interface ResolveEntry {
  /** Glob of hosts; `*` stands for labels at any depth. */
  readonly host: string;
  readonly address: string;
  readonly port?: number | undefined;
}

export interface ResolverOptions {
  /** Entries of which the first one that matches a host counts. */
  readonly resolve: readonly ResolveEntry[];
  /** Returns all addresses of a name; by default the system's resolver does. */
  readonly lookup?: Lookup;
}

export type Resolver = ReturnType<typeof createResolver>;

/** The lookup of the system's resolver. There is one for the process, as its threads are. */
const systemLookup = createLookups((host) => dns.lookup(host, { all: true }));

export function createResolver({ resolve, lookup = systemLookup }: ResolverOptions) {
  const entries: { matches: HostMatcher; entry: ResolveEntry }[] = resolve.map((entry) => {
    if (isIP(entry.address) === 0) throw new RangeError(`"${entry.address}" is not an IP address.`);
    return { matches: toHostMatcher(entry.host), entry };
  });

  const findEntry = (host: string): ResolveEntry | undefined =>
    entries.find(({ matches }) => matches(host))?.entry;

  return {
    /** Tells whether the host needs no name server: it is an address, or an entry replaces it. */
    isGiven: (host: string) => isIP(host) !== 0 || findEntry(host) !== undefined,
    /**
     * Returns the addresses behind a normalised host, at least one, in the order of preference, before they
     * are judged. Address literals stand for themselves. Throws UPSTREAM_UNREACHABLE where there are none.
     * The answer is not cached, and its time is not bounded: whoever dials has the deadline.
     */
    async resolve(host: string, port: number) {
      if (isIP(host) !== 0) return { addresses: [host], port };
      const replaced = findEntry(host);
      if (replaced) return { addresses: [replaced.address], port: replaced.port ?? port };
      const answers = await lookup(host).catch((error: unknown) => {
        if (error instanceof GatewayError) throw error;
        throw new GatewayError('UPSTREAM_UNREACHABLE', 'The host name cannot be resolved.', {}, error);
      });
      if (answers.length === 0)
        throw new GatewayError('UPSTREAM_UNREACHABLE', 'The host name has no address.');
      return { addresses: answers.map(({ address }) => address), port };
    },
  };
}
