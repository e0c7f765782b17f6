/*
 * Bounds of the homes of credentials. Where there is no room, nothing new is bound: otherwise many calls
 * could push out the home of a credential and give it another one.
 */

export const homesPerAgentMax = 16_384;
export const homesPerTenantMax = 131_072;

const dayMs = 86_400_000;

/** The longest time that a home stands without a use, in milliseconds. */
export const homeKeptMsMax = 90 * dayMs;
