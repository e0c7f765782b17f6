import type { CutBody, Finding, Meaning, Threat, ToolConcern } from './finding.ts';
import { type CallHistory, noHistory, type SensitiveRead } from './history.ts';
import { noPrivileges, type Privileges } from './operation.ts';
import { type NameReader, type SafeName, unreadName } from './safe-name.ts';
import type { IncidentCause, Verdict } from './verdict.ts';

/* The groups of facts that the states of a call hold (`call.ts`). Each group is what one stage finds out. */

/** The tenant, agent and key record that a presented key belongs to; the key itself is never in here. */
export interface Identity {
  readonly keyId: string;
  readonly keyPrefix: string;
  readonly tenantId: string;
  readonly envName: string;
  /** The agent that makes the call: that of the key, or another one of the tenant that the call names. */
  readonly agentId: string;
  readonly agentName: string;
  /** The agent of the key, by which stored credentials are chosen. Nothing that a call claims changes it. */
  readonly ownAgent: OwnAgent;
  readonly permissions: ReadonlySet<string>;
}

/** The agent that a key was made for, as it is registered. */
export interface OwnAgent {
  readonly agentId: string;
  readonly name: string;
  readonly runtimeType: string | null;
}

/** A read of sensitive content that a call carries out of the organisation. */
export interface CarriedRead {
  readonly read: SensitiveRead;
  /**
   * The way the read was recognised: a good part of its `content`, word for word, or data of the same
   * `class`.
   */
  readonly by: 'content' | 'class';
}

/** The status of an agent. It is suspended by itself, or together with all agents of its tenant. */
export type AgentStatus = 'active' | 'suspended' | 'tenant-suspended';

/**
 * The state's answer to a call. The call is admitted and counted (`call`), blocked by the allowlist of its
 * key, over a rate (`limited`), or refused for another reason.
 */
export type Outcome = 'call' | 'blocked' | 'limited' | 'refused';

/** An amount that a call has charged to a budget. It is a whole number, so that sums are exact. */
export interface Charge {
  readonly name: string;
  /** The day in the budget's time zone, such as `2026-11-21`. */
  readonly day: string;
  readonly amount: number;
}

const none: readonly never[] = Object.freeze([]);

/** The facts of admission. `Tenant` is the type of the tenant's settings, which this folder does not know. */
export interface CallAdmission<Tenant = unknown> {
  readonly tenant: Tenant;
  readonly identity: Identity;
  readonly agentStatus: AgentStatus;
  readonly outcome: Outcome;
  /** The state is away, and the call goes on with what was known of its key and tenant. */
  readonly isDegraded: boolean;
  /** Sentences that say how the call leaves the scope of its key; empty where it does not. */
  readonly scopeViolations: readonly SafeName[];
  /** Budgets that were used up before this call. */
  readonly exceededBudgets: readonly string[];
  /** The amounts charged to budgets. They are given back unless the call is let out. */
  readonly charges: readonly Charge[];
  /** Known concerns about the tools of an MCP server that the call uses. */
  readonly toolConcerns: readonly ToolConcern[];
  readonly history: CallHistory;
}

/** Returns the admission of a caller about whom the state was not asked, or says nothing more. */
export const plainAdmission = <Tenant>(
  tenant: Tenant,
  identity: Identity,
  agentStatus: AgentStatus = 'active',
): CallAdmission<Tenant> => ({
  tenant,
  identity,
  agentStatus,
  outcome: 'refused',
  isDegraded: false,
  scopeViolations: none,
  exceededBudgets: none,
  charges: none,
  toolConcerns: none,
  history: noHistory,
});

/** The words of the policies' rules that were found in the body (`BodyFacts.wordsFound` of the policies). */
export interface FoundInBody {
  readonly list: readonly string[];
  readonly found: Uint8Array;
  readonly hidesNames: boolean;
}

