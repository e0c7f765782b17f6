import { X509Certificate } from 'node:crypto';
import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { dotted, type Path, suggestion } from '../config/checks/mistakes.ts';
import { cannotBeRead } from '../config/checks/references.ts';
import type { Files, Mistake } from '../config/load.ts';
import type { Config } from '../config/schema.ts';
import { readerOfRoots } from '../daemon/reload/named-files.ts';
import { readListenersTls } from '../daemon/start/listener-tls.ts';
import { certificatesIn } from '../wire/client/reach/roots.ts';

/**
 * Finds names of nothing, what has expired or does soon, and missing files of feeds and folders of sockets,
 * which may come. The files of certificates must have been checked before.
 */
export function findWarningsOutside(
  config: Config,
  files: Files,
  { nowMs, toolNames }: { readonly nowMs: number; readonly toolNames: readonly string[] },
): readonly Mistake[] {
  return [
    ...accountsOfNoTool(config, toolNames),
    ...namesOfNothing(config, toolNames),
    ...expiredKeys(config, nowMs),
    ...expiredIdentities(config, files, nowMs),
    ...endingAuthority(config, files, nowMs),
    ...expiredRoots(config, files, nowMs),
    ...absentFeeds(config),
    ...absentSocketFolders(config),
  ];
}

const warning = (path: string, message: string): Mistake => ({ path, line: undefined, message });

/** Certificates that end within this time are named, as by the alert on them. */
const soonMs = 14 * 86_400_000;

const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

/** Warns of accounts at tools that do not exist. Phone numbers count under any name. */
const accountsOfNoTool = ({ tenants }: Config, toolNames: readonly string[]): readonly Mistake[] =>
  [...tenants.values()].flatMap(({ orgAccounts }, at) =>
    Object.entries(orgAccounts)
      .filter(([tool, accounts]) => !toolNames.includes(tool) && accounts.some((it) => !it.startsWith('+')))
      .map(([tool]) =>
        warning(
          dotted(['tenants', at, 'org_accounts', tool]),
          `there is no such tool, so these accounts count nowhere${suggestion(tool, toolNames)}`,
        ),
      ),
  );

/** Warns of tools and environments that nothing has: what is said of them holds for no call. */
function namesOfNothing(config: Config, toolNames: readonly string[]): readonly Mistake[] {
  const tenants = [...config.tenants.values()];
  const environments = [...tenants, config.defaultTenant('default')].flatMap((it) => it.environments);
  const unknown =
    (noun: string, known: readonly string[]) =>
    (path: Path, name: string | undefined): readonly Mistake[] =>
      name === undefined || known.includes(name)
        ? []
        : [warning(dotted(path), `there is no such ${noun}${suggestion(name, known)}`)];
  const tool = unknown('tool', toolNames);
  const environment = unknown('environment', environments);
  return [
    ...config.tools.flatMap(({ name }, at) => tool(['tools', at, 'name'], name)),
    ...config.notifications.flatMap((it, at) => [
      ...it.tools.flatMap((name, index) => tool(['notifications', at, 'tools', index], name)),
      ...it.environments.flatMap((name, index) =>
        environment(['notifications', at, 'environments', index], name),
      ),
    ]),
    ...tenants.flatMap(({ budgets }, at) =>
      budgets.flatMap(({ match }, index) => {
        const path = ['tenants', at, 'budgets', index, 'match'];
        return [
          ...tool([...path, 'tool_name'], match.tool_name),
          ...(match.tool_names ?? []).flatMap((name, of) => tool([...path, 'tool_names', of], name)),
        ];
      }),
    ),
  ];
}

const expiredKeys = ({ keys }: Config, nowMs: number): readonly Mistake[] =>
  keys.flatMap(({ name, expiresAtMs }, at) =>
    expiresAtMs !== null && expiresAtMs <= nowMs
      ? [
          warning(
            `keys[${at}].expires_at`,
            `the key "${name}" expired on ${dayOf(expiresAtMs)} and is refused; set a later time, or remove the key`,
          ),
        ]
      : [],
  );

function expiredIdentities(config: Config, files: Files, nowMs: number): readonly Mistake[] {
  const shown = readListenersTls(config, files);
  return (['proxy', 'control'] as const).flatMap((listener) => {
    const tls = shown[listener];
    const endMs = tls && new X509Certificate(tls.cert).validToDate.getTime();
    if (endMs === undefined || endMs > nowMs + soonMs) return [];
    const when =
      endMs > nowMs ? `expires on ${dayOf(endMs)}` : `expired on ${dayOf(endMs)}, and clients refuse it`;
    return [warning(`${listener}.tls.cert`, `the certificate ${when}; put a new one in its place`)];
  });
}

/** Warns of an authority that ends soon. One that has ended is a mistake; one that is not there is made. */
function endingAuthority({ authority }: Config, files: Files, nowMs: number): readonly Mistake[] {
  if (!existsSync(authority.cert)) return [];
  const endMs = Math.min(...endsOf(readerOfRoots(files)(authority.cert)));
  const message = `the authority expires on ${dayOf(endMs)}; "postern ca rotate" makes the next one`;
  return endMs > nowMs + soonMs ? [] : [warning('authority.cert', message)];
}

/** Returns when the certificates of a PEM text end, in milliseconds. */
const endsOf = (text: string): number[] =>
  certificatesIn(text).map((pem) => new X509Certificate(pem).validToDate.getTime());

/** Warns of files of authorities of which some have expired. */
function expiredRoots({ upstream, state }: Config, files: Files, nowMs: number): readonly Mistake[] {
  const read = readerOfRoots(files);
  const bundles: [path: string, file: string][] = upstream.caFiles.map((it, at) => [
    `upstream.ca_files[${at}]`,
    it,
  ]);
  if (state.caFile !== null) bundles.push(['state.ca_file', state.caFile]);
  return bundles.flatMap(([path, file]) => {
    const all = endsOf(read(file));
    const ended = all.filter((endMs) => endMs <= nowMs);
    if (ended.length === 0) return [];
    const last = dayOf(Math.max(...ended));
    const message =
      all.length === 1
        ? `its authority expired on ${last} and vouches for no server any more; replace or remove it`
        : `${ended.length} of its ${all.length} authorities have expired, the last one on ${last}; replace or remove them`;
    return [warning(path, message)];
  });
}

/** Warns of feeds whose file is not there, or may not be read. */
const absentFeeds = ({ feeds }: Config): readonly Mistake[] =>
  feeds.flatMap(({ url }, at) => {
    if (!url.startsWith('file:')) return [];
    const why = whyUnreadable(fileURLToPath(url));
    const message = `${why}; until then the feed has what was fetched last, at first nothing`;
    return why === undefined ? [] : [warning(`feeds[${at}].url`, message)];
  });

/** Warns of missing folders of sockets. A start does not make them, but the service manager may. */
const absentSocketFolders = ({ control }: Config): readonly Mistake[] =>
  control.listen.flatMap((it) =>
    it.kind === 'tcp' || existsSync(dirname(it.path))
      ? []
      : [
          warning(
            'control.listen',
            `the folder ${dirname(it.path)} does not exist, and a start does not make it`,
          ),
        ],
  );

function whyUnreadable(file: string): string | undefined {
  try {
    accessSync(file, constants.R_OK);
    return statSync(file).isFile() ? undefined : `${file} is not a regular file`;
  } catch (error) {
    return cannotBeRead(file, error);
  }
}
