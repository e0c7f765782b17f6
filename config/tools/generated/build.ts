/*
 * Writes the tables of this folder: all operations that a vendor publishes as data. What a tool's own file says of a path goes before.
 *
 *   npm install --ignore-scripts --prefix FOLDER @octokit/openapi @slack/web-api stripe
 *   node config/tools/generated/build.ts FOLDER
 *
 * A line is verb, methods, path, category and name. Verbs are the method's, apart from what grants or takes away access, which is ADMIN.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

interface Entry {
  readonly verb: 'READ' | 'WRITE' | 'ADMIN';
  readonly methods: string;
  readonly path: string;
  readonly category: string;
  readonly name: string;
}

interface Source {
  readonly tool: string;
  readonly package: string;
  entries(folder: string): Entry[];
}

const toName = (text: string): string =>
  text
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/[^A-Za-z0-9]+/g, '_')
    .toLowerCase();

const verbOf = (method: string, isAdmin: boolean): Entry['verb'] =>
  method === 'GET' || method === 'HEAD' ? 'READ' : isAdmin ? 'ADMIN' : 'WRITE';

const githubAccess =
  /\/(?:secrets?|variables|hooks|keys|gpg_keys|collaborators|memberships?|members|outside_collaborators|permissions?|protection|rulesets|invitations|installations?|environments|teams|runners|runner-groups|registration-token|credential-authorizations|credentials|oidc|[a-z-]*roles?|interaction-limits|security-managers|blocks|transfer|visibility|billing|budgets|private-registries|network-configurations|allowed_actions|selected-actions|access|settings|apps|tokens?|grants?|repository-access|personal-access-tokens|personal-access-token-requests|policies|repository_invitations|public_members)(?:\/|$)|^\/(?:orgs|enterprises)\/\{\w+\}(?:\/properties.*|\/actions\/permissions.*)?$/;

interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly operationId?: string }>>>>;
}

const github: Source = {
  tool: 'github',
  package: '@octokit/openapi',
  entries(folder) {
    const text = readFileSync(join(folder, 'generated/api.github.com.json'), 'utf8');
    const { paths } = JSON.parse(text) as OpenApi;
    return Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).flatMap(([method, { operationId }]): Entry[] => {
        if (operationId === undefined) return [];
        const [category = ''] = operationId.split('/', 1);
        const written = path.replaceAll('{owner}', '{org}');
        const verb = verbOf(method.toUpperCase(), githubAccess.test(path));
        return [
          {
            verb,
            methods: method.toUpperCase(),
            path: written,
            category: toName(category),
            name: toName(operationId),
          },
        ];
      }),
    );
  },
};

/** The last word of a method that only reads. */
const slackReads =
  /^(?:list|info|get|getInfo|history|replies|members|lookup|search|all|messages|files|test|count|export|exportAll|preferences|profile|conversations|billableInfo|integrationLogs|accessLogs|presence|teamInfo|activities|getPermalink|getUploadURLExternal|lookupByEmail|identity|open\.list)$/i;

/** Methods that let somebody in, or show something to strangers. */
const slackAccess =
  /\.access\.(?:set|delete)$|SharedInvite(?:\.|$)|\.invite(?:Shared)?$|InvitePermissions\.|externalTeams\.|sharedPublicURL$/;

const slack: Source = {
  tool: 'slack',
  package: '@slack/web-api',
  entries(folder) {
    const text = readFileSync(join(folder, 'dist/methods.js'), 'utf8');
    const methods = new Set([...text.matchAll(/\(this, '([A-Za-z][\w.]+)'\)/g)].map(([, name = '']) => name));
    return [...methods].map((method) => {
      const [family = ''] = method.split('.', 1);
      const isRead = slackReads.test(method.slice(method.lastIndexOf('.') + 1));
      // The tool's own file counts all of admin.* as ADMIN.
      const isAdmin = family === 'admin' || (!isRead && slackAccess.test(method));
      const verb = isAdmin ? 'ADMIN' : isRead ? 'READ' : 'WRITE';
      return {
        verb,
        methods: 'GET|POST',
        path: `/${method}`,
        category: toName(family),
        name: toName(method),
      };
    });
  },
};

const stripeAccess =
  /\/(?:webhook_endpoints|event_destinations|ephemeral_keys|secrets|account_links|account_sessions|accounts|persons|external_accounts|login_links|capabilities|api_keys|file_links)(?:\/|$)/;
/** The one that the tool's file names; version 2 has few operations, and a surface of its own there. */
const stripeBase = '/v1';
const stripeCall =
  /^ {4}(\w+)\([^)]*\) \{\n(?: {8}(?!return)[^\n]*\n)* {8}return this\._makeRequest\(\s*'([A-Z]+)',\s*(?:'([^']+)'|`([^`]+)`)/gm;

const stripe: Source = {
  tool: 'stripe',
  package: 'stripe',
  entries(folder) {
    const root = join(folder, 'esm/resources');
    const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((it) => it.endsWith('.js'));
    return files
      .sort()
      .flatMap((file) => {
        const resource = toName(file.slice(0, -'.js'.length));
        return [...readFileSync(join(root, file), 'utf8').matchAll(stripeCall)].map(
          ([, action = '', method = '', plain, template = '']): Entry => {
            const path = (plain ?? template).replace(/\$\{[^}]*\}/g, '{id}');
            const name = `${resource}_${toName(action)}`;
            return {
              verb: verbOf(method, stripeAccess.test(path)),
              methods: method,
              path,
              category: resource,
              name,
            };
          },
        );
      })
      .filter(({ path }) => path.startsWith(stripeBase))
      .map((it) => ({ ...it, path: it.path.slice(stripeBase.length) }));
  },
};

function write(source: Source, folder: string): void {
  const from = join(folder, 'node_modules', source.package);
  const { version, license } = JSON.parse(readFileSync(join(from, 'package.json'), 'utf8')) as {
    version: string;
    license: string;
  };
  const lines = new Map<string, string>();
  for (const { verb, methods, path, category, name } of source.entries(from)) {
    // A segment of a template has one placeholder; what has two is published a second time with one.
    if (/\{[^/]*\{/.test(path)) continue;
    const template = path.replace(/\{[^}]+\}/g, '{}');
    const written = path.replace(/\{([^}]+)\}/g, (_, it: string) => `{${toName(it)}}`);
    lines.set(`${methods} ${template}`, `${verb} ${methods} ${written} ${category} ${name}`);
  }
  const sorted = [...lines.values()].sort((a, b) => (a < b ? -1 : 1));
  const head = `# All operations of ${source.package} ${version} (${license}). Made by build.ts; do not edit.`;
  writeFileSync(join(import.meta.dirname, `${source.tool}.txt`), `${head}\n${sorted.join('\n')}\n`);
  console.log(`${source.tool}: ${sorted.length} operations of ${source.package} ${version}`);
}

const [folder] = process.argv.slice(2);
if (folder === undefined) throw new Error('Name the folder in which the packages are installed.');
for (const source of [github, slack, stripe]) write(source, folder);
