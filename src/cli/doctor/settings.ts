import type { Config, TenantConfig } from '../../config/schema.ts';
import { type Check, check } from './check.ts';

/*
 * Looks for weaknesses in the configuration itself. No canary shows these: they wait for a failure or a
 * thief.
 */

const secretLengthMin = 24;

const isLoopback = (host: string): boolean => /^(?:127\.|\[?::1\]?$|localhost$)/.test(host);

/** Returns the checks of the daemon, then those of each tenant. */
export function checkSettings(config: Config): readonly Check[] {
  return [...daemonChecks(config), ...[...config.tenants.values()].flatMap(tenantChecks)];
}

function daemonChecks(config: Config): readonly Check[] {
  const { control, proxy, state, responseScan, risk, intercept } = config;
  const isOpen = (listener: Config['proxy'] | Config['control']): boolean =>
    listener.listen.some((it) => it.kind === 'tcp' && !isLoopback(it.host));
  const { adminSecret } = control;
  return [
    check('decisions bind', config.mode === 'enforce', `mode: ${config.mode}`, 'mode: enforce'),
    check(
      'calls without state',
      state.onFailure === 'closed',
      `state.on_failure: ${state.onFailure}`,
      'state.on_failure: closed',
    ),
    check(
      'control plane in private',
      !isOpen(control) || control.tls !== null,
      isOpen(control)
        ? `others reach it ${control.tls ? 'over TLS' : 'in plain text'}`
        : 'this machine alone reaches it',
      'control.listen: 127.0.0.1:8081, or control.tls',
    ),
    check(
      'proxy for those with keys',
      proxy.requireAuth || !isOpen(proxy),
      proxy.requireAuth ? 'every call needs a key' : 'whoever reaches it may call',
      'proxy.require_auth: true',
    ),
    check(
      'admin secret',
      adminSecret === null || adminSecret.length >= secretLengthMin,
      adminSecret === null ? 'there is none' : `${adminSecret.length} characters`,
      `SERVICE_API_KEYS_ADMIN_SECRET of ${secretLengthMin} characters or more: openssl rand -hex 24`,
    ),
    check(
      'answers are read',
      responseScan.mode !== 'off',
      `response_scan.mode: ${responseScan.mode}`,
      'response_scan.mode: enforce',
    ),
    check(
      'threats are blocked',
      risk.blockThreats,
      `risk.block_threats: ${risk.blockThreats}`,
      'risk.block_threats: true',
    ),
    check(
      'no unread hosts',
      !intercept.passthrough.some((it) => /^[*.]+$/.test(it)),
      intercept.passthrough.length === 0 ? 'none' : intercept.passthrough.join(', '),
      'intercept.passthrough: name single hosts',
    ),
  ];
}

function tenantChecks({ id, posture, mode }: TenantConfig): readonly Check[] {
  return [
    check(
      `risk of ${id}`,
      posture.bands.CRITICAL !== 'ALLOW' && posture.bands.HIGH !== 'ALLOW',
      `HIGH: ${posture.bands.HIGH}, CRITICAL: ${posture.bands.CRITICAL}`,
      'posture.bands: { HIGH: REQUIRE_APPROVAL, CRITICAL: DENY }',
    ),
    check(
      `secrets of ${id}`,
      posture.secrets !== 'ALLOW',
      `posture.secrets: ${posture.secrets}`,
      'posture.secrets: SANITIZE',
    ),
    check(`decisions of ${id}`, mode === 'enforce', `mode: ${mode}`, 'mode: enforce, of the tenant'),
  ];
}

/** Checks the permissions of a key that agents call with. It must not be able to change what judges them. */
export function checkKey(permissions: readonly string[]): Check {
  const risky = permissions.filter((it) =>
    ['admin', 'policies:write', 'approvals:decide', 'agents:write'].includes(it),
  );
  return check(
    'the key of this shell',
    risky.length === 0,
    risky.length === 0 ? 'it may change nothing that judges it' : `it has ${risky.join(', ')}`,
    'postern key mint without --permission, for agents',
  );
}
