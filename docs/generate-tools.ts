import { join } from 'node:path';
import { loadCatalogue, type OperationSummary, type ToolSummary } from '../src/catalogue/catalogue.ts';
import { readTools } from '../src/catalogue/load/load.ts';
import { operationsOf } from '../src/catalogue/load/operations.ts';
import type { Tool } from '../src/catalogue/load/schema.ts';
import { type Verb, verbs } from '../src/core/call.ts';
import { sizeText } from '../src/util/byte-size.ts';
import { wrapLines } from './wrap.ts';

/* Writes tools.md from the catalogue. */

const dir = join(import.meta.dirname, '../config/tools');

const intro = `# Tools

What the gateway understands of the calls that agents make: which tool, which operation, whether it reads, writes or administers, what it acts on and whom it addresses.
Policies match by these names (\`tool_names\`, \`operations\`, \`category:\`, \`verbs\`), so they are part of the API and do not change.
This page is made from [config/tools](../config/tools) by \`node docs/generate.ts\`.

- **A path that a tool's table lacks** is \`METHOD:/path/{id}\` of category \`other\`, with the verb of its method.
- **A host that no tool has** is \`custom_proxy\`: \`http_get\`, \`http_post\` and so on.
- **Several things in one call** are judged each by itself, and the strictest decision is that of the call: requests of a batch, messages of JSON-RPC, root fields of GraphQL, methods that override each other. A batch that nobody can take apart is \`batch\`, ADMIN, and may address anybody.
- **Protocols**: MCP and A2A are told by their messages at any host. A call of an MCP tool is named as its server names the tool, and is WRITE.
- **Your own**: \`tools:\` in the configuration adds hosts and operations to a tool, or tools, in the form of the files. \`postern explain METHOD URL [BODY]\` says how a call is understood, \`GET /v1/tools/{name}\` which paths an operation stands for.
- **Bodies**: where a vendor documents how large a body it takes, the limit of the gateway is raised to that, unless you have set one (\`limits\`, a plan, a tenant, a route, \`tools:\`). What the bodies of one agent may take together (\`limits.max_body_bytes_total\`) stands above it.
- **Tables of the vendors**: of some tools all operations are known that the vendor publishes as data. They are asked where the list below has nothing, are named after the vendor's own names (\`actions_list_artifacts_for_repo\`), and only counted here.
`;

/** How many hosts of a tool the index shows. */
const hostsShown = 3;

function lineOf({ name, title, hosts, operations, fields }: ToolSummary): string {
  const shown = hosts.slice(0, hostsShown).map((it) => `\`${it}\``);
  const more = hosts.length > hostsShown ? ` and ${hosts.length - hostsShown} more` : '';
  const places = shown.length > 0 ? ` at ${shown.join(', ')}${more}` : '';
  const told = fields.length > 0 ? `; tells ${fields.join(', ')}` : '';
  return `- [${name}](#${name}): ${title}, ${operations.length} operations${places}${told}`;
}

/** What stands in the file of a tool. */
interface Written {
  readonly operations: ReadonlySet<string>;
  readonly bodies: string;
}

function sectionOf({ name, title, operations }: ToolSummary, own: Written | undefined): string {
  const written = operations.filter((it) => own?.operations.has(it.name) ?? true);
  const categories = Map.groupBy(written, ({ category }) => category);
  const lines = [...categories].map(
    ([category, list]) => `- **${category}** ${verbs.flatMap((verb) => namesOf(verb, list)).join('; ')}`,
  );
  const others = operations.length - written.length;
  const table = others > 0 ? [`- and ${others} of the vendor's table`] : [];
  return [`## ${name}`, '', `${title}.${own?.bodies ?? ''}`, '', ...lines, ...table, ''].join('\n');
}

const namesOf = (verb: Verb, list: readonly OperationSummary[]): string[] => {
  const names = list.filter((it) => it.verb === verb).map(({ name }) => `\`${name}\``);
  return names.length > 0 ? [`${verb} ${names.join(', ')}`] : [];
};

/** One host stands for all of a surface. */
function bodiesOf({ max_body_bytes: bytes, surfaces }: Tool): string {
  const apart = surfaces.flatMap(({ max_body_bytes: most, hosts }) =>
    most === undefined || !hosts?.[0] ? [] : [`${sizeText(most)} at \`${hosts[0].text}\``],
  );
  const all = [...(bytes === undefined ? [] : [sizeText(bytes)]), ...new Set(apart)];
  return all.length > 0 ? ` Bodies have up to ${all.join(', ')}.` : '';
}

/** The whole document. */
export function toolsDocument(): string {
  const written = new Map(
    readTools(dir, []).map(({ table: _, ...tool }): [string, Written] => [
      tool.name,
      { operations: new Set([...operationsOf(tool)].map(({ name }) => name)), bodies: bodiesOf(tool) },
    ]),
  );
  const tools = loadCatalogue(dir).tools.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const total = tools.reduce((sum, { operations }) => sum + operations.length, 0);
  const page = [
    intro,
    `${tools.length} tools, ${total.toLocaleString('en-US')} operations:`,
    '',
    ...tools.map(lineOf),
    '',
    ...tools.map((tool) => sectionOf(tool, written.get(tool.name))),
  ];
  return wrapLines(page.join('\n'));
}
