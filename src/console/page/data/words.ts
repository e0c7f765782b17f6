/* Reason codes as sentences; codes that are not here are shown as they are. */

const sentences: Readonly<Record<string, string>> = {
  POLICY_DENY: 'A rule denies it',
  POLICY_DENIED: 'A rule denies it',
  SECRETS: 'It carries a secret',
  PII: 'It carries personal data',
  PHI: 'It carries health data',
  INTERNAL: 'It carries internal material',
  SECRET_MISDIRECTED: 'A secret goes to a host it does not belong to',
  NEW_DESTINATION: 'First call of this agent to this place',
  EXTERNAL_PRINCIPAL: 'It addresses somebody outside the organisation',
  EXFILTRATION: 'It asks to send data out',
  VOLUME_BURST: 'More calls than usual',
  THREAT_INTEL: 'The host is on a threat list',
  AGENT_SUSPENDED: 'The agent is suspended',
  APPROVAL_DENIED: 'A person has denied this call',
  APPROVED: 'A person has approved it',
  RATE_LIMITED: 'Too many calls',
  QUOTA_EXCEEDED: 'The quota is used up',
  EGRESS_BLOCKED: 'The address is not allowed',
  PAYLOAD_TOO_LARGE: 'The body is too large',
};

/** What a reason code says, in a few words. */
export const reasonWord = (code: string): string => sentences[code] ?? code;
