import type { Band } from '../../core/call.ts';
import { type Brief, toBrief } from '../brief.ts';
import type { Channel } from '../channel.ts';
import { postTo } from '../outcome.ts';

/*
 * Discord: one embed. Each character that is neither letter, digit nor space gets a backslash, so no text is
 * markup or a link. Nobody is mentioned, whatever the text says.
 */

const colours: Readonly<Record<Band, number>> = {
  LOW: 0x6b7280,
  MEDIUM: 0xd97706,
  HIGH: 0xdc2626,
  CRITICAL: 0x7f1d1d,
};

/** Returns at most twice as long as the text. */
const escapeDiscord = (text: string): string => text.replace(/[!-/:-@[-`{-~]/g, '\\$&');

/** Descriptions may have 4,096 characters, 25 fields names of 256 and values of 1,024, all of it 6,000. */
export function toDiscord({ title, severity, summary, facts, hint }: Brief, atMs: number): object {
  return {
    username: 'Postern',
    allowed_mentions: { parse: [] },
    embeds: [
      {
        title: `${severity}: ${title}`,
        description: escapeDiscord(summary),
        color: colours[severity],
        timestamp: new Date(atMs).toISOString(),
        fields: facts.map(({ label, value }) => ({
          name: label,
          value: escapeDiscord(value),
          inline: value.length <= 40,
        })),
        ...(hint === undefined ? {} : { footer: { text: `Decide: ${hint}` } }),
      },
    ],
  };
}

export const discord: Channel = {
  type: 'discord',
  send: (message, channel, context) =>
    postTo(channel, context, () => ({
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(toDiscord(toBrief(message), message.notice.atMs)),
    })),
};
