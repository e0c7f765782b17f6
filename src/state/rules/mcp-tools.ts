import { hash } from 'node:crypto';
import type { ToolConcern, ToolConcernKind } from '../../core/call.ts';
import { derivedId } from '../../core/ids.ts';
import { ownName, type SafeName } from '../../core/safe-name.ts';
import type {
  KnownMcpTool,
  McpCall,
  McpServer,
  SeenTool,
  StandingConcern,
  ToolDrift,
  ToolList,
  ToolSighting,
} from '../store.ts';

/*
 * Remembers the tools of an MCP server, and tells what a new list of them means. It is pure, and the same for
 * every driver. A driver reads the record, asks here, and writes the new one if nobody was faster.
 */

/** The limit of a tenant's servers; those seen longest ago make room. */
export const serversMax = 500;
/** The limit of tools of one list; further tools are remembered together, as one. */
export const toolsMax = 512;
/** The limit of a server's tools over all its lists; lists seen longest ago make room. */
const toolsPerServerMax = 1_024;
export const listsMax = 16;
/**
 * The limit of remembered versions of a tool. A server that gives other versions to other sessions changes
 * nothing as long as it has no more.
 */
export const versionsMax = 8;
/**
 * The limit of concerns about single tools of a server. Beyond it, one concern stands against all of its
 * tools.
 */
export const concernsMax = 64;
const pathLengthMax = 256;

const dayMs = 86_400_000;
/**
 * The days for which a concern stands. That about a change counts from when it was seen, unless it is
 * accepted. That about a mark counts from the last list that has the mark.
 */
export const concernDays = 7;
/** The time in which the pages of a new list may come, in milliseconds. */
const learningMs = 3_600_000;

/**
 * The name that stands for every tool of a server. A server's tool of this name would be named by its hash.
 */
export const anyTool = ownName('*');
const hashMark = 'sha256:';
/** The operation of a call to a tool whose name cannot be one. */
const unnamed = 'call_tool';

/** Returns the name that stands for one that must not be shown. */
export const hashedName = (name: string): SafeName =>
  ownName(`${hashMark}${hash('sha256', name, 'base64url').slice(0, 22)}`);

/** Returns the id of a server, the same on every node. */
export const mcpServerId = (tenantId: string, origin: string): string =>
  derivedId(hash('sha256', `mcp ${tenantId}\n${origin}`));

const dayOf = (ms: number): number => Math.floor(ms / dayMs) * dayMs;

/**
 * Returns the record after a list was seen. It equals the former record where the list is seen again on the
 * same day and says nothing new.
 */
export function rememberToolList(standing: McpServer | undefined, sighting: ToolSighting) {
  const { tenantId, server, listId, nowMs } = sighting;
  const before = standing?.lists.find((it) => it.listId === listId);
  const { tools, drift, found } = compare(before, sighting);
  const list: ToolList = {
    listId,
    path: ownName(sighting.path.slice(0, pathLengthMax)),
    firstSeenAtMs: before?.firstSeenAtMs ?? nowMs,
    seenAtMs: laterDay(before?.seenAtMs, nowMs),
    isWhole: before?.isWhole || !sighting.hasMore,
    tools,
  };
  const others = standing?.lists.filter((it) => it !== before) ?? [];
  return {
    drift,
    server: {
      tenantId,
      ...server,
      seenAtMs: laterDay(standing?.seenAtMs, nowMs),
      lists: withinBounds([list, ...others]),
      concerns: concernsAfter(standing?.concerns ?? [], listId, found, nowMs),
    },
  };
}

/**
 * Returns the later of two times, as a day. With days alone, a record that says nothing new stays the same
 * and is not written.
 */
const laterDay = (before: number | undefined, nowMs: number): number => Math.max(before ?? 0, dayOf(nowMs));

/**
 * Returns the tools by name. A name that stands twice is one tool with both definitions. Tools beyond
 * `toolsMax` names, the `standing` ones included, are one tool as well.
 */
function bounded(tools: readonly SeenTool[], standing: Iterable<string>): ReadonlyMap<string, SeenTool> {
  const places = new Set(standing);
  const seen = new Map<string, SeenTool>();
  for (const tool of tools) {
    if (places.size < toolsMax) places.add(tool.name);
    const name = places.has(tool.name) ? tool.name : anyTool;
    const other = seen.get(name);
    seen.set(name, other ? together(other, tool) : { ...tool, name });
  }
  return seen;
}

const together = (one: SeenTool, other: SeenTool): SeenTool => ({
  name: one.name,
  version: hash('sha256', `${one.version} ${other.version}`, 'base64url').slice(0, one.version.length),
  marks: [...new Set([...one.marks, ...other.marks])],
});

/** What was found about one tool of a list, perhaps no concern. */
interface Found {
  readonly tool: SafeName;
  readonly kinds: readonly ToolConcernKind[];
  /** Whether this version of the tool was seen before. */
  readonly isKnown: boolean;
}

