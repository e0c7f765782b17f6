import { bands, dataClasses } from '../core/call.ts';
import { ruleActions } from '../policy/schema.ts';

/** The reason codes of judged calls and what each means. Rules name further codes themselves. */
export const reasonCodes: readonly (readonly [codes: readonly string[], meaning: string])[] = [
  [ruleActions.map((it) => `POLICY_${it}`), 'a rule with this action decides, and has no `reason_code`'],
  [dataClasses, 'data of this class was found in the call'],
  [
    ['SECRET_MISDIRECTED'],
    'a secret goes to another host than that of its vendor, or to another domain than the one where it was first used',
  ],
  [['UNSANITIZABLE'], 'what must be cut out cannot be cut out'],
  [['UNREADABLE'], 'the call cannot be read to its end within the limits'],
  [['THREAT_INTEL_MATCH'], 'a threat feed lists where it goes, or a URL that it carries'],
  [['NEW_DESTINATION'], 'the agent has not been there before'],
  [['BASELINE_ANOMALY'], 'a host, an operation, an hour or a size that is unusual for the agent'],
  [['VOLUME_BURST'], 'at least five times as many calls in ten minutes as are normal for the agent'],
  [
    ['EXTERNAL_PRINCIPAL'],
    'it addresses somebody outside the organisation, or takes what was found in it outside',
  ],
  [
    ['READ_THEN_WRITE', 'CROSS_AGENT_EXFIL'],
    'it takes outside what this agent, or another one, was answered a moment before',
  ],
  [
    ['PRIVILEGE_ESCALATION'],
    'rights are given to somebody who was made a moment before, or its words are about gaining rights',
  ],
  [['MASS_ACTION'], 'at least ten writes of the agent with one tool within a minute'],
  [
    ['TOKEN_HARVESTING'],
    'the agent had several distinct credentials within ten minutes that stand where they do not belong',
  ],
  [
    ['EXFILTRATION', 'DESTRUCTIVE', 'LATERAL_MOVEMENT'],
    'the context or the body asks to send data away, to destroy, or to move on to other hosts',
  ],
  [['LOW_TRUST'], 'the trust in the agent is below 0.6'],
  [['BUDGET_EXCEEDED'], 'a budget that the call counts for was used up before it'],
  [bands.map((it) => `RISK_${it}`), 'no rule matches; the posture decides by the risk band'],
  [['DENYLISTED'], 'the destination is on the denylist of the tenant'],
  [['AGENT_SUSPENDED'], 'the agent is suspended; an analyst can reactivate it'],
  [['EPHEMERAL_SCOPE_VIOLATION'], 'the call is outside the scope of its key'],
  [
    ['RECENT_APPROVAL_GRANT', 'RECENT_APPROVAL_DENIAL'],
    'somebody has approved, or denied, the identical call a moment ago',
  ],
  [
    ['APPROVAL_IMPOSSIBLE'],
    'a message of an open connection would need an approval, for which it cannot wait',
  ],
  [
    ['MCP_TOOL_DRIFT'],
    'a tool of an MCP server that it calls has changed, is new, gives orders, or asks for what no tool needs',
  ],
  [['ORDERS_READ'], 'an answer gave orders to the agent less than ten minutes before it made this call'],
  [['ENCODED_HOST'], 'the name of the host carries encoded data, which its name server would read'],
  [['OPAQUE_CONTENT'], 'a picture, an archive or a file of unknown format in the call could not be read'],
  [['GATEWAY_DEGRADED'], 'the call was judged while the state was away'],
  [
    ['RESPONSE_BLOCKED'],
    'the call went out; its answer is withheld, for the reason that the next codes name',
  ],
  [
    ['RESPONSE_SANITIZED'],
    'the call went out; the classes that the next codes name were cut out of its answer',
  ],
  [
    ['PROMPT_INJECTION'],
    'the answer, a message to an agent or an MCP tool, or the context gives orders to the agent that reads it',
  ],
];
