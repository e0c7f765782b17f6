import { isDeepStrictEqual } from 'node:util';
import type { Operation } from '../core/call.ts';
import { isWebScheme } from '../core/target.ts';
import { otherReadingsOf } from '../core/url-readings.ts';
import { METHODS } from '../util/plain-http.ts';
import { type BodyLimits, createBodyLimits } from './body-limits.ts';
import { readOwners, readPrincipals, readResource } from './extract.ts';
import { type Candidate, unknownCategory } from './load/compile.ts';
import type { HostMatch } from './load/hosts.ts';
import type { Mounted, Mounts } from './load/mounts.ts';
import type { ToolSummary } from './load/summary.ts';
import { type RequestMeaning, shortMethod, strictest, verbOf } from './meaning.ts';
import { overridingMethods } from './overriding-method.ts';
import { overridingTargets } from './overriding-target.ts';
import { together } from './parts.ts';
import { type Capture, splitPath, templateOf, withoutOdata } from './paths.ts';
import { mayHideMessages, messagesOf, ofProtocols, protocols } from './protocols/messages.ts';
import { RequestReading } from './reading.ts';
import type { Request } from './request.ts';
import { anyBatch, anyTunnel, asUnclear } from './unclear.ts';

const customProxy = 'custom_proxy';

/**
 * Tells what requests do, by the tools that agents call. A catalogue never changes; a reload makes a new one.
 */
export class Catalogue {
  readonly tools: readonly ToolSummary[];
  readonly bodyLimits: BodyLimits;
  readonly #hosts;
  readonly #byTool;

  constructor(tools: readonly ToolSummary[], { hosts, byTool }: Mounts) {
    this.#hosts = hosts;
    this.#byTool = byTool;
    this.bodyLimits = createBodyLimits({ hosts, byTool });
    this.tools = [...tools, ...protocols];
  }

  /** Returns the tool that owns a host, whatever the path; undefined for an unknown host. */
  toolOf(host: string): string | undefined {
    return this.#hosts.find(host)?.values.find((it) => !it.isGuest)?.toolName;
  }

  /**
   * Returns the operation of any request. A path that the tool's table lacks is `METHOD:/path/{id}` of
   * category `other`. A host that no tool has is `http_post` (by method) of `custom_proxy`. There a request
   * that is not HTTP has the name of its scheme. This costs CPU only, in time linear in the request. The body
   * is asked for only where the operation depends on it.
   */
  understand(request: Request): Operation {
    return this.#understand(request, true);
  }

  /** Returns the operation of an unread tunnel, which may do anything that can be done at the host. */
  understandTunnel({ scheme, host }: Request['target']): Operation {
    const mounts = this.#hosts.find(host)?.values ?? [];
    const owner = mounts.find((it) => !it.isGuest) ?? mounts[0];
    return owner
      ? anyTunnel(owner.toolName, mounts)
      : { ...unknownHost(scheme, 'CONNECT'), unclear: ofProtocols };
  }

  /**
   * Returns the operation where the tool is known and the host tells nothing, as behind a relay. `below` is
   * the path below the relay's own. The tool's table is asked for the whole path, and for `below` as it would
   * stand at the tool's own hosts. A tool that the catalogue lacks gives its name alone.
   */
  understandAs(toolName: string, below: string, request: Request): Operation {
    const match = { values: this.#byTool.get(toolName) ?? [], captures: noCaptures };
    const { scheme, path } = request.target;
    const places = match.values.flatMap(({ under, bases }) =>
      bases.map((base) => `${under.map((it) => `/${it}`).join('')}${base}${below}`),
    );
    return byMethod(request, (method) => {
      const at = (place: string) => understandAt(match, method, request, place, undefined);
      const known = [path, ...new Set(places)].flatMap((place) => {
        const { operation, decodesSlashes } = at(place) ?? {};
        return operation ? withOtherReadings(operation, place, decodesSlashes ?? false, at) : [];
      });
      const named = known.find((it) => it.category !== unknownCategory);
      const message = named ? undefined : messagesOf(request, method);
      const operation = named ?? known[0] ?? { ...unknownHost(scheme, method), toolName };
      if (!message) return operation;
      // A route may say that it leads to servers of the protocol; then the message alone counts.
      if (toolName === message.toolName) return message;
      return together([{ operation }, { operation: message }]);
    });
  }

  /**
   * Returns the operation by the URL, joined with those by URLs that may override it. The strictest counts.
   */
  #understand(request: Request, mayBeBatch: boolean): Operation {
    const operation = this.#understandTarget(request, mayBeBatch);
    const others = overridingTargets(request);
    if (others.length === 0) return operation;
    const further = others.map((target) => ({
      operation: this.#understandTarget({ ...request, target }, mayBeBatch),
      target,
    }));
    return together([{ operation }, ...further]);
  }

