/*
 * Says the gateway's reason codes in words. Others, such as those of one's own rules, are left as they are.
 */

const sentences: Readonly<Record<string, string>> = {
  POLICY_ALLOW: 'A rule allows it',
  POLICY_DENY: 'A rule denies it',
  POLICY_SANITIZE: 'A rule has it sanitized',
  POLICY_REQUIRE_APPROVAL: 'A rule has a person asked',
  POLICY_OPEN_INCIDENT: 'A rule opens an incident',
  SECRETS: 'It carries a secret',
  PII: 'It carries personal data',
  PHI: 'It carries health data',
  INTERNAL: 'It carries internal material',
  SECRET_MISDIRECTED: 'A secret goes where it does not belong',
  UNSANITIZABLE: 'What must be cut out cannot be cut out',
  UNREADABLE: 'It cannot be read to its end',
  THREAT_INTEL_MATCH: 'A threat feed lists where it goes',
  NEW_DESTINATION: 'First call of this agent to this place',
  BASELINE_ANOMALY: 'Unusual for this agent',
  VOLUME_BURST: 'Many more calls than usual',
  EXTERNAL_PRINCIPAL: 'It addresses somebody outside',
  READ_THEN_WRITE: 'It takes outside what was just read',
  CROSS_AGENT_EXFIL: 'It takes outside what another agent read',
  PRIVILEGE_ESCALATION: 'It is about gaining rights',
  MASS_ACTION: 'Many writes within a minute',
  TOKEN_HARVESTING: 'Many credentials within minutes',
  EXFILTRATION: 'It asks to send data away',
  DESTRUCTIVE: 'It asks to destroy',
  LATERAL_MOVEMENT: 'It asks to move on to other systems',
  ORDERS_READ: 'The agent has read an answer with orders to it',
  LOW_TRUST: 'The trust in the agent is low',
  ENCODED_HOST: 'The name of the host carries encoded data',
  BUDGET_EXCEEDED: 'A budget is used up',
  RISK_LOW: 'No rule matches: low risk',
  RISK_MEDIUM: 'No rule matches: medium risk',
  RISK_HIGH: 'No rule matches: high risk',
  RISK_CRITICAL: 'No rule matches: critical risk',
  DENYLISTED: 'The denylist has where it goes',
  AGENT_SUSPENDED: 'The agent is suspended',
  EPHEMERAL_SCOPE_VIOLATION: 'It is outside the scope of its key',
  RECENT_APPROVAL_GRANT: 'A person has just approved it',
  RECENT_APPROVAL_DENIAL: 'A person has just denied it',
  MCP_TOOL_DRIFT: 'A tool of an MCP server has changed',
  OPAQUE_CONTENT: 'It holds a file that cannot be read',
  GATEWAY_DEGRADED: 'It was judged while the state was away',
  RESPONSE_BLOCKED: 'Its answer is withheld',
  RESPONSE_SANITIZED: 'Its answer was sanitized',
  PROMPT_INJECTION: 'A prompt injection was found',
  SENSITIVE_DATA: 'Sensitive data',
  EGRESS_BLOCKED: 'The address is not allowed',
  PAYLOAD_TOO_LARGE: 'The body is too large',
  RATE_LIMITED: 'Too many calls',
  QUOTA_EXCEEDED: 'The quota is used up',
  UPSTREAM_UNREACHABLE: 'The upstream cannot be reached',
  UPSTREAM_TLS: 'The upstream failed TLS',
  UPSTREAM_TIMEOUT: 'The upstream did not answer in time',
  CREDENTIAL_UNAVAILABLE: 'Its credential is not there',
};

/** Reason codes that the gateway itself gives. */
export const knownReasonCodes: readonly string[] = Object.keys(sentences);

/** Says a reason code in a few words. */
export const reasonWord = (code: string): string => sentences[code] ?? code;

/** Returns a text without the trace ids in reasons of lost trust, which the agent's page has as links. */
export const withoutTraces = (text: string): string =>
  text.replaceAll(/ \((-\d+(?:\.\d+)?), [^()]{0,40}, trace [0-9a-f-]{36}\)/g, ' ($1)');
