/*
 * Names the techniques of attackers that reason codes point to, as ATLAS (AML.…) and ATT&CK of MITRE number
 * them, so that a SIEM can put calls beside what other tools tell.
 */

interface Technique {
  readonly uid: string;
  readonly name: string;
}

/** A technique in the form of OCSF (object `attack`, 1.9.0). */
export interface Attack {
  readonly technique: Technique;
  readonly sub_technique?: Technique;
}

const named = (uid: string, name: string): Attack => ({ technique: { uid, name } });

const exfiltration = named('AML.T0086', 'Exfiltration via AI Agent Tool Invocation');
const injection: Attack = {
  ...named('AML.T0051', 'LLM Prompt Injection'),
  sub_technique: { uid: 'AML.T0051.001', name: 'Indirect' },
};

const attacks: ReadonlyMap<string, Attack> = new Map([
  ['EXFILTRATION', exfiltration],
  ['READ_THEN_WRITE', exfiltration],
  ['CROSS_AGENT_EXFIL', exfiltration],
  ['SECRET_MISDIRECTED', exfiltration],
  ['ENCODED_HOST', named('T1048', 'Exfiltration Over Alternative Protocol')],
  ['TOKEN_HARVESTING', named('T1528', 'Steal Application Access Token')],
  ['PRIVILEGE_ESCALATION', named('T1098', 'Account Manipulation')],
  ['LATERAL_MOVEMENT', named('T1021', 'Remote Services')],
  ['DESTRUCTIVE', named('AML.T0101', 'Data Destruction via AI Agent Tool Invocation')],
  ['PROMPT_INJECTION', injection],
  ['ORDERS_READ', injection],
  ['MCP_TOOL_DRIFT', named('T1195', 'Supply Chain Compromise')],
]);

/** The reason codes that point to a technique. */
export const attackedCodes: readonly string[] = [...attacks.keys()];

/** Returns the techniques that the codes point to, each once. */
export const attacksOf = (reasonCodes: readonly string[]): readonly Attack[] => [
  ...new Set(reasonCodes.flatMap((code) => attacks.get(code) ?? [])),
];

/** Returns the id of the technique that a code points to; undefined where there is none. */
export function attackId(reasonCode: string): string | undefined {
  const attack = attacks.get(reasonCode);
  return (attack?.sub_technique ?? attack?.technique)?.uid;
}
