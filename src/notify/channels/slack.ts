import type { NotificationConfig } from '../../config/schema.ts';
import { approvalIdOf, type Brief, type Fact, plain, showsCall, toBrief } from '../brief.ts';
import type { Channel, SendContext } from '../channel.ts';
import type { Message } from '../notice.ts';
import { postTo } from '../outcome.ts';
import { type Button, buttonActions, writeButton } from '../slack-callback.ts';

/*
 * Writes a message for Slack in Block Kit. Summaries are plain text, in which nothing is markup. Values are
 * code spans with the three characters escaped that begin mentions and links. `verbatim` keeps Slack from
 * making links of names.
 */

const escapeSlack = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/** Returns a text as a span of code. The span would end at a backtick, for which nothing can stand inside. */
const toCode = (text: string): string => `\`${escapeSlack(text.replaceAll('`', "'"))}\``;

const plainText = (text: string): object => ({ type: 'plain_text', text: escapeSlack(text), emoji: false });
const markdown = (text: string): object => ({ type: 'mrkdwn', text, verbatim: true });

const toField = ({ label, value }: Fact): object => markdown(`*${label}*\n${toCode(value)}`);

/** Returns the message. Slack takes headers of 150 characters, sections of 3,000 and 10 fields of 2,000. */
export function toSlack(brief: Brief, button: Button | undefined, controlUrl: string | undefined): object {
  const { title, severity, summary, facts, hint } = brief;
  const context = [
    ...(button === undefined && hint !== undefined ? [`Decide: ${toCode(hint)}`] : []),
    controlUrl === undefined ? 'Postern' : `Postern at ${toCode(controlUrl)}`,
  ];
  return {
    // This text is for the client's notifications and for screen readers. It has the gateway's own words.
    text: `${severity}: ${title}`,
    unfurl_links: false,
    unfurl_media: false,
    blocks: [
      { type: 'header', text: plainText(`${severity}: ${title}`) },
      { type: 'section', text: plainText(summary === '' ? title : summary) },
      ...toSections(facts),
      ...(button === undefined ? [] : [toActions(button)]),
      { type: 'context', elements: context.map(markdown) },
    ],
  };
}

function toActions(button: Button): object {
  const value = writeButton(button);
  const toButton = (text: string, style: string, actionId: string): object => ({
    type: 'button',
    text: plainText(text),
    style,
    action_id: actionId,
    value,
  });
  return {
    type: 'actions',
    elements: [
      toButton('Approve', 'primary', buttonActions.approved),
      toButton('Deny', 'danger', buttonActions.denied),
    ],
  };
}

/** Returns the message that replaces one with buttons when these are of no use any more. */
export const toDecidedSlack = (title: string, summary: string, facts: readonly Fact[]): object => ({
  replace_original: true,
  text: title,
  blocks: [
    { type: 'header', text: plainText(title) },
    { type: 'section', text: plainText(summary) },
    ...toSections(facts),
  ],
});

const fieldsMax = 10;

const toSections = (facts: readonly Fact[]): object[] =>
  Array.from({ length: Math.ceil(facts.length / fieldsMax) }, (_, at) => ({
    type: 'section',
    fields: facts.slice(at * fieldsMax, (at + 1) * fieldsMax).map(toField),
  }));

/** Returns a message for one person alone. */
export const toNoteSlack = (
  text: string,
): { response_type: 'ephemeral'; replace_original: false; text: string } => ({
  response_type: 'ephemeral',
  replace_original: false,
  text: escapeSlack(plain(text, 300)),
});

/**
 * Returns the button of a message. There is none without a signing secret, as nobody could verify its press,
 * and none where the message shows a part of the URL alone.
 */
function buttonOf(message: Message, { name, signingSecret }: NotificationConfig): Button | undefined {
  const approvalId = approvalIdOf(message);
  const { tenantId } = message.notice;
  if (approvalId === undefined || tenantId === null || signingSecret === null || !showsCall(message))
    return undefined;
  return { channel: name, tenantId, approvalId };
}

export const slack: Channel = {
  type: 'slack',
  send: (message, channel, context: SendContext) =>
    postTo(channel, context, () => ({
      headers: { 'Content-Type': 'application/json; charset=utf-8' },
      body: JSON.stringify(toSlack(toBrief(message), buttonOf(message, channel), context.controlUrl)),
    })),
};
