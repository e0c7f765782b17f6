import type { Identity } from '../../../core/call.ts';
import type { Sightings } from '../../../core/history.ts';
import type { Examined, examine, Holder } from '../../rules/admission.ts';
import { charged, none } from '../../rules/budgets.ts';
import { limitsOf, overQuota, overRate, type Rate, usedUp } from '../../rules/limits.ts';
import { mcpServerId } from '../../rules/mcp-tools.ts';
import { wholeTrust } from '../../rules/trust.ts';
import type {
  Admission,
  AdmitRequest,
  BudgetCharge,
  KeyRecord,
  MaybePromise,
  McpCall,
  NotAdmitted,
  TenantTerms,
  TrustRecord,
} from '../../store.ts';
import { parseUsual, type UsualOf } from '../history.ts';
import { concernsField, parseConcerns } from '../mcp-tools.ts';

/* Makes the arguments of `admit.lua` for a call that was judged by the records, and reads the answers. */

/** How long an ephemeral key's numbers outlive it, in milliseconds. */
const numbersKeptMs = 2 * 86_400_000;

export interface Asking {
  readonly named: string | undefined;
  readonly mode: AdmitRequest['counts'] | 'nothing' | 'blocked' | 'none';
  readonly nowMs: number;
  /** The agent whose destinations are looked at; '' where none are. */
  readonly agentId: string;
  readonly destination: string;
  readonly names: readonly string[];
  readonly toolName: string;
  readonly mutations: number;
  /**
   * The called tools, whose concerns are asked for. `concernsField` is the field of these concerns; '' where
   * none are asked for.
   */
  readonly mcp: McpCall | undefined;
  readonly concernsField: string;
  readonly numbers: readonly (string | number)[];
  /** The key whose bucket counts, where it is another one; null: the key's own. */
  readonly bucketOf: string | null;
  readonly charges: readonly BudgetCharge[];
}

export interface RedisAnswer {
  /** The revision of the tenant's records. */
  readonly revision: string;
  readonly status: string;
  readonly fields: readonly (string | number)[];
  readonly agent: AgentHistory | undefined;
  readonly sightings: MaybePromise<Sightings>;
}

interface AgentHistory {
  readonly usual: UsualOf;
  readonly trust: TrustRecord;
}

const noNumbers: readonly string[] = Array.from({ length: 8 }, () => '');

/** Returns a question that asks for nothing but the records. */
export const asking = (nowMs: number): Asking => ({
  named: undefined,
  mode: 'none',
  nowMs,
  agentId: '',
  destination: '',
  names: none,
  toolName: '',
  mutations: 0,
  mcp: undefined,
  concernsField: '',
  numbers: noNumbers,
  bucketOf: null,
  charges: none,
});

export function toAsking(
  holder: Holder | undefined,
  request: AdmitRequest,
  named: string | undefined,
  examined: ReturnType<typeof examine> | undefined,
): Asking {
  const { nowMs, destination, names = none, toolName, mutations = 0, mcp } = request;
  const mode = modeOf(request, examined);
  if (!holder || !examined?.identity || mode === 'none' || mode === 'blocked')
    return { ...asking(nowMs), named, mode };
  const { key } = holder;
  const terms = request.termsOf(key.tenantId);
  return {
    named,
    mode,
    nowMs,
    agentId: examined.identity.agentId,
    destination,
    names,
    toolName,
    mutations: mode === 'call' ? mutations : 0,
    mcp,
    concernsField: mcp ? concernsField(mcpServerId(key.tenantId, mcp.origin)) : '',
    numbers: terms ? numbersOf(key, terms, nowMs) : noNumbers,
    bucketOf: key.parentKeyId,
    charges: (mode === 'call' && request.chargesOf?.(examined.identity)) || none,
  };
}

function modeOf({ counts }: AdmitRequest, examined: ReturnType<typeof examine> | undefined): Asking['mode'] {
  if (!examined) return 'none';
  if (examined.ok) return counts;
  if (examined.code === 'UNKNOWN_AGENT') return 'nothing';
  return examined.code === 'IP_NOT_ALLOWED' ? 'blocked' : 'none';
}

function numbersOf(key: KeyRecord, terms: TenantTerms, nowMs: number): readonly (string | number)[] {
  const isShort = key.type === 'ephemeral' && key.expiresAtMs !== null;
  const { quota, overage, maxUses, tenantRate, keyRate } = limitsOf(key, terms);
  return [
    quota ?? '',
    overage ? 1 : 0,
    maxUses ?? '',
    ...toPair(tenantRate),
    ...toPair(keyRate),
    isShort ? Math.max(0, key.expiresAtMs - nowMs) + numbersKeptMs : '',
  ];
}

const toPair = (rate: Rate | undefined) => (rate ? [rate.perMinute, rate.capacity] : ['', '']);

/** Returns the refusal that the numbers call for; undefined where they call for none. */
export function quotaRefusal(
  identity: Identity | undefined,
  { status, fields: [first, second, third] }: RedisAnswer,
): NotAdmitted | undefined {
  if (status === 'quota') return { ...overQuota(Number(first)), identity };
  if (status === 'used up') return { ...usedUp, identity };
  if (status === 'limited') return { ...overRate(String(first), Number(second), Number(third)), identity };
  return undefined;
}

export function toAdmission(
  { key }: Holder,
  { identity, agentStatus, scopeViolations }: Examined,
  { charges, nowMs, mcp, names }: Asking,
  sightings: Sightings,
  { fields, agent }: RedisAnswer,
): Admission {
  const [isNew = '', used, concerns, , lately, mutations, ...exceededBudgets] = fields;
  const news = String(isNew);
  return {
    ok: true,
    key,
    identity,
    agentStatus,
    isNewDestination: news.startsWith('1'),
    newNames: names.filter((_, at) => news[at + 1] === '1'),
    habits: { ...(agent?.usual ?? parseUsual('')), lately: Number(lately), mutations: Number(mutations) },
    trust: agent?.trust ?? wholeTrust,
    sightings,
    exceededBudgets: exceededBudgets.length === 0 ? none : exceededBudgets.map(String),
    charges: charges.length === 0 ? none : charged(charges),
    toolConcerns: parseConcerns(String(concerns), mcp, nowMs),
    scopeViolations,
    scansUsed: Number(used),
  };
}
