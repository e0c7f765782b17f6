import type { SafeName } from './safe-name.ts';

/* The classes of data that detectors find. */

export const dataClasses = ['SECRETS', 'PII', 'PHI', 'INTERNAL'] as const;
export type DataClass = (typeof dataClasses)[number];

/** The classes that policies may ask for: those of data, and content that nobody can read. */
export const contentClasses = [...dataClasses, 'OPAQUE_CONTENT'] as const;
export type ContentClass = (typeof contentClasses)[number];

export const confidences = ['low', 'medium', 'high'] as const;
/** Classes need `medium`; `low` is reported and weighs nothing. */
export type Confidence = (typeof confidences)[number];

/** A detector's finding. `start` and `end` are bytes of the part as received, so a cut is exact. */
export interface Finding {
  readonly class: DataClass;
  /** The detector's id. */
  readonly kind: string;
  readonly confidence: Confidence;
  /** `body:$.path`, `query:name`, `path`, `host`, `header:name`. */
  readonly location: string;
  readonly part: 'head' | 'body';
  readonly start: number;
  readonly end: number;
  /** The credential is at its vendor's host, or where it was first used: it is no leak and has no class. */
  readonly atHome: boolean;
  /** A credential without a vendor that is known to be at home elsewhere. */
  readonly isMisdirected?: true;
  /** Hosts of the vendor that the credential belongs to; empty where nobody can tell. */
  readonly vendorHosts: readonly string[];
}

/** Returns the classes of which something was found, each once, in the order of `dataClasses`. */
export const classesAmong = (found: readonly Pick<Finding, 'class'>[]): readonly DataClass[] =>
  found.length === 0 ? none : dataClasses.filter((name) => found.some((it) => it.class === name));

const none: readonly never[] = Object.freeze([]);

/** A body of which something was cut, and what is in it still. */
export interface CutBody {
  readonly body: Buffer;
  readonly findings: readonly Finding[];
}

/** An intent that the words of a text tell. */
export interface Meaning {
  readonly category: 'EXFILTRATION' | 'PRIVILEGE_ESCALATION' | 'DESTRUCTIVE' | 'LATERAL_MOVEMENT';
  /** 0.5 to 1, in hundredths. */
  readonly score: number;
  /** Names of what spoke for it, as "erase + everything, erase + backups". Never anything of the text. */
  readonly details: string;
}

/** Something of a call that a threat feed lists. */
export interface Threat {
  readonly feed: string;
  readonly kind: 'url' | 'host' | 'ip' | 'cidr';
  /** The indicator as the feed lists it. */
  readonly indicator: string;
  /** A link to the feed's own page on it; empty where there is none. */
  readonly reference: string;
  readonly threat: string;
  /** The call goes there itself, or its body has the URL. */
  readonly location: 'target' | 'body';
}

/** `added` and `changed`: since the list before; the others are of what the server says of the tool now. */
export const toolConcernKinds = ['added', 'changed', 'risky', 'injected', 'unread'] as const;
export type ToolConcernKind = (typeof toolConcernKinds)[number];

/** Why calls of a tool of an MCP server want a second look. */
export interface ToolConcern {
  /** The server's name of the tool, `sha256:…` where no rule could use that, or `*` for all its tools. */
  readonly tool: SafeName;
  readonly kinds: readonly ToolConcernKind[];
  readonly sinceMs: number;
  readonly untilMs: number;
}
