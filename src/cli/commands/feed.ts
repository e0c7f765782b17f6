import type { Command } from 'commander';
import type { ShownFeed } from '../../api/answers.ts';
import { apiPath, asks, command, showList } from '../ask.ts';

const columns = ['name', 'status', 'indicators', 'dropped', 'age_seconds', 'origin', 'last_error'];

/** Adds `postern feed`, which shows threat feeds and how they are, and fetches one. */
export function addFeed(program: Command): void {
  const group = program.command('feed').alias('feeds').description('threat feeds of the configuration');

  command(group, 'list', 'list the feeds and how they are').action(showList('/v1/feeds', columns));

  command(group, 'refresh', 'fetch a feed now')
    .argument('<name>')
    .action(
      asks(async ({ client, operands, tell }) => {
        const feed = await client.send<ShownFeed>('POST', apiPath('/v1/feeds/?/refresh', ...operands));
        await tell(feed, `${feed.name} is ${feed.status}.`);
      }),
    );
}
