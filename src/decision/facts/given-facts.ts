import { z } from 'zod';
import { signalNames } from '../../core/call.ts';
import { parseUuid } from '../../core/ids.ts';
import type { BodyFacts, Facts } from '../../policy/index.ts';

const score = z.number().min(0).max(1);

/** The facts that a request or a case file gives with a simulated call. The other facts are found out. */
export const givenFacts = z.strictObject({
  now: z.iso
    .datetime({ offset: true, error: 'must be a time such as 2026-03-04T12:00:00Z' })
    .transform((text) => Date.parse(text))
    .optional()
    .describe('When the call is made'),
  runtime_type: z.string().max(64).optional(),
  agent_id: z
    .string()
    .refine((text) => parseUuid(text) !== undefined, 'must be a UUID')
    .toLowerCase()
    .optional(),
  agent_status: z.enum(['active', 'suspended']).optional(),
  risk_score: score.optional(),
  trust_score: score.optional(),
  is_new_destination: z.boolean().optional(),
  is_volume_burst: z.boolean().optional(),
  is_external_principal: z.boolean().optional(),
  threat_intel_match: z.boolean().optional(),
  signals: z.array(z.enum(signalNames)).max(signalNames.length).optional(),
  exceeded_budgets: z.array(z.string().max(128)).max(1000).optional(),
});

export type GivenFacts = z.output<typeof givenFacts>;

/** Returns facts in which those that are given replace those that were found out. */
export function withGiven(facts: Facts, given: GivenFacts, body = facts.body): Facts {
  return {
    envName: facts.envName,
    operation: facts.operation,
    method: facts.method,
    overridingMethods: facts.overridingMethods,
    target: facts.target,
    agentId: facts.agentId,
    runtimeType: facts.runtimeType,
    ownAgent: facts.ownAgent,
    nowMs: facts.nowMs,
    classes: facts.classes,
    detectors: facts.detectors,
    signals: given.signals ?? facts.signals,
    riskScore: facts.riskScore,
    body,
    isNewDestination: facts.isNewDestination,
    get isExternalPrincipal() {
      return given.is_external_principal ?? facts.isExternalPrincipal;
    },
    isVolumeBurst: given.is_volume_burst ?? facts.isVolumeBurst,
    trustScore: given.trust_score ?? facts.trustScore,
    threatIntelMatch: given.threat_intel_match ?? facts.threatIntelMatch,
    isBudgetExceeded: (name) => given.exceeded_budgets?.includes(name) ?? facts.isBudgetExceeded(name),
  };
}

/** Returns the same body with another size. */
export const sizedBody = (body: BodyFacts, bytes: number): BodyFacts => ({
  bytes,
  get texts() {
    return body.texts;
  },
  value: () => body.value(),
  get hidesNames() {
    return body.hidesNames;
  },
});