  #understandTarget(request: Request, mayBeBatch: boolean): Operation {
    const { scheme, host } = request.target;
    const match = isWebScheme(scheme) ? this.#hosts.find(host) : undefined;
    // No vendor takes a batch in a batch.
    const inBatch = mayBeBatch ? (it: Request): Operation => this.#understand(it, false) : undefined;
    return byMethod(request, (method) => {
      const at = (path: string) => match && understandAt(match, method, request, path, inBatch);
      const known = at(request.target.path);
      const isNamed = known !== undefined && known.operation.category !== unknownCategory;
      const message = isNamed ? undefined : messagesOf(request, method);
      const plain = message ?? known?.operation ?? unknownHost(scheme, method);
      const operation =
        isNamed || !mayHideMessages(request, method) ? plain : { ...plain, unclear: ofProtocols };
      return withOtherReadings(operation, request.target.path, known?.decodesSlashes ?? false, at);
    });
  }
}

const noCaptures: ReadonlyMap<string, string> = new Map();

/**
 * Returns the operation by the method, joined with those by methods that may override it. The strictest
 * counts.
 */
function byMethod(request: Request, understand: (method: string) => Operation): Operation {
  const method = request.method.toUpperCase();
  const operation = understand(method);
  const overriding = overridingMethods(request);
  return overriding.length === 0
    ? operation
    : together([{ operation }, ...overriding.map((it) => ({ operation: understand(it), method: it }))]);
}

interface Understood {
  readonly operation: Operation;
  /** Tells whether encoded slashes in the path are slashes of names. */
  readonly decodesSlashes: boolean;
}

/**
 * Joins the operation with those of other readings of its path, since servers may read it in several ways.
 * Only operations that differ count.
 */
function withOtherReadings(
  operation: Operation,
  path: string,
  decodesSlashes: boolean,
  understand: (path: string) => Understood | undefined,
): Operation {
  const paths = decodesSlashes ? readingsWithSlashes(path) : otherReadingsOf(path);
  if (paths.length === 0) return operation;
  const others = paths.flatMap((it) => understand(it)?.operation ?? []);
  const further = others.filter((it) => !isDeepStrictEqual(it, operation));
  return further.length === 0
    ? operation
    : together([{ operation }, ...further.map((it) => ({ operation: it }))]);
}

/** A letter of the private use area, as it stands in a URL. */
const keptSlash = '%EE%80%80';

/** Returns the other readings of a path whose encoded slashes may stay as they are. */
function readingsWithSlashes(path: string): readonly string[] {
  const kept = otherReadingsOf(path.replace(/%2f/gi, keptSlash));
  return kept.length === 0
    ? kept
    : [...kept.map((it) => it.replaceAll(keptSlash, '%2F')), ...otherReadingsOf(path)];
}

/**
 * Joins the operations of a batch. Returns undefined where its requests cannot be told: then it may do
 * anything.
 */
function batchOf(
  requests: readonly Request[] | undefined,
  understand: (request: Request) => Operation,
): Operation | undefined {
  const parts = requests?.map((request) => {
    const { method, target } = request;
    return { operation: understand(request), method, target, body: request.bodyValue() };
  });
  const [first, ...others] = parts ?? [];
  return first && together([first, ...others]);
}

/**
 * Returns the operation of a path at the surfaces of a host. Returns undefined where all of them lie below
 * other paths of the host.
 * A path that has no operation, but has one in another case, may be that as well: many servers ignore case.
 */
