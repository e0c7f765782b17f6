import type { Operation } from '../call.ts';
import { isWebScheme } from '../target.ts';
import { type Candidate, type Mounted, type Mounts, unknownCategory } from './compile.ts';
import { readPrincipals, readResource } from './extract.ts';
import type { HostMatch } from './hosts.ts';
import { type Meaning, shortMethod, strictest, verbOf } from './meaning.ts';
import { messagesOf, protocols } from './messages.ts';
import { overridingMethods } from './overriding-method.ts';
import { together } from './parts.ts';
import { type Capture, splitPath, templateOf } from './paths.ts';
import { Reading, type Request } from './reading.ts';
import { resourceFields as unknownFields } from './schema.ts';
import type { ToolSummary } from './summary.ts';

/** What is known of the tools that agents call. Immutable; a reload makes a new one. */
export interface Catalogue {
  readonly tools: readonly ToolSummary[];
  /**
   * What the request does. Always answers: a path that the tool's table lacks is `METHOD:/path/{id}` of category `other`; a
   * host that no tool has is `http_post` (by method) of `custom_proxy`, and what is not HTTP bears the scheme's name there.
   * CPU only, in time linear in the request; the body is asked for only where the operation depends on it.
   */
  understand(request: Request): Operation;
  /**
   * The same where the tool is known and the host says nothing of it, as behind a relay: `below` is the path below the relay's own. The
   * tool's table is asked for the whole path, and for the rest as it would stand at the tool's own hosts. Of a tool that the catalogue
   * lacks the name alone is known.
   */
  understandAs(toolName: string, below: string, request: Request): Operation;
  /** The tool that a host belongs to, whatever the path. */
  toolOf(host: string): string | undefined;
}

const customProxy = 'custom_proxy';

export function createCatalogue(tools: readonly ToolSummary[], { hosts, byTool }: Mounts): Catalogue {
  function understand(request: Request, mayBeBatch: boolean): Operation {
    const { scheme, host } = request.target;
    const match = isWebScheme(scheme) ? hosts.find(host) : undefined;
    // A batch in a batch is none that a vendor takes.
    const inBatch = mayBeBatch ? (it: Request): Operation => understand(it, false) : undefined;
    return byMethod(request, (method) => {
      const operation = match && understandAt(match, method, request, request.target.path, inBatch);
      if (operation && operation.category !== unknownCategory) return operation;
      return messagesOf(request, method) ?? operation ?? unknownHost(scheme, method);
    });
  }

  return {
    tools: [...tools, ...protocols],
    toolOf: (host) => hosts.find(host)?.values.find((it) => !it.isGuest)?.toolName,
    understand: (request) => understand(request, true),
    understandAs(toolName, below, request) {
      const match = { values: byTool.get(toolName) ?? [], captures: noCaptures };
      const { scheme, path } = request.target;
      const places = match.values.flatMap(({ under, bases }) =>
        bases.map((base) => `${under.map((it) => `/${it}`).join('')}${base}${below}`),
      );
      return byMethod(request, (method) => {
        const known = [path, ...new Set(places)].map((it) =>
          understandAt(match, method, request, it, undefined),
        );
        const operation = known.find((it) => it && it.category !== unknownCategory) ?? known.find(Boolean);
        return operation ?? { ...unknownHost(scheme, method), toolName };
      });
    },
  };
}

const noCaptures: ReadonlyMap<string, string> = new Map();

/** As the method says, or one that overrides it where that is stricter. */
function byMethod(request: Request, understand: (method: string) => Operation): Operation {
  const method = request.method.toUpperCase();
  const operation = understand(method);
  const overriding = overridingMethods(request);
  return overriding.length === 0
    ? operation
    : together([{ operation }, ...overriding.map((it) => ({ operation: understand(it), method: it }))]);
}

/** Undefined where the batch cannot be told, which then is one of anything. */
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

/** Undefined where the tool lies below another path of the host. */
function understandAt(
  { values: mounts, captures: hostCaptures }: HostMatch<Mounted>,
  method: string,
  request: Request,
  path: string,
  inBatch: ((request: Request) => Operation) | undefined,
): Operation | undefined {
  const segments = splitPath(path);
  const reading = new Reading(request, hostCaptures);
  let owner: Mounted | undefined;
  /** What the path is where no surface has an operation for it, below a base that says what it acts on. */
  let unknown: Operation | undefined;
  for (const mount of mounts) {
    if (!mount.under.every((name, index) => segments?.[index] === name)) continue;
    if (!mount.isGuest) owner ??= mount;
    const below = mount.under.length === 0 ? segments : segments?.slice(mount.under.length);
    const candidates = below && mount.paths.find(method, below);
    const missed: Candidate[] = [];
    for (const candidate of candidates ?? []) {
      reading.matched(candidate.captures, below ?? []);
      const meaning = candidate.meaning(reading, method);
      if (meaning) {
        if (meaning.batch)
          return (inBatch && batchOf(meaning.batch.requests, inBatch)) ?? anything(mount.toolName);
        const operation = toOperation(mount.toolName, meaning, candidate.captures, reading);
        // Conditions on an unclear body were missed without anybody knowing whether they hold.
        const { verb } = (reading.isUnclear && strictest([meaning, ...missed])) || meaning;
        if (!candidate.isFallback) return verb === operation.verb ? operation : { ...operation, verb };
        unknown ??= operation;
      }
      missed.push(candidate);
    }
  }
  if (unknown || !owner) return unknown;
  reading.matched([], segments ?? []);
  const meaning = owner.unknown(method, segments ? templateOf(segments) : '/{path}');
  return toOperation(owner.toolName, meaning, [], reading);
}

function toOperation(
  toolName: string,
  { name, category, verb, extraction, parts }: Meaning,
  captures: readonly Capture[],
  reading: Reading,
): Operation {
  const resource = readResource(extraction, captures, reading);
  const operation = {
    toolName,
    name,
    category,
    verb,
    resource,
    principals: readPrincipals(extraction, reading),
  };
  if (!parts) return operation;
  return {
    ...operation,
    parts: parts.map(({ parts: _, ...part }) => ({
      operation: toOperation(toolName, part, captures, reading),
    })),
  };
}

/** A batch that nobody can take apart may do anything to anything for anybody. */
const anything = (toolName: string): Operation => ({
  toolName,
  name: 'batch',
  category: 'batch',
  verb: 'ADMIN',
  resource: { unknown: unknownFields },
  principals: ['*'],
});

const schemeLengthMax = 32;

function unknownHost(scheme: string, method: string): Operation {
  const isWeb = isWebScheme(scheme);
  return {
    toolName: customProxy,
    name: isWeb ? `http_${shortMethod(method).toLowerCase()}` : scheme.slice(0, schemeLengthMax),
    category: isWeb ? 'http' : 'other',
    verb: verbOf(method),
    resource: {},
    principals: [],
  };
}
