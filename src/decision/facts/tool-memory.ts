import type { InspectedCall } from '../../core/call.ts';
import { GatewayError, toGatewayError } from '../../core/errors.ts';
import type { Log } from '../../core/log.ts';
import { ownName, type SafeName, safely } from '../../core/safe-name.ts';
import { type Target, toAuthority } from '../../core/target.ts';
import { decodeViews } from '../../inspect/decode/views.ts';
import type { InjectionReader } from '../../inspect/injection/reader.ts';
import { injectionScoreMin } from '../../inspect/injection/reader.ts';
import type { RiskyParameters } from '../../risk/signals/risky-parameters.ts';
import { createCache } from '../../state/cache.ts';
import { anyTool, hashedName, mcpServerId, toolsMax } from '../../state/rules/mcp-tools.ts';
import type { SeenTool, Store, ToolDrift, ToolMark } from '../../state/store.ts';
import { type DescribedTool, describeTool } from '../../tenants/listed-tools.ts';
import type { Rules } from '../../tenants/policy-book.ts';
import type { Tenants } from '../../tenants/tenants.ts';
import { redactedUrl } from '../trace/redacted.ts';
import { safeNamesOf } from '../trace/safe-names.ts';
import { serverOrigin } from './mcp-call.ts';

export interface SeenList {
  /** The tools as they were parsed; undefined for a list that nobody could read. */
  readonly tools: readonly unknown[] | undefined;
  readonly isPart: boolean;
  readonly hasMore: boolean;
}

/**
 * A drift as traces show it. A name with findings, or of a form that no tool should have, is replaced by its
 * hash.
 */
export type ShownDrift = { readonly [K in keyof ToolDrift]: SafeName[] };

/** The call whose answer lists tools. */
export interface ListingCall {
  readonly traceId: string;
  readonly tenantId: string;
  readonly target: Target;
  /** Returns origin and path as they may be shown. */
  shownPlace(): { readonly origin: SafeName; readonly path: SafeName };
}

export const listingCallOf = (call: InspectedCall): ListingCall => ({
  traceId: call.traceId,
  tenantId: call.identity.tenantId,
  target: call.target,
  shownPlace: () => shownPlace(call),
});

interface ToolMemoryOptions {
  readonly store: Pick<Store, 'rememberTools'>;
  readonly policies: Pick<Rules, 'rulesFor'>;
  readonly tenants: Pick<Tenants, 'find'>;
  readonly injections: InjectionReader;
  readonly risky: RiskyParameters;
  readonly log: Pick<Log, 'warn' | 'error'>;
  /** A monotonic clock, in milliseconds. */
  readonly clock: () => number;
}

/** The number of lists that may wait. Above it the state is too slow or away. */
const waitingMax = 1_000;
/** The most names of each kind in one trace. */
export const shownNamesMax = 50;
/** The form of a tool name that the catalogue uses. */
const usableName = /^[\w.:/-]{1,128}$/;
const judgedMax = 8_192;
const listIdLength = 22;

/** Remembers the tools that MCP servers list, and tells what is new about them. */
export class ToolMemory {
  readonly #options: ToolMemoryOptions;
  /** The marks by version of a tool. What is the same in every list is judged once. */
  readonly #judged = createCache<readonly ToolMark[]>(judgedMax);
  #waiting = 0;

  constructor(options: ToolMemoryOptions) {
    this.#options = options;
  }