function understandAt(
  match: HostMatch<Mounted>,
  method: string,
  request: Request,
  path: string,
  inBatch: ((request: Request) => Operation) | undefined,
): Understood | undefined {
  const known = understandWritten(match, method, request, path, inBatch, false);
  if (known?.operation.category !== unknownCategory) return known;
  const other = understandWritten(match, method, request, path, inBatch, true);
  if (!other || other.operation.category === unknownCategory) return known;
  return { ...other, operation: together([{ operation: known.operation }, { operation: other.operation }]) };
}

function understandWritten(
  { values: mounts, captures: hostCaptures }: HostMatch<Mounted>,
  method: string,
  request: Request,
  path: string,
  inBatch: ((request: Request) => Operation) | undefined,
  inAnyCase: boolean,
): Understood | undefined {
  const segments = splitPath(path);
  const reading = new RequestReading(request, hostCaptures);
  let owner: Mounted | undefined;
  /** The meaning of a path that no surface has, below a base that names its resource. */
  let unknown: Understood | undefined;
  for (const mount of mounts) {
    if (!mount.under.every((name, index) => segments?.[index] === name)) continue;
    if (!mount.isGuest) owner ??= mount;
    const within = mount.under.length === 0 ? segments : segments?.slice(mount.under.length);
    const below = mount.isOdata ? within && withoutOdata(within) : within;
    const candidates = below && mount.compiled().find(method, below, inAnyCase);
    const missed: Candidate[] = [];
    for (const candidate of candidates ?? []) {
      reading.matched(candidate.captures, below ?? [], mount.ignoresCase);
      const meaning = candidate.meaning(reading, method);
      if (meaning) {
        if (meaning.batch) {
          const operation = inBatch && batchOf(meaning.batch.requests, inBatch);
          return { operation: operation ?? anyBatch(mount.toolName, mounts), decodesSlashes: false };
        }
        const operation = toOperation(mount.toolName, meaning, candidate.captures, reading);
        const understood = { operation, decodesSlashes: meaning.extraction.decodesSlashes };
        if (!candidate.isFallback)
          return reading.isUnclear && missed.length > 0 ? orAnyOf(understood, missed) : understood;
        unknown ??= understood;
      }
      missed.push(candidate);
    }
  }
  if (unknown || !owner) return unknown;
  reading.matched([], segments ?? []);
  const meaning = owner.compiled().unknown(method, segments ? templateOf(segments) : '/{path}');
  const operation = toOperation(owner.toolName, meaning, [], reading);
  return { operation, decodesSlashes: meaning.extraction.decodesSlashes };
}

/**
 * Returns the operation as any operation of its tool, with the strictest verb of the missed ones. Nobody
 * knows whether conditions on an unclear body hold.
 */
function orAnyOf({ operation, ...rest }: Understood, missed: readonly Candidate[]): Understood {
  const { verb } = strictest([operation, ...missed]) ?? operation;
  return { ...rest, operation: { ...asUnclear(operation), verb } };
}

function toOperation(
  toolName: string,
  { name, said, category, verb, extraction, isUnclear, isPublic, parts }: RequestMeaning,
  captures: readonly Capture[],
  reading: RequestReading,
): Operation {
  const resource = readResource(extraction, captures, reading);
  const owners = readOwners(extraction, resource, reading);
  const operation = {
    toolName,
    name,
    ...(said === undefined ? {} : { said }),
    category,
    verb,
    resource,
    principals: readPrincipals(extraction, reading),
    ...(isPublic ? { isPublic } : {}),
    ...(owners ? { owners } : {}),
  };
  if (isUnclear) return asUnclear(operation);
  if (!parts) return operation;
  const all = parts.map(({ parts: _, ...part }) => {
    reading.narrowTo(part.rootField);
    return { operation: toOperation(toolName, part, captures, reading) };
  });
  reading.narrowTo(undefined);
  return { ...operation, parts: all };
}

const schemeLengthMax = 32;
const usualMethods = new Set(METHODS);

function unknownHost(scheme: string, method: string): Operation {
  const isWeb = isWebScheme(scheme);
  return {
    toolName: customProxy,
    name: isWeb ? `http_${shortMethod(method).toLowerCase()}` : scheme.slice(0, schemeLengthMax),
    category: isWeb ? 'http' : 'other',
    verb: verbOf(method),
    resource: {},
    principals: [],
    ...(isWeb && shortMethod(method) === method && !usualMethods.has(method) ? { said: method } : {}),
  };
}
