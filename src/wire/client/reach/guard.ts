import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import { GatewayError, toGatewayError } from '../../../core/errors.ts';
import { RangeList } from '../../../util/addresses.ts';
import { kept } from '../../../util/kept.ts';
import { RecentMap } from '../../../util/recent-map.ts';
import { type HostMatcher, toHostMatcher } from './host-glob.ts';
import { embeddedIpv4Addresses, isMetadataAddress, isMetadataName, specialRangeOf } from './ranges.ts';

/*
 * The guard against server-side request forgery. It judges twice: the host as it is asked for, before
 * anything is resolved, and each address that is about to be dialled, after DNS. Only the second judgement
 * cannot be got round by another spelling. The first spares us the question to a name server, and holds the
 * rules about names.
 */

export interface AddressGuardOptions {
  /** CIDRs that may be dialled though not public. Metadata services and our own listeners never may. */
  readonly allowPrivate: readonly string[];
  /** Host globs (`*` at any depth), addresses and CIDRs. Denial wins over `allowPrivate`. */
  readonly deny: readonly string[];
  /** Ports that may be dialled; empty for all. */
  readonly allowedPorts: readonly number[];
  /** Returns the addresses of the daemon's own listeners; it is called anew each time. */
  readonly ownListeners: () => readonly ListenerAddress[];
  /** Tells whether a threat feed lists an address that is to be dialled. */
  readonly isThreat?: (address: string) => boolean;
}

export interface ListenerAddress {
  readonly address: string;
  readonly port: number;
}

export type Guard = ReturnType<typeof createGuard>;

/** The judgement of the ranges on an address. */
interface Place {
  readonly isMetadata: boolean;
  readonly isDenied: boolean;
  /**
   * Name of the special range. Undefined for public addresses, and for those that may be dialled all the
   * same.
   */
  readonly privateRange: string | undefined;
  readonly embedded: readonly string[];
}

const placesMax = 4096;

/** Returns why nobody may go to a host, if that can be told without resolving it; undefined where one may. */
export function whyBlocked(
  guard: Guard,
  { host, port }: { readonly host: string; readonly port: number },
): GatewayError | undefined {
  try {
    guard.checkHost(host, port);
    return undefined;
  } catch (error) {
    return toGatewayError(error);
  }
}

const isRange = (text: string): boolean => isIP(text.split('/')[0] ?? '') !== 0;

/** Creates the guard. Throws a RangeError for a CIDR that is malformed. */
export function createGuard(options: AddressGuardOptions) {
  const allowed = new RangeList(options.allowPrivate);
  const denied = new RangeList(options.deny.filter(isRange));
  const deniedHosts: readonly HostMatcher[] = options.deny
    .filter((text) => !isRange(text))
    .map(toHostMatcher);
  const ports = new Set(options.allowedPorts);
  const knownPlaces = new RecentMap<string, Place>(placesMax);

  /**
   * Returns the judgement of the ranges on an address. That does not change, so it is kept: the calls of a
   * route ask for the same address each time.
   */
  function placeOf(address: string): Place {
    return kept(knownPlaces, address, () => ({
      isMetadata: isMetadataAddress(address),
      isDenied: denied.has(address),
      privateRange: allowed.has(address) ? undefined : specialRangeOf(address),
      embedded: embeddedIpv4Addresses(address),
    }));
  }

  /** Judges a normalised host and its port without resolving it. Throws EGRESS_BLOCKED. */
  function checkHost(host: string, port: number): void {
    if (ports.size > 0 && !ports.has(port)) block(`Port ${port} is not among the allowed ports.`);
    if (isMetadataName(host)) block('The host is a cloud metadata service.');
    if (deniedHosts.some((matches) => matches(host))) block('The host is denied by configuration.');
    if (isIP(host) !== 0) checkAddress(host, port);
  }

  /** Judges an address that is to be dialled. Throws EGRESS_BLOCKED, also for text that is no address. */
  function checkAddress(address: string, port: number): void {
    // A zone would slip through BlockList, and no public address has one.
    if (isIP(address) === 0 || address.includes('%')) block('The upstream address is not an IP address.');
    judge(address, port);
    // Who may dial a translation prefix may still not reach a private address through it.
    for (const embedded of placeOf(address).embedded) judge(embedded, port);
  }

  function judge(address: string, port: number): void {
    const { isMetadata, isDenied, privateRange } = placeOf(address);
    if (isMetadata) block('The address is that of a cloud metadata service.');
    if (isOwnListener(address, port, options.ownListeners())) block('The address is that of this gateway.');
    if (isDenied) block('The address is denied by configuration.');
    if (options.isThreat?.(address)) block('A threat feed lists the address.');
    if (privateRange !== undefined) {
      block(
        `The address is not public: ${privateRange}. An administrator can exempt it with upstream.allow_private.`,
      );
    }
  }

  /** Checks an administrator's address: it may be any but our own listeners. Throws EGRESS_BLOCKED. */
  function checkChosen(address: string, port: number): void {
    for (const it of [address, ...embeddedIpv4Addresses(address)])
      if (isOwnListener(it, port, options.ownListeners())) block('The address is that of this gateway.');
  }

  return { checkHost, checkAddress, checkChosen };
}

function block(detail: string): never {
  throw new GatewayError('EGRESS_BLOCKED', detail);
}

/**
 * Tells whether an address is that of a listener. A listener on all addresses has each of this machine's, and
 * an unspecified address reaches every listener.
 */
function isOwnListener(address: string, port: number, listeners: readonly ListenerAddress[]): boolean {
  return listeners.some((listener) => {
    if (listener.port !== port) return false;
    const exact = new RangeList([listener.address]);
    return (
      exact.has(address) || anyAddress.has(address) || (anyAddress.has(listener.address) && isLocal(address))
    );
  });
}

const anyAddress = new RangeList(['0.0.0.0', '::']);
const loopback = new RangeList(['127.0.0.0/8', '::1']);

function isLocal(address: string): boolean {
  if (loopback.has(address)) return true;
  const own = Object.values(networkInterfaces()).flatMap((entries) => entries ?? []);
  return new RangeList(own.map((entry) => entry.address.replace(/%.*$/, ''))).has(address);
}