  /**
   * Remembers a list that came in the answer to a call. Returns what is new about it; undefined where nothing
   * is. Never rejects: what could not be remembered is in the log.
   */
  async saw(call: ListingCall, list: SeenList): Promise<ShownDrift | undefined> {
    const { traceId } = call;
    if (this.#waiting >= waitingMax) {
      this.#options.log.error(
        { trace_id: traceId },
        'the tools of an MCP server were not remembered: too many wait',
      );
      return undefined;
    }
    this.#waiting += 1;
    try {
      const drift = toShown(await this.#remember(call, list));
      if (!drift) return undefined;
      this.#options.log.warn(
        { trace_id: traceId, mcp_drift: drift },
        'an MCP server lists other tools, or bad ones',
      );
      return drift;
    } catch (error) {
      const err = toGatewayError(error);
      this.#options.log.error({ trace_id: traceId, err }, 'the tools of an MCP server were not remembered');
      return undefined;
    } finally {
      this.#waiting -= 1;
    }
  }

  #marksOf({ version, text, parameters }: DescribedTool, bounds: Bounds): readonly ToolMark[] {
    const known = this.#judged.get(version);
    if (known) return known;
    const injected = this.#givesOrders(text, bounds);
    const isRisky = parameters.some((it) => this.#options.risky.kindOf(it) !== undefined);
    const marks: ToolMark[] = isRisky ? ['risky'] : [];
    if (injected === undefined) return [...marks, 'unread'];
    if (injected) marks.push('injected');
    this.#judged.set(version, marks);
    return marks;
  }

  /** Tells whether a text gives orders; undefined where it could not be read to its end. */
  #givesOrders(text: string, { maxDecodedBytes, isOver }: Bounds): boolean | undefined {
    const { views, unreadable } = decodeViews(Buffer.from(text), { maxDecodedBytes, depthMax, isOver });
    let isWhole = unreadable === undefined;
    for (const { bytes } of views) {
      const { score, complete } = this.#options.injections.read(bytes, isOver);
      if (score >= injectionScoreMin) return true;
      isWhole &&= complete;
    }
    return isWhole ? false : undefined;
  }

  async #seenTools(tools: readonly unknown[], tenantId: string): Promise<SeenTool[]> {
    const tenant = this.#options.tenants.find(tenantId);
    if (!tenant) throw new GatewayError('INVALID_KEY', 'The key is not valid.');
    const { engine } = await this.#options.policies.rulesFor(tenantId);
    const endsAt = this.#options.clock() + tenant.scanTimeoutMs;
    const bounds = { maxDecodedBytes: tenant.maxDecodedBytes, isOver: () => this.#options.clock() > endsAt };
    const described = tools.slice(0, toolsMax).map(describeTool);
    const safeName = safeNamesOf(engine);
    const nameOf = ({ name }: DescribedTool): SafeName =>
      usableName.test(name) && safeName(name) === name ? safeName(name) : hashedName(name);
    const toSeen = (it: DescribedTool | undefined, name: SafeName | undefined): SeenTool =>
      it && name !== undefined ? { name, version: it.version, marks: this.#marksOf(it, bounds) } : unreadTool;
    const seen = described.map((it) => toSeen(it, it && nameOf(it)));
    // Millions of tools may stand in a message. Those that nobody would remember one by one are judged as
    // one.
    const rest = tools.slice(toolsMax);
    return rest.length === 0 ? seen : [...seen, toSeen(describeTool({ rest }), anyTool)];
  }

  async #remember(call: ListingCall, list: SeenList): Promise<ToolDrift> {
    const { tenantId } = call;
    const tools = list.tools ? await this.#seenTools(list.tools, tenantId) : [unreadTool];
    const { origin, path } = call.shownPlace();
    return this.#options.store.rememberTools({
      tenantId,
      server: { serverId: mcpServerId(tenantId, serverOrigin(call.target)), origin },
      listId: hashedName(pathOf(call.target.path)).slice(-listIdLength),
      path,
      tools,
      // An unreadable list says nothing of removed tools, and is no end of a list.
      isPart: list.isPart || list.tools === undefined,
      hasMore: list.hasMore || list.tools === undefined,
      nowMs: Date.now(),
    });
  }
}

interface Bounds {
  readonly maxDecodedBytes: number;
  readonly isOver: () => boolean;
}

const depthMax = 3;

/** The tool that stands for what could not be read of a list. */
const unreadTool: SeenTool = { name: anyTool, version: 'unread', marks: ['unread'] };

const pathOf = (path: string): string => path.split('?', 1)[0] ?? '';

/** Returns origin and path, with all that was found in them cut out. */
function shownPlace(call: InspectedCall): { origin: SafeName; path: SafeName } {
  const { scheme, host, port } = call.target;
  const url = redactedUrl(call);
  const start = url.indexOf('/', scheme.length + '://'.length);
  const isShown = url.startsWith(`${scheme}://${toAuthority(scheme, host, port)}/`);
  return {
    origin: isShown
      ? call.safeName(serverOrigin(call.target))
      : safely`${ownName(scheme)}://${hashedName(host)}`,
    path: ownName(pathOf(start < 0 ? '/' : url.slice(start)).split('#', 1)[0] ?? ''),
  };
}

function toShown(drift: ToolDrift): ShownDrift | undefined {
  if (Object.values(drift).every((names) => names.length === 0)) return undefined;
  const first = Object.entries(drift).map(([kind, names]) => [kind, names.slice(0, shownNamesMax)]);
  return Object.fromEntries(first) as ShownDrift;
}
