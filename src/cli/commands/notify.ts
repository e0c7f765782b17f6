import type { Command } from 'commander';
import type { Replayed, TestedChannel } from '../../api/answers.ts';
import { apiPath, asks, command, listCommand, type PageOptions, showList } from '../ask.ts';
import type { CommonOptions } from '../connection/client.ts';

/** `postern notify` is for the channels that people are told by. */

interface FailedOptions extends PageOptions {
  readonly channel?: string;
}

interface ReplayOptions extends CommonOptions {
  readonly channel?: string;
}

const columns = ['name', 'type', 'tenant_id', 'circuit', 'waiting', 'failed', 'last_delivered', 'last_error'];
const failedColumns = ['id', 'channel', 'type', 'count', 'failed_at', 'attempts', 'reason', 'summary'];

export function addNotify(program: Command): void {
  const group = program.command('notify').description('channels that people are told by');

  command(group, 'test', 'send a test to a channel, and say what came of it')
    .argument('<name>', 'name, as notifications[] of the configuration has it')
    .action(
      asks(async ({ client, operands: [name], tell }) => {
        const tested = await client.send<TestedChannel>('POST', '/v1/notifications/test', { name });
        if (!tested.delivered) throw new Error(`the test did not reach ${tested.name}: ${tested.reason}`);
        await tell(tested, `The test has reached ${tested.name}.`);
      }),
    );

  command(group, 'list', 'channels, and how they do').action(showList('/v1/notifications', columns));

  listCommand(group, 'what could not be delivered, newest first', 'failed')
    .option('--channel <name>', 'of this channel')
    .action(
      showList<FailedOptions>('/v1/notifications/failed', failedColumns, {
        query: ({ channel }) => ({ channel }),
      }),
    );

  command(group, 'replay', 'try again to deliver what failed')
    .argument('[id]', 'one of them, as "notify failed" shows it')
    .option('--channel <name>', 'all of this channel')
    .action(
      asks<ReplayOptions>(async ({ client, operands: [id], options: { channel }, misused, tell }) => {
        if ((id === undefined) === (channel === undefined)) misused('name one id, or --channel.');
        const replayed =
          id === undefined
            ? await client.send<Replayed>('POST', '/v1/notifications/replay', { name: channel })
            : await client.send<Replayed>('POST', apiPath('/v1/notifications/failed/?/replay', id), {});
        await tell(replayed, `${replayed.replayed} are in the queue again.`);
      }),
    );
}
