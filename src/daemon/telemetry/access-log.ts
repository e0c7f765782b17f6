import { type CallSoFar, type DecidedCall, isTunnel } from '../../core/call.ts';
import { type GatewayError, problems } from '../../core/errors.ts';
import type { Log } from '../../core/log.ts';
import { joined, type NameReader, ownName, type SafeName } from '../../core/safe-name.ts';
import type { CallEnd, CallWatch } from '../../decision/call-watch.ts';
import { redactedMethod } from '../../decision/trace/redacted.ts';

/**
 * Writes one line for each call when its answer has ended: caller, destination, outcome, and how long it
 * took. It never has a path, a query, a header or a body: secrets stand there, and traces have what may be
 * shown of them.
 */
export function createAccessLog(log: Pick<Log, 'info'>, now: () => number): CallWatch {
  function write(call: CallSoFar, refusal: GatewayError | undefined, end: CallEnd): void {
    const { received, verdict, risk } = call;
    const identity = call.admission?.identity ?? call.identity;
    const { traceId, clientAddress, entrance, receivedAtMs } = received;
    log.info(
      {
        trace_id: traceId,
        tenant_id: identity?.tenantId,
        agent_id: identity?.agentId,
        key_id: identity?.keyId,
        client_address: clientAddress,
        entrance: ownName(entrance),
        ...whereTo(call),
        decision: ownName(refusal ? 'DENY' : (verdict?.decision ?? 'DENY')),
        reasons: refusal ? [ownName(refusal.code)] : (verdict?.reasonCodes.map(ownName) ?? []),
        band: ownName(risk?.band ?? 'NONE'),
        status: end.status,
        code: end.code,
        ms: Math.max(0, now() - receivedAtMs),
      },
      received.message ? 'message' : 'call',
    );
  }
  return {
    decided(call, refusal) {
      if (!goesOut(call)) write(call, refusal, { status: statusOf(call, refusal) });
    },
    begin(call) {
      let isWritten = false;
      return {
        fields: [],
        ended(end) {
          if (isWritten) return;
          isWritten = true;
          write(call, undefined, end);
        },
      };
    },
  };
}

/** Tells whether a request goes out for a call. If so, `begin` hears of it. */
export function goesOut(call: CallSoFar): call is DecidedCall {
  const { received, verdict } = call;
  const { entrance, message } = received;
  const isOut = verdict?.decision === 'ALLOW' || verdict?.decision === 'SANITIZE';
  return (
    isOut &&
    message === undefined &&
    (entrance === 'forward' || entrance === 'inbound') &&
    !isTunnel(received)
  );
}

/** Returns the status that the caller gets: 200 for a call that was only judged, or is a tunnel. */
function statusOf({ received, verdict }: CallSoFar, refusal: GatewayError | undefined): number {
  if (refusal) return problems[refusal.code].status;
  const isHeld = verdict?.decision === 'DENY' || verdict?.decision === 'REQUIRE_APPROVAL';
  const isScan = received.entrance === 'scan' || received.entrance === 'a2a';
  return isHeld && !isScan ? problems.POLICY_DENIED.status : 200;
}

/**
 * Returns method and host if they were read. A call that was refused before that has none that can be shown.
 */
function whereTo(call: CallSoFar): { readonly method?: SafeName; readonly host?: SafeName } {
  const { received, inspection } = call;
  if (!inspection) return {};
  const { head, safeName } = inspection;
  const findings = call.marks?.findings ?? inspection.findings;
  return { method: redactedMethod({ received, head, findings }), host: hostOf(received, safeName) };
}

const hostOf = ({ target: { host, port } }: CallSoFar['received'], safeName: NameReader): SafeName =>
  joined([safeName(host), ownName(String(port))], ':');
