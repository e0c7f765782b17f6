import type { Evidence } from './evidence.ts';

/*
 * Finds links that leak. A picture is fetched when an answer is shown, without a click. A text may have an
 * agent show a picture whose address has a gap for what the agent knows: `![x](https://…/?q={conversation}`.
 * Links do the same with one click.
 */

/**
 * The weights of a gap. A gap for what only agents know is evidence enough. One that newsletters have, too,
 * needs an order beside it.
 */
const privateWeight = 0.55;
const contentWeight = 0.3;

const scheme = Buffer.from('http');
const opening = /(?:\]\(<?|src=["']?)$/i;
const openingBytesMax = 5;
/** Matches an address; the brackets of a gap may contain spaces. */
const addressForm = /^(?:[^)\s"'[{<]|[[{<][^\]}>"]{0,120}[\]}>]?)*/;
const addressBytesMax = 1000;

/** Match the beginning and the end of a gap in template languages. */
const gapStart = /[{[<]|%7b|%5b|%3c/i;
const gapEnd = /[}\]>]|%7d|%5d|%3e/i;
/** Matches words for a gap that belong to a conversation, or to secrets. */
const privateWords =
  /conversation|history|secret|password|prompt|context|summar|chat(?![-_ ]?id)|base64|exfil|user[-_ ]?(?:data|info|message|input)|env(?:ironment)?\b|credential|api_?key|transcript|\bmessages\b/i;
/** Matches words for a gap that senders' templates have too. */
const content = /message|user_?name|email|content|data|answer|token/i;
/** Matches a gap without brackets: a word in capitals alone. */
const placeholder =
  /^(?:THE_|YOUR_|USER_|(?:[A-Z]+_)+(?=CONVERSATION|HISTORY|SUMMARY|PROMPT|CHAT))?(?:(SECRETS?|CONVERSATION|HISTORY|SUMMARY|PASSWORD|PROMPT|BASE64\w*|EXFIL\w*|CHAT|ENV|CONTEXT|CREDENTIALS?)|DATA|CONTENTS?|MESSAGES?|INFO|TOKEN|KEYS?|OUTPUT|TEXT|EMAILS?|HERE)(?:_\w+)?>?$/;

/** Finds pictures and links whose address has a gap for content. */
export function findLeakingLinks(bytes: Buffer, onEvidence: (evidence: Evidence) => void): void {
  let at = bytes.indexOf(scheme);
  while (at >= 0) {
    const before = bytes.toString('latin1', Math.max(0, at - openingBytesMax), at);
    let end = at + scheme.length;
    if (opening.test(before)) {
      const address = addressForm.exec(bytes.toString('latin1', at, at + addressBytesMax))?.[0] ?? '';
      end = at + address.length;
      const weight = weightOf(address);
      if (weight > 0) onEvidence({ kind: 'leaking-link', weight, start: at, end });
    }
    at = bytes.indexOf(scheme, end);
  }
}

/** Returns the weight of an address; 0 for one without a gap. */
function weightOf(address: string): number {
  const [, ...parameters] = address.split(/[?#&]/);
  return Math.max(0, ...parameters.map(weightOfGap));
}

function weightOfGap(parameter: string): number {
  const value = parameter.slice(parameter.indexOf('=') + 1);
  const [word, isPrivate] = placeholder.exec(value) ?? [];
  if (word !== undefined) return isPrivate ? privateWeight : contentWeight;
  const start = value.search(gapStart);
  if (start < 0 || value === parameter) return 0;
  const gap = value.slice(start + 1);
  const inside = gap.slice(0, Math.max(0, gap.search(gapEnd)));
  // Charts are drawn by addresses that contain JSON, so braces with a quote or a colon are no gap.
  if (/[":]|%22|%3a/i.test(inside)) return 0;
  return privateWords.test(inside) ? privateWeight : content.test(inside) ? contentWeight : 0;
}
