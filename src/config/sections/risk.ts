import * as z from 'zod';
import { decisions } from '../../core/call.ts';
import { day, duration, flag, fraction, hour, integer, second } from '../scalars.ts';
import { orNull, over, section } from '../section.ts';

/* Decisions on findings: postures, approvals, risk. */

const decision = z.enum(decisions);
const nullable = orNull(decision);

/**
 * A posture as the file writes it. It is laid over another one key by key, and a key that is null changes
 * nothing.
 */
export const posture = section({
  secrets: nullable.describe(
    'What happens to a call that carries secrets when no rule matches; default SANITIZE.',
  ),
  pii: nullable.describe('The same for personal data; default ALLOW.'),
  phi: nullable.describe('The same for health data; default ALLOW.'),
  internal: nullable.describe('The same for internal matters; default ALLOW.'),
  bands: section({
    LOW: nullable.describe('The same for risk of this band; default ALLOW.'),
    MEDIUM: nullable.describe('Default ALLOW.'),
    HIGH: nullable.describe('Default REQUIRE_APPROVAL.'),
    CRITICAL: nullable.describe('Default DENY.'),
  })
    .prefault({})
    .describe('What happens by the band of the risk.'),
}).prefault({});

type WrittenPosture = z.output<typeof posture>;
type Decided<T> = { readonly [K in keyof T]: NonNullable<T[K]> };

/** The decisions on calls that no rule matches, by class and by band. */
export type PostureConfig = Decided<Omit<WrittenPosture, 'bands'>> & {
  readonly bands: Decided<WrittenPosture['bands']>;
};

export const defaultPosture: PostureConfig = {
  secrets: 'SANITIZE',
  pii: 'ALLOW',
  phi: 'ALLOW',
  internal: 'ALLOW',
  bands: { LOW: 'ALLOW', MEDIUM: 'ALLOW', HIGH: 'REQUIRE_APPROVAL', CRITICAL: 'DENY' },
};

/** Returns the posture `own` laid over the first one, key by key. */
export function mergePosture({ bands, ...classes }: PostureConfig, own: WrittenPosture): PostureConfig {
  return Object.freeze({ ...over(classes, own), bands: over(bands, own.bands) });
}

const approvalFields = {
  ttl: duration(second, day),
  grant_window: duration(0, hour),
  deny_window: duration(0, hour),
  hold: duration(0, hour),
};

export const approvals = section({
  ttl: approvalFields.ttl.prefault('10m').describe('An approval that nobody decides expires after this.'),
  grant_window: approvalFields.grant_window
    .prefault('10m')
    .describe('How long an approved call may be repeated to be let through; 0s: not at all.'),
  deny_window: approvalFields.deny_window
    .prefault('10m')
    .describe('How long an identical call is denied after a denial; 0s: not at all.'),
  hold: approvalFields.hold
    .prefault('0s')
    .describe('How long the proxies hold a call open for its approval; 0s: answered 403 at once.'),
}).prefault({});

export const approvalsOverride = section({
  ttl: orNull(approvalFields.ttl).describe('Instead of approvals.ttl.'),
  grant_window: orNull(approvalFields.grant_window).describe('Instead of approvals.grant_window.'),
  deny_window: orNull(approvalFields.deny_window).describe('Instead of approvals.deny_window.'),
  hold: orNull(approvalFields.hold).describe('Instead of approvals.hold.'),
}).prefault({});

export const defaultBands = { MEDIUM: 0.25, HIGH: 0.5, CRITICAL: 0.75 } as const;

export const risk = section({
  // Signals name their engines by these names, so the names stay as they are written.
  weights: z
    .strictObject({
      classifier: fraction.prefault(0.3).describe('Weight of what the detectors found.'),
      threat_intel: fraction.prefault(0.2).describe('Weight of the threat feeds.'),
      baseline: fraction.prefault(0.15).describe('Weight of what is unusual for the agent.'),
      correlation: fraction.prefault(0.15).describe('Weight of what is suspicious in sequence.'),
      semantic: fraction.prefault(0.1).describe('Weight of what context and body mean.'),
    })
    .readonly()
    .prefault({})
    .describe('How much each engine counts in the score, 0 to 1.'),
  bands: section({
    MEDIUM: fraction.prefault(defaultBands.MEDIUM).describe('From this score on the risk is MEDIUM.'),
    HIGH: fraction.prefault(defaultBands.HIGH).describe('From this score on the risk is HIGH.'),
    CRITICAL: fraction.prefault(defaultBands.CRITICAL).describe('From this score on the risk is CRITICAL.'),
  }).prefault({}),
  block_threats: flag
    .prefault(true)
    .describe('Whether a hit in a threat feed denies the call before any policy.'),
  auto_register_agents: flag
    .prefault(true)
    .describe('Whether an unknown agent id registers that agent; else it is answered 403.'),
  trust: section({
    denial: fraction.prefault(0.05).describe('Trust lost by a denied call.'),
    analyst_denial: fraction.prefault(0.1).describe('Trust lost when an analyst denies.'),
    threat_hit: fraction.prefault(0.2).describe('Trust lost by a hit in a threat feed.'),
    anomaly: fraction.prefault(0.02).describe('Trust lost by something unusual.'),
    recovery: fraction
      .prefault(0.01)
      .describe('Trust regained by a run of clean calls, and by an idle hour.'),
    recovery_calls: integer(1, 1_000_000).prefault(50).describe('Clean calls that make such a run.'),
  })
    .prefault({})
    .describe('How the trust in an agent, 0 to 1 and at first 1, moves.'),
}).prefault({});
