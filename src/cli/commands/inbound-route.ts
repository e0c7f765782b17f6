import type { Command } from 'commander';
import type { ShownRoute } from '../../api/answers.ts';
import { apiPath, asks, command, listCommand, showList, showOne } from '../ask.ts';
import { readYamlFile } from '../yaml-file.ts';

const path = '/v1/inbound-routes';
const columns = ['prefix', 'upstream', 'tool', 'auth', 'agent', 'credential'];

/** Adds `postern inbound-route`, which manages routes below /inbound, and shows configured ones. */
export function addInboundRoute(program: Command): void {
  const group = program
    .command('inbound-route')
    .alias('inbound-routes')
    .description('routes below /inbound, as in inbound: of the configuration');

  listCommand(group, 'list the routes by prefix').action(showList(path, columns));
  command(group, 'show', 'show a route')
    .argument('<prefix>')
    .action(showOne(`${path}/?`));

  command(group, 'create', 'make a route of a YAML or JSON file with the keys of inbound:')
    .argument('<file>', 'or - for standard input')
    .action(
      asks(async ({ client, operands: [file = ''], tell }) => {
        const made = await client.send<ShownRoute>('POST', path, (await readYamlFile(file)).value);
        await tell(made, `/inbound/${made.prefix}/ leads on from now on.`);
      }),
    );

  command(group, 'replace', 'replace a route by what stands in a file')
    .argument('<prefix>')
    .argument('<file>', 'without prefix; or - for standard input')
    .action(
      asks(async ({ client, operands: [prefix, file = ''], tell }) => {
        const { value } = await readYamlFile(file);
        const route = await client.send<ShownRoute>('PUT', apiPath(`${path}/?`, prefix), value);
        await tell(route, `/inbound/${route.prefix}/ is replaced.`);
      }),
    );

  command(group, 'delete', 'delete a route; calls are answered 404 from the next one on')
    .argument('<prefix>')
    .action(
      asks(async ({ client, operands, tell }) => {
        const gone = await client.send<ShownRoute>('DELETE', apiPath(`${path}/?`, ...operands));
        await tell(gone, `/inbound/${gone.prefix}/ is gone.`);
      }),
    );
}
