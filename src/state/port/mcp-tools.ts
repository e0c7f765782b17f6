import type { ToolConcern } from '../../core/call.ts';
import type { SafeName } from '../../core/safe-name.ts';
import type { AuditEvent } from './audit.ts';
import type { Page, Paged } from './page.ts';

/**
 * The tools that MCP servers have listed, so that a change is noticed. A server is an origin, and each tenant
 * has its own memory of it.
 */
export interface McpToolStore {
  /**
   * A server has listed tools. Compares them with what is remembered and remembers them, in one step: of
   * nodes that see the same change one is told of it. The first list at a path changes nothing. `admit`
   * answers the concerns that come of it from the next call on.
   */
  rememberTools(sighting: ToolSighting): Promise<ToolDrift>;
  /** Servers by the day on which they last listed tools, newest first. */
  listMcpServers(tenantId: string, page: Page): Promise<Paged<McpServer>>;
  /**
   * Nothing is held any more against these tools as they are now, or against all of the server where none are
   * named. Undefined where there is no such server.
   */
  acceptTools(
    tenantId: string,
    serverId: string,
    tools: readonly string[] | undefined,
    audit: AuditEvent,
  ): Promise<McpServer | undefined>;
}

export interface ToolSighting {
  readonly tenantId: string;
  readonly server: ServerName;
  /** Names the path at which the list was asked for, of whatever length. */
  readonly listId: string;
  /** The same, as it may be shown. */
  readonly path: SafeName;
  readonly tools: readonly SeenTool[];
  /** A page of a longer list: what is not on it is not gone. */
  readonly isPart: boolean;
  /** Further pages follow. */
  readonly hasMore: boolean;
  readonly nowMs: number;
}

interface ServerName {
  /** The id for this tenant and origin: see `mcpServerId`. */
  readonly serverId: string;
  /** The origin in a form that may be shown. */
  readonly origin: SafeName;
}

export interface SeenTool {
  /** The name, as in `ToolConcern`. */
  readonly name: SafeName;
  /** A digest of all that the server says of it. */
  readonly version: string;
  readonly marks: readonly ToolMark[];
}

/** Marks of a tool's description. `unread`: it was too long to be read. */
export type ToolMark = 'risky' | 'injected' | 'unread';

/** Names of tools; those with a mark only when this version of them was not seen before. */
export interface ToolDrift {
  readonly added: readonly SafeName[];
  readonly removed: readonly SafeName[];
  readonly changed: readonly SafeName[];
  readonly risky: readonly SafeName[];
  readonly injected: readonly SafeName[];
  readonly unread: readonly SafeName[];
}

export interface McpServer extends ServerName {
  readonly tenantId: string;
  /** The beginning of the day (UTC). */
  readonly seenAtMs: number;
  readonly lists: readonly ToolList[];
  readonly concerns: readonly StandingConcern[];
}

export interface StandingConcern extends ToolConcern {
  /** The list that the tool is on; '' where there are several. */
  readonly listId: string;
}

/** The list at one path. */
export interface ToolList {
  readonly listId: string;
  readonly path: SafeName;
  readonly firstSeenAtMs: number;
  readonly seenAtMs: number;
  /** Its last page was seen. */
  readonly isWhole: boolean;
  /** By name. */
  readonly tools: readonly KnownMcpTool[];
}

export interface KnownMcpTool {
  readonly name: SafeName;
  /** The last few, the newest first. */
  readonly versions: readonly string[];
  /** Those of them that an operator has accepted. */
  readonly accepted: readonly string[];
  readonly isListed: boolean;
  /** It was away before: servers list some tools only for some sessions. */
  readonly comesAndGoes: boolean;
}
