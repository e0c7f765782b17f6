import type { ToolConcern } from '../../core/call.ts';
import type { SafeName } from '../../core/safe-name.ts';
import type { AuditEvent } from './audit.ts';
import type { Page, Paged } from './page.ts';

/**
 * Keeps the tools that MCP servers have listed, so that a change is noticed. A server is an origin, and each
 * tenant has its own memory of it.
 */
export interface McpToolStore {
  /**
   * Compares the tools that a server has listed with the remembered ones and remembers them, in one step. Of
   * several nodes that see the same change, one gets it as an answer. The first list at a path changes
   * nothing. `admit` returns the concerns that follow from the next call on.
   */
  rememberTools(sighting: ToolSighting): Promise<ToolDrift>;
  /** Lists servers by the day on which they last listed tools, newest first. */
  listMcpServers(tenantId: string, page: Page): Promise<Paged<McpServer>>;
  /**
   * Drops the concerns about these tools as they are now, or about all tools of the server where `tools` is
   * undefined. Undefined where there is no such server.
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
  /** An id of the path at which the list was asked for, whatever the path's length. */
  readonly listId: string;
  /** The path in a form that may be shown. */
  readonly path: SafeName;
  readonly tools: readonly SeenTool[];
  /** Whether this is a page of a longer list. A tool that is not on it is not gone. */
  readonly isPart: boolean;
  /** Whether further pages follow. */
  readonly hasMore: boolean;
  readonly nowMs: number;
}

interface ServerName {
  /** The id of the server for this tenant and origin: see `mcpServerId`. */
  readonly serverId: string;
  /** The origin in a form that may be shown. */
  readonly origin: SafeName;
}

export interface SeenTool {
  /** The name, as in `ToolConcern`. */
  readonly name: SafeName;
  /** A digest of all that the server says about the tool. */
  readonly version: string;
  readonly marks: readonly ToolMark[];
}

/** A mark of a tool's description. `unread`: the description was too long to be read. */
export type ToolMark = 'risky' | 'injected' | 'unread';

/**
 * What is new in a list, as names of tools. A mark is told only when this version of its tool was not seen
 * before.
 */
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
  /** The beginning of the day (UTC) on which it last listed tools. */
  readonly seenAtMs: number;
  readonly lists: readonly ToolList[];
  readonly concerns: readonly StandingConcern[];
}

export interface StandingConcern extends ToolConcern {
  /** The list that the tool is on; '' where there are several. */
  readonly listId: string;
}

/** The tools that a server has listed at one path. */
export interface ToolList {
  readonly listId: string;
  readonly path: SafeName;
  readonly firstSeenAtMs: number;
  readonly seenAtMs: number;
  /** Whether its last page was seen. */
  readonly isWhole: boolean;
  /** The tools, ordered by name. */
  readonly tools: readonly KnownMcpTool[];
}

export interface KnownMcpTool {
  readonly name: SafeName;
  /** The last few versions, newest first. */
  readonly versions: readonly string[];
  /** The versions among them that an operator has accepted. */
  readonly accepted: readonly string[];
  readonly isListed: boolean;
  /** Whether the tool was missing from a list before: servers list some tools only for some sessions. */
  readonly comesAndGoes: boolean;
}
