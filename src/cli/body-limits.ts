import type { BodyLimits } from '../catalogue/catalogue.ts';
import type { Config } from '../config/schema.ts';
import { sizeText } from '../util/byte-size.ts';

/** The limits of bodies that are in force under a configuration, as `config check` tells them. */
interface BodyLimitsInForce {
  /** Bytes of a call to a vendor that the catalogue lacks. */
  readonly default_bytes: number;
  /** Bytes of all bodies of one agent at one time. */
  readonly total_bytes: number;
  /** Bytes that the catalogue grants each tool, within the total; empty where a limit is set everywhere. */
  readonly raised: readonly { readonly tool: string; readonly bytes: number }[];
  /** Limits that the configuration has, with their places. The catalogue raises none of these. */
  readonly written: readonly { readonly path: string; readonly bytes: number }[];
}

export function bodyLimitsInForce(config: Config, { byTool }: BodyLimits): BodyLimitsInForce {
  const { maxBodyBytes, maxBodyBytesTotal } = config.limits;
  const usual = config.defaultTenant('default');
  const tenants = [...config.tenants.values(), usual];
  const isRaised = tenants.some((it) => it.bodyLimitSetBy === null);
  const written = new Map<string, number>();
  for (const it of tenants) {
    const { bodyLimitSetBy: by, maxBodyBytes: bytes } = it;
    if (by === 'limits') written.set('limits.max_body_bytes', maxBodyBytes);
    if (by === 'plan') written.set(`plans.${it.plan.name}.max_body_bytes`, bytes);
    if (by === 'tenant') written.set(`tenants.${it.id}.limits.max_body_bytes`, bytes);
  }
  for (const { prefix, maxBodyBytes: bytes } of config.inbound.values())
    if (bytes !== null) written.set(`inbound.${prefix}.max_body_bytes`, bytes);
  for (const { name, maxBodyBytes: bytes } of config.tools)
    if (bytes !== null) written.set(`tools.${name}.max_body_bytes`, bytes);
  return {
    default_bytes: maxBodyBytes,
    total_bytes: maxBodyBytesTotal,
    raised: isRaised
      ? [...byTool].map(([tool, bytes]) => ({ tool, bytes: Math.min(bytes, maxBodyBytesTotal) }))
      : [],
    written: [...written].map(([path, bytes]) => ({ path, bytes })),
  };
}

/** Returns the limits in sentences, a line each. */
export function toldBodyLimits(limits: BodyLimitsInForce): readonly string[] {
  const { default_bytes: usual, total_bytes: total, raised, written } = limits;
  const bySize = Map.groupBy(
    raised.toSorted((a, b) => a.bytes - b.bytes),
    ({ bytes }) => bytes,
  );
  return [
    `bodies: ${sizeText(usual)}; ${sizeText(total)} at one time for an agent.`,
    ...[...bySize].map(
      ([bytes, tools]) => `bodies: up to ${sizeText(bytes)} for ${tools.map(({ tool }) => tool).join(', ')}.`,
    ),
    ...written.map(
      ({ path, bytes }) => `bodies: ${sizeText(bytes)} by ${path}, before what the catalogue knows.`,
    ),
  ];
}
