import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { packageFile } from '../../util/program-files.ts';
import type { WayOut } from '../connection/way-out.ts';

/*
 * Makes the files that a program of `run` gets beside the variables of `env`. They are for programs that
 * variables alone do not lead through the gateway.
 */

const nodeHook = packageFile('bin/node-proxy.cjs');

/** Makes the files of one run in a folder of their own, for this user alone. */
export async function openPrograms(way: Pick<WayOut, 'variables'>) {
  const { toTrustStore } = await import('../../wire/tls/trust-store.ts');
  const folder = mkdtempSync(join(tmpdir(), 'postern-run-'));
  const write = (name: string, content: string | Buffer): string => {
    const file = join(folder, name);
    writeFileSync(file, content, { mode: 0o600 });
    return file;
  };
  const { POSTERN_CA: caFile = '', HTTPS_PROXY: proxyUrl = '' } = way.variables;
  // Programs that are not of Java run without the trust store as well.
  const trustStore = existsSync(caFile)
    ? write('trust.p12', toTrustStore(readFileSync(caFile, 'utf8')))
    : undefined;
  const javaOptions = write('java-options', toJavaOptions(new URL(proxyUrl), trustStore));
  return {
    variables: {
      NODE_OPTIONS: joined(process.env['NODE_OPTIONS'], `--require ${JSON.stringify(nodeHook)}`),
      // The variable names a file instead of the options themselves. Java prints this variable, and the
      // proxy's URL has a password.
      JAVA_TOOL_OPTIONS: joined(
        process.env['JAVA_TOOL_OPTIONS'],
        `-XX:+IgnoreUnrecognizedVMOptions -XX:VMOptionsFile=${javaOptions}`,
      ),
    },
    /** Removes the files. */
    close: () => rmSync(folder, { recursive: true, force: true }),
  };
}

const joined = (before: string | undefined, more: string): string => (before ? `${before} ${more}` : more);

/**
 * Returns the options of Java. The JDK itself sends no password to a proxy; Maven, Gradle and HTTP clients
 * that read these options do.
 */
function toJavaOptions({ hostname, port, username, password }: URL, trustStore: string | undefined): string {
  const host = hostname.replace(/^\[|\]$/g, '');
  const each = (scheme: string): string[] => [
    `-D${scheme}.proxyHost=${host}`,
    `-D${scheme}.proxyPort=${port || '80'}`,
    `-D${scheme}.proxyUser=${decodeURIComponent(username)}`,
    `-D${scheme}.proxyPassword=${decodeURIComponent(password)}`,
  ];
  return [
    ...each('https'),
    ...each('http'),
    '-Dhttp.nonProxyHosts=localhost|127.*|[::1]',
    '-Djdk.http.auth.tunneling.disabledSchemes=',
    ...(trustStore === undefined ? [] : trusting(trustStore)),
    '',
  ].join('\n');
}

const trusting = (trustStore: string): string[] => [
  `-Djavax.net.ssl.trustStore=${trustStore}`,
  '-Djavax.net.ssl.trustStoreType=PKCS12',
  '-Djavax.net.ssl.trustStorePassword=',
];