function compare(before: ToolList | undefined, { tools: sighted, isPart, nowMs }: ToolSighting) {
  const drift: Drift = { added: [], removed: [], changed: [], risky: [], injected: [], unread: [] };
  const tools: KnownMcpTool[] = [];
  const found: Found[] = [];
  const known = new Map(before?.tools.map((it) => [it.name, it]));
  // A page must take no place from tools on another page.
  const seen = bounded(sighted, isPart ? known.keys() : none);
  const isLearning = !before || (!before.isWhole && nowMs - before.firstSeenAtMs < learningMs);
  for (const { name, version, marks } of seen.values()) {
    const was = known.get(name);
    const isKnown = was?.versions.includes(version) ?? false;
    const tool = listed(was, name, version);
    tools.push(tool);
    const changes: ('added' | 'changed')[] = [];
    // The tool that stands for many tells no change where the list was unreadable, or is not yet known as a
    // whole.
    const isTold = name !== anyTool || !(isLearning || marks.includes('unread'));
    if (isTold && !was && !isLearning) changes.push('added');
    if (isTold && was && !isKnown) changes.push('changed');
    for (const kind of isKnown ? [] : [...changes, ...marks]) drift[kind].push(name);
    const kinds = tool.accepted.includes(version) ? changes : [...changes, ...marks];
    found.push({ tool: name, kinds, isKnown });
  }
  for (const was of known.values()) {
    if (seen.has(was.name)) continue;
    const isGone = was.isListed && !isPart;
    if (isGone && !was.comesAndGoes && was.name !== anyTool) drift.removed.push(was.name);
    tools.push(isGone ? { ...was, isListed: false } : was);
  }
  // The tools that are on the list come first, so they are kept.
  return { tools: tools.slice(0, toolsMax + 1).sort(inOrder), drift, found };
}

type Drift = { [K in keyof ToolDrift]: SafeName[] };

const inOrder = (a: KnownMcpTool, b: KnownMcpTool): number => (a.name < b.name ? -1 : 1);

function listed(was: KnownMcpTool | undefined, name: SafeName, version: string): KnownMcpTool {
  if (!was) return { name, versions: [version], accepted: [], isListed: true, comesAndGoes: false };
  const isKnown = was.versions.includes(version);
  const versions = isKnown ? was.versions : [version, ...was.versions].slice(0, versionsMax);
  return {
    name,
    versions,
    accepted: was.accepted.filter((it) => versions.includes(it)),
    isListed: true,
    comesAndGoes: was.comesAndGoes || !was.isListed,
  };
}

/** Returns the lists that fit, ordered by id: always the first one, and of the others those seen last. */
function withinBounds([first, ...others]: [ToolList, ...ToolList[]]): ToolList[] {
  const kept = [first];
  let tools = first.tools.length;
  for (const list of others.sort((a, b) => b.seenAtMs - a.seenAtMs)) {
    tools += list.tools.length;
    if (kept.length < listsMax && tools <= toolsPerServerMax) kept.push(list);
  }
  return kept.sort((a, b) => (a.listId < b.listId ? -1 : 1));
}

function concernsAfter(
  standing: readonly StandingConcern[],
  listId: string,
  found: readonly Found[],
  nowMs: number,
): readonly StandingConcern[] {
  const concerns = new Map(
    standing.filter((it) => it.untilMs > nowMs).map((it) => [placeOf(it.listId, it.tool), it]),
  );
  const untilMs = dayOf(nowMs) + (concernDays + 1) * dayMs;
  for (const { tool, kinds, isKnown } of found) {
    const place = placeOf(listId, tool);
    const was = concerns.get(place);
    // The same version was read meanwhile, so it is no longer unread. For the tool that stands for many,
    // nobody can tell that.
    const isRead = isKnown && tool !== anyTool;
    const before = was?.kinds.filter((it) => !(isRead && it === 'unread')) ?? [];
    const all = [...new Set([...before, ...kinds])];
    if (all.length === 0) concerns.delete(place);
    else if (kinds.length > 0)
      concerns.set(place, { tool, kinds: all, sinceMs: was?.sinceMs ?? nowMs, untilMs, listId });
    else if (was) concerns.set(place, { ...was, kinds: all });
  }
  const all = [...concerns.values()];
  return all.length <= concernsMax ? all : [gathered(all)];
}

const placeOf = (listId: string, tool: string): string => `${listId} ${tool}`;

const gathered = (all: readonly StandingConcern[]): StandingConcern => ({
  tool: anyTool,
  kinds: [...new Set(all.flatMap(({ kinds }) => kinds))],
  sinceMs: Math.min(...all.map(({ sinceMs }) => sinceMs)),
  untilMs: Math.max(...all.map(({ untilMs }) => untilMs)),
  listId: '',
});

/**
 * Drops the concerns about these tools; about all of them where `tools` is undefined. Their known versions
 * are accepted and may come again.
 */
export function accept(server: McpServer, tools: readonly string[] | undefined): McpServer {
  const isMeant = (tool: string): boolean => tools === undefined || tools.includes(tool);
  const isAccepted = (listId: string, tool: string): boolean =>
    server.concerns.some(
      (it) => isMeant(it.tool) && (it.listId === '' || (it.listId === listId && it.tool === tool)),
    );
  return {
    ...server,
    concerns: server.concerns.filter((it) => !isMeant(it.tool)),
    lists: server.lists.map((list) => ({
      ...list,
      tools: list.tools.map((tool) =>
        isAccepted(list.listId, tool.name) ? { ...tool, accepted: tool.versions } : tool,
      ),
    })),
  };
}

const none: readonly never[] = Object.freeze([]);

/** Returns the concerns about the called tools that stand at a time. */
export function concernsOf(
  standing: readonly StandingConcern[],
  { tools }: McpCall,
  nowMs: number,
): readonly ToolConcern[] {
  if (standing.length === 0) return none;
  const isHashMeant = (tool: string): boolean =>
    tool.startsWith(hashMark) && tools.some((it) => it === unnamed || hashedName(it) === tool);
  const isMeant = (tool: string): boolean => tool === anyTool || tools.includes(tool) || isHashMeant(tool);
  return standing
    .filter((it) => it.untilMs > nowMs && isMeant(it.tool))
    .map(({ listId: _, ...concern }) => concern);
}
