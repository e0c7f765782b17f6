/*
 * Bounds of the homes of credentials. Where there is no room, nothing new is bound: if old ones gave way, whoever makes enough calls could push
 * out the home of a credential and then give it another one.
 */

export const homesPerAgentMax = 16_384;
export const homesPerTenantMax = 131_072;

const dayMs = 86_400_000;

/** The longest that a home stands without a use. */
export const homeKeptMsMax = 90 * dayMs;
