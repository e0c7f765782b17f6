import type { SafeName } from './safe-name.ts';

/* The classes of data that detectors find. */

export const dataClasses = ['SECRETS', 'PII', 'PHI', 'INTERNAL'] as const;
export type DataClass = (typeof dataClasses)[number];

/**
 * The classes that policies may ask for: the classes of data, and the class of content that nobody can read.
 */
export const contentClasses = [...dataClasses, 'OPAQUE_CONTENT'] as const;
export type ContentClass = (typeof contentClasses)[number];

export const confidences = ['low', 'medium', 'high'] as const;
/**
 * The certainty of a finding. A class counts from `medium` on; a `low` finding is reported and weighs
 * nothing.
 */
export type Confidence = (typeof confidences)[number];

/** A detector's finding. `start` and `end` count bytes of the part as received, so that a cut is exact. */
export interface Finding {
  readonly class: DataClass;
  /** The detector's id. */
  readonly kind: string;
  readonly confidence: Confidence;
  /** The place in the call: `body:$.path`, `query:name`, `path`, `host` or `header:name`. */
  readonly location: string;
  readonly part: 'head' | 'body';
  readonly start: number;
  readonly end: number;
  /**
   * The credential is at its vendor's host, or where it was first used. Then it is no leak and does not
   * count.
   */
  readonly atHome: boolean;
  /** The credential has no vendor, and is known to be at home elsewhere. */
  readonly isMisdirected?: true;
  /** The hosts of the vendor that the credential belongs to; empty where nobody can tell. */
  readonly vendorHosts: readonly string[];
}

/** Returns the classes of which something was found, each once, in the order of `dataClasses`. */
export const classesAmong = (found: readonly Pick<Finding, 'class'>[]): readonly DataClass[] =>
  found.length === 0 ? none : dataClasses.filter((name) => found.some((it) => it.class === name));

const none: readonly never[] = Object.freeze([]);

/** A body from which something was cut, and the findings that it still has. */
export interface CutBody {
  readonly body: Buffer;
  readonly findings: readonly Finding[];
}

/** An intent that the words of a text tell. */
export interface Meaning {
  readonly category: 'EXFILTRATION' | 'PRIVILEGE_ESCALATION' | 'DESTRUCTIVE' | 'LATERAL_MOVEMENT';
  /** The strength of the intent, 0.5 to 1 in steps of 0.01. */
  readonly score: number;
  /**
   * Names of what spoke for the intent, such as "erase + everything, erase + backups". Nothing of the text is
   * in it.
   */
  readonly details: string;
}

/** An address in a call that a threat feed lists. */
export interface Threat {
  readonly feed: string;
  readonly kind: 'url' | 'host' | 'ip' | 'cidr';
  /** The indicator as the feed lists it. */
  readonly indicator: string;
  /** A link to the feed's own page about the indicator; empty where there is none. */
  readonly reference: string;
  readonly threat: string;
  /** The place of the indicator: `target` if the call goes there itself, `body` if its body has the URL. */
  readonly location: 'target' | 'body';
}

/**
 * The kinds of concern. `added` and `changed` compare with the server's list before. The others judge what
 * the server says of the tool now.
 */
export const toolConcernKinds = ['added', 'changed', 'risky', 'injected', 'unread'] as const;
export type ToolConcernKind = (typeof toolConcernKinds)[number];

/** A reason to look twice at calls of a tool of an MCP server. */
export interface ToolConcern {
  /**
   * The server's name of the tool, `sha256:…` for a name that no rule could use, or `*` for all its tools.
   */
  readonly tool: SafeName;
  readonly kinds: readonly ToolConcernKind[];
  readonly sinceMs: number;
  readonly untilMs: number;
}
