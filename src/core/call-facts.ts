import type { CutBody, Finding, Meaning, Threat, ToolConcern } from './finding.ts';
import { type CallHistory, noHistory, type SensitiveRead } from './history.ts';
import { noPrivileges, type Privileges } from './operation.ts';
import { type NameReader, type SafeName, unreadName } from './safe-name.ts';
import type { IncidentCause, Verdict } from './verdict.ts';

/* The groups of facts that the states of a call hold, each as one stage finds it out: see `call.ts`. */

/** The tenant, agent and key record that a presented key belongs to; the key itself is never in here. */
export interface Identity {
  readonly keyId: string;
  readonly keyPrefix: string;
  readonly tenantId: string;
  readonly envName: string;
  /** The agent that makes the call: the key's own, or another one of the tenant that the call names. */
  readonly agentId: string;
  readonly agentName: string;
  /** The agent of the key. Nothing that a call claims changes it: stored credentials are chosen by it. */
  readonly ownAgent: OwnAgent;
  readonly permissions: ReadonlySet<string>;
}

/** The agent that a key was made for, as it is registered. */
export interface OwnAgent {
  readonly agentId: string;
  readonly name: string;
  readonly runtimeType: string | null;
}

/** Something that an agent was answered, and that a call carries out of the organisation. */
export interface CarriedRead {
  readonly read: SensitiveRead;
  /** `content`: a good part of it, word for word; `class`: data of the same class. */
  readonly by: 'content' | 'class';
}

/** An agent is suspended by itself, or with all agents of its tenant. */
export type AgentStatus = 'active' | 'suspended' | 'tenant-suspended';

/**
 * The state's answer to a call: admitted and counted, blocked by the allowlist of its key, over a rate, or
 * refused for anything else.
 */
export type Outcome = 'call' | 'blocked' | 'limited' | 'refused';

/** An amount that a call has charged to a budget, in whole numbers so that sums are exact. */
export interface Charge {
  readonly name: string;
  /** `2026-11-21`, in the budget's zone. */
  readonly day: string;
  readonly amount: number;
}

const none: readonly never[] = Object.freeze([]);

/** Holds the facts of admission. `Tenant` is the type of the tenant's settings, unknown to this folder. */
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
  /** Amounts charged to budgets; they are given back unless the call is let out. */
  readonly charges: readonly Charge[];
  /** Known concerns about the tools of an MCP server that the call uses. */
  readonly toolConcerns: readonly ToolConcern[];
  readonly history: CallHistory;
}

/** Returns the admission of a caller of whom the state was not asked, or says nothing more. */
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

/** Words of the rules that were found in the body: see `BodyFacts.wordsFound` of the policies. */
export interface FoundInBody {
  readonly list: readonly string[];
  readonly found: Uint8Array;
  readonly hidesNames: boolean;
}

/** The facts that reading a call gives. */
export interface Inspection {
  /** Makes names of the call safe to keep and show, as the tenant's detectors read them. */
  readonly safeName: NameReader;
  /** The names by which traces and approvals speak of the agent: as claimed, save what must not be kept. */
  readonly agentName: SafeName | undefined;
  readonly runtimeType: SafeName | undefined;
  /** URL and headers as one text, in which their findings count bytes; empty where it was not read. */
  readonly head: Buffer;
  /** The findings as the detectors made them, before anybody has looked up where credentials are at home. */
  readonly findings: readonly Finding[];
  /** Places that could not be read, such as `image at body:$.file`. */
  readonly opaque: readonly string[];
  /** Classes of which only the first findings are listed: they cannot be cut out. */
  readonly uncounted: readonly Finding['class'][];
  /** How surely it gives orders to its reader, 0 to 1: a message between agents, or a call's context. */
  readonly injection: number;
  /** The intents that were read in the text of the context and the body. */
  readonly meanings: readonly Meaning[];
  /** The body and its decoded forms; made when they are asked for where that can be done at little cost. */
  readonly bodyTexts: readonly Buffer[];
  /** URLs in those, each in the ways in which it may end; undefined where nobody has looked for them. */
  readonly bodyUrls: readonly (readonly string[])[] | undefined;
  readonly wordsFound: FoundInBody | undefined;
  /** Reads another body as the call's own; undefined if not to its end. Absent where nothing was found. */
  readonly readAgain: ((body: Buffer) => readonly Finding[] | undefined) | undefined;
  /** Cuts and reads a large body in a thread; undefined if that fails. Absent for small ones. */
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
  /** Credentials without a vendor that are bound to a home when the call goes out, or stay bound to it. */
  readonly homing: Homing | undefined;
  /** Credentials at home that are known from there: to send one is not to carry out what was read. */
  readonly knownCredentials: readonly string[];
  /** Notes in findings of a body that was cut what is at home; absent where nothing is. */
  readonly markAgain: ((body: Buffer, findings: readonly Finding[]) => readonly Finding[]) | undefined;
  /** Large bodies that were cut, by the classes that were to be cut: each is cut once. */
  readonly cutBodies: Map<string, Buffer | undefined> | undefined;
}

/** The home that the call's credentials get where it is let out. All are keyed hashes. */
export interface Homing {
  readonly home: string;
  readonly credentials: readonly { readonly credential: string; readonly keptMs: number }[];
}

/** The marks of a call whose credentials nobody has looked up: each is where it was found, and no more. */
export const noMarks = ({ findings, cutApart }: Inspection): CredentialMarks => ({
  findings,
  homing: undefined,
  knownCredentials: none,
  markAgain: undefined,
  cutBodies: cutApart && new Map(),
});

/** The facts that signals are raised by, beside what was found in the call. */
export interface RiskEvidence {
  readonly threats: readonly Threat[];
  /** It addresses somebody outside the organisation. */
  readonly isExternal: boolean;
  /** The first thing it does that makes somebody who may be given rights, and the first that gives rights. */
  readonly privileges: Privileges;
  /** Contents of earlier answers that the call carries out of the organisation. */
  readonly carriedReads: readonly CarriedRead[];
  /** Keyed hashes of the credentials that it carries where none of them belongs. */
  readonly secretHashes: readonly string[];
}

/** The evidence of a call that nobody has looked for any in. */
export const noEvidence: RiskEvidence = Object.freeze({
  ...{ threats: none, isExternal: false, privileges: noPrivileges, carriedReads: none, secretHashes: none },
});

/** The facts that deciding gives. */
export interface CallDecision {
  readonly verdict: Verdict;
  /** In monitor mode: everything passes, and nothing follows from it. */
  readonly isMonitored: boolean;
  readonly incidents: readonly IncidentCause[];
}
