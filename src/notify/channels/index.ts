import type { ChannelType } from '../../config/sections/notifications.ts';
import type { Channel } from '../channel.ts';
import { discord } from './discord.ts';
import { email } from './email.ts';
import { siem } from './siem.ts';
import { slack } from './slack.ts';
import { teams } from './teams.ts';
import { webhook } from './webhook.ts';

/** All kinds of destinations, by type. */
export const channels: ReadonlyMap<ChannelType, Channel> = new Map(
  [slack, teams, discord, email, webhook, siem].map((it) => [it.type, it]),
);
