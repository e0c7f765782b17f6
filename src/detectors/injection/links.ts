import type { Evidence } from './evidence.ts';

/*
 * A picture is fetched when an answer is shown, with nobody clicking. A text that has an agent show a picture whose address has a gap
 * for what the agent knows gets it sent there: `![x](https://…/?q={conversation}`. Links do the same with one click.
 */

const scheme = Buffer.from('http');
const opening = /(?:\]\(<?|src=["']?)$/i;
const openingBytesMax = 5;
/** What stands in the brackets of a gap may have spaces. */
const addressForm = /^(?:[^)\s"'[{]|[[{][^\]}"]{0,120}[\]}]?)*/;
const addressBytesMax = 1000;

/** How template languages begin and end a gap, and what it would be filled with. */
const gapStart = /[{[<]|%7b|%5b/i;
const gapEnd = /[}\]>]|%7d|%5d/i;
const content =
  /conversation|history|secret|password|prompt|message|context|summar|chat|base64|exfil|user_?(?:data|info|name|input)|env(?:ironment)?\b|credential|email|content|data|api_?key|answer|transcript|token/i;
/** A gap without brackets: a word in capitals alone. */
const placeholder =
  /^(?:THE_|YOUR_|USER_)?(?:DATA|SECRETS?|CONVERSATION|HISTORY|SUMMARY|PASSWORD|PROMPT|CONTENTS?|MESSAGES?|INFO|BASE64\w*|EXFIL\w*|TOKEN|KEYS?|OUTPUT|TEXT|CHAT|EMAILS?|ENV|CONTEXT|CREDENTIALS?|HERE)(?:_\w+)?>?$/;

/** Pictures and links whose address has a gap to be filled with content. */
export function findLeakingLinks(bytes: Buffer, onEvidence: (evidence: Evidence) => void): void {
  let at = bytes.indexOf(scheme);
  while (at >= 0) {
    const before = bytes.toString('latin1', Math.max(0, at - openingBytesMax), at);
    let end = at + scheme.length;
    if (opening.test(before)) {
      const address = addressForm.exec(bytes.toString('latin1', at, at + addressBytesMax))?.[0] ?? '';
      end = at + address.length;
      if (hasGap(address)) onEvidence({ kind: 'leaking-link', weight: 0.55, start: at, end });
    }
    at = bytes.indexOf(scheme, end);
  }
}

const hasGap = (address: string): boolean => {
  const [, ...parameters] = address.split(/[?#&]/);
  return parameters.some(isGap);
};

function isGap(parameter: string): boolean {
  const value = parameter.slice(parameter.indexOf('=') + 1);
  if (placeholder.test(value)) return true;
  const start = value.search(gapStart);
  if (start < 0 || value === parameter) return false;
  const gap = value.slice(start);
  const inside = gap.slice(0, Math.max(0, gap.search(gapEnd)));
  // Charts are drawn by addresses that hold JSON.
  return content.test(inside) && !/[":]/.test(inside);
}
