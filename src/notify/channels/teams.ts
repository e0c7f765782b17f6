import type { Band } from '../../core/call.ts';
import { type Brief, toBrief } from '../brief.ts';
import type { Channel } from '../channel.ts';
import { postTo } from '../outcome.ts';

/*
 * Writes a message for Microsoft Teams as an adaptive card, in the envelope that webhooks of Workflows take.
 * What strangers have chosen stands in text runs, the one element of a card that knows no Markdown. Blocks of
 * text and sets of facts would make links of it.
 */

const colours: Readonly<Record<Band, string>> = {
  LOW: 'Default',
  MEDIUM: 'Warning',
  HIGH: 'Attention',
  CRITICAL: 'Attention',
};

/** Breaks up `{{DATE(…)}}` and the like, which clients fill in, also in runs. */
const literal = (text: string): string => text.replace(/\{(?=\{)/g, '{ ');

const run = (text: string, more: object = {}): object => ({ type: 'TextRun', text: literal(text), ...more });

const line = (inlines: readonly object[], spacing = 'Small'): object => ({
  type: 'RichTextBlock',
  spacing,
  inlines,
});

export function toTeams({ title, severity, summary, facts, hint }: Brief): object {
  const card = {
    $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
    type: 'AdaptiveCard',
    version: '1.4',
    fallbackText: `${severity}: ${title}`,
    msteams: { width: 'Full' },
    body: [
      {
        type: 'TextBlock',
        text: `${severity}: ${title}`,
        size: 'Large',
        weight: 'Bolder',
        color: colours[severity],
        wrap: true,
      },
      line([run(summary)]),
      ...facts.map(({ label, value }) => line([run(`${label}: `, { weight: 'Bolder' }), run(value)])),
      ...(hint === undefined ? [] : [line([run(`Decide: ${hint}`, { fontType: 'Monospace' })], 'Medium')]),
    ],
  };
  return {
    type: 'message',
    attachments: [
      { contentType: 'application/vnd.microsoft.card.adaptive', contentUrl: null, content: card },
    ],
  };
}

export const teams: Channel = {
  type: 'teams',
  send: (message, channel, context) =>
    postTo(channel, context, () => ({
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(toTeams(toBrief(message))),
    })),
};
