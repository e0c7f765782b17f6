import type { BodyValue, Operation, Resource } from '../../src/core/call.ts';
import { parseTarget } from '../../src/core/target.ts';
import type { BodyFacts, CompiledInput, Facts, PolicyDecision, Rule } from '../../src/policy/index.ts';
import { compilePolicies, parseStoredRules } from '../../src/policy/index.ts';

/** Facts as a case writes them: everything may be left out. */
export interface GivenFacts extends Partial<Omit<Facts, 'operation' | 'target' | 'body'>> {
  url?: string;
  /** Text as it is, anything else as JSON. */
  body?: unknown;
  bodyBytes?: number;
  bodyTexts?: BodyFacts['texts'];
  bodyHidesNames?: boolean;
  bodyValue?: BodyFacts['value'];
  operation?: Partial<Omit<Operation, 'resource'>> & { resource?: Resource };
  budgetsExceeded?: readonly string[];
}

export interface CountingFacts extends Facts {
  /** How often the body was parsed. */
  parses: number;
}

/** A harmless POST to an unknown host, but for what is given. */
export function factsOf(given: GivenFacts = {}): CountingFacts {
  const {
    url,
    body,
    operation,
    budgetsExceeded = [],
    bodyBytes,
    bodyTexts,
    bodyHidesNames = false,
    bodyValue,
    ...rest
  } = given;
  const text =
    body === undefined ? undefined : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  const facts: CountingFacts = {
    envName: 'production',
    method: 'POST',
    overridingMethods: [],
    target: parseTarget(url ?? 'https://api.example.com/v1/things'),
    agentId: '5b0c7f0e-7a54-4b0e-9a55-0a2f6f0f7c11',
    runtimeType: 'langchain',
    ownAgent: { agentId: given.agentId ?? '5b0c7f0e-7a54-4b0e-9a55-0a2f6f0f7c11', runtimeType: null },
    nowMs: Date.UTC(2026, 5, 1, 12),
    classes: [],
    detectors: [],
    signals: [],
    riskScore: 0.1,
    body: {
      bytes: bodyBytes ?? text?.length ?? 0,
      texts: bodyTexts ?? (text ? [text] : []),
      hidesNames: bodyHidesNames,
      value() {
        facts.parses += 1;
        return bodyValue ? bodyValue() : parseJson(text);
      },
    },
    isNewDestination: false,
    isExternalPrincipal: false,
    isVolumeBurst: false,
    trustScore: 1,
    threatIntelMatch: false,
    isBudgetExceeded: (name) => budgetsExceeded.includes(name),
    ...rest,
    operation: {
      toolName: 'custom_proxy',
      name: 'POST',
      category: 'http',
      verb: 'WRITE',
      resource: {},
      principals: [],
      ...operation,
    },
    parses: 0,
  };
  return facts;
}

function parseJson(text: Buffer | undefined): BodyValue {
  try {
    return text ? { kind: 'value', readings: [JSON.parse(text.toString('utf8'))] } : { kind: 'none' };
  } catch {
    return { kind: 'none' };
  }
}

export type GivenRule = Partial<Record<keyof Rule, unknown>>;

/** A policy of rules that say only what matters: they DENY, and are named r0, r1, … unless they say otherwise. */
export function policyOf(
  name: string,
  rules: readonly GivenRule[],
  more: Partial<CompiledInput> = {},
): CompiledInput {
  const whole = rules.map((rule, index) => ({ rule_id: `r${index}`, action: 'DENY', ...rule }));
  return {
    policyId: `id-${name}`,
    policyName: name,
    version: 1,
    envNames: undefined,
    mode: 'enforce',
    rules: parseStoredRules(whole),
    ...more,
  };
}

/** What one policy of these rules decides. */
export const decideBy = (rules: readonly GivenRule[], given: GivenFacts): PolicyDecision =>
  compilePolicies([policyOf('p', rules)]).decide(factsOf(given));