/** The facts that reading a call gives. */
export interface Inspection {
  /** Makes names of the call safe to keep and to show, by the detectors of the tenant. */
  readonly safeName: NameReader;
  /** The agent's name and runtime in traces and approvals: as claimed, without what must not be kept. */
  readonly agentName: SafeName | undefined;
  readonly runtimeType: SafeName | undefined;
  /**
   * The URL and the headers as one text, in which findings of the head count bytes; empty where it was not
   * read.
   */
  readonly head: Buffer;
  /** The findings as the detectors made them. Nobody has looked up yet where credentials are at home. */
  readonly findings: readonly Finding[];
  /** Places that could not be read, such as `image at body:$.file`. */
  readonly opaque: readonly string[];
  /**
   * Classes of which only the first findings are listed. They cannot be cut out, because not all places are
   * known.
   */
  readonly uncounted: readonly Finding['class'][];
  /**
   * The certainty that the call gives orders to its reader, from 0 to 1. Only messages between agents and the
   * context of a call are read for that.
   */
  readonly injection: number;
  /** The intents that the text of the context and of the body tells. */
  readonly meanings: readonly Meaning[];
  /** The body and its decoded forms. Where it costs little, they are made when somebody asks for them. */
  readonly bodyTexts: readonly Buffer[];
  /**
   * The URLs in each of `bodyTexts`, with every end that each may have; undefined where nobody has looked for
   * them.
   */
  readonly bodyUrls: readonly (readonly string[])[] | undefined;
  readonly wordsFound: FoundInBody | undefined;
  /**
   * Reads another body as if it were the call's, and returns undefined if it cannot be read to its end. This
   * is undefined where nothing was found.
   */
  readonly readAgain: ((body: Buffer) => readonly Finding[] | undefined) | undefined;
  /**
   * Cuts and reads a large body in a thread, and returns undefined if that fails. This is undefined for small
   * bodies.
   */
  readonly cutApart: ((body: Buffer, cuts: readonly Finding[]) => Promise<CutBody | undefined>) | undefined;
}

/** The inspection of a call of which nothing was read. */
export const notInspected: Inspection = Object.freeze({
  ...{ safeName: unreadName, agentName: undefined, runtimeType: undefined, head: Buffer.alloc(0) },
  ...{ findings: none, opaque: none, uncounted: none, injection: 0, meanings: none },
  ...{ bodyTexts: none, bodyUrls: undefined, wordsFound: undefined },
  ...{ readAgain: undefined, cutApart: undefined },
});

/** The findings of credentials, once it is known where they are at home. */
export interface CredentialMarks {
  readonly findings: readonly Finding[];
  /** The home to which credentials without a vendor are bound, or stay bound, when the call goes out. */
  readonly homing: Homing | undefined;
  /** Credentials at home that were known before this call. To send one does not carry out what was read. */
  readonly knownCredentials: readonly string[];
  /**
   * Notes in the findings of a cut body which credentials are at home. This is undefined where the call has
   * no credential in a place for credentials.
   */
  readonly markAgain: ((body: Buffer, findings: readonly Finding[]) => readonly Finding[]) | undefined;
  /** Large bodies after the cut, by the classes that were cut. Each is made once. */
  readonly cutBodies: Map<string, Buffer | undefined> | undefined;
}

/** The home that the call's credentials get where the call is let out. All are keyed hashes. */
export interface Homing {
  readonly home: string;
  readonly credentials: readonly { readonly credential: string; readonly keptMs: number }[];
}

/** Returns the marks of a call whose credentials nobody has looked up: none is known to be at home. */
export const noMarks = ({ findings, cutApart }: Inspection): CredentialMarks => ({
  findings,
  homing: undefined,
  knownCredentials: none,
  markAgain: undefined,
  cutBodies: cutApart && new Map(),
});

/** The facts that raise signals, beside what was found in the call. */
export interface RiskEvidence {
  readonly threats: readonly Threat[];
  /** The call addresses somebody outside the organisation. */
  readonly isExternal: boolean;
  /** The first operation that adds somebody who may be given rights, and the first that gives rights. */
  readonly privileges: Privileges;
  /** The contents of earlier answers that the call carries out of the organisation. */
  readonly carriedReads: readonly CarriedRead[];
  /** Keyed hashes of the credentials that the call carries to a place where none of them belongs. */
  readonly secretHashes: readonly string[];
}

/** The evidence of a call in which nobody has looked for any. */
export const noEvidence: RiskEvidence = Object.freeze({
  ...{ threats: none, isExternal: false, privileges: noPrivileges, carriedReads: none, secretHashes: none },
});

/** The facts that the decision gives. */
export interface CallDecision {
  readonly verdict: Verdict;
  /** The call is in monitor mode. It passes, and the decision has no consequence. */
  readonly isMonitored: boolean;
  readonly incidents: readonly IncidentCause[];
}
