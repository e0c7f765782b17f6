/*
 * The variables by which programs find the gateway and its authority, and the form in which shells read them.
 */

/** Variables by which the usual programs and libraries find the authority's certificate. */
export const caVariables = [
  'SSL_CERT_FILE',
  'NODE_EXTRA_CA_CERTS',
  'REQUESTS_CA_BUNDLE',
  'CURL_CA_BUNDLE',
  'GIT_SSL_CAINFO',
  'AWS_CA_BUNDLE',
  'CARGO_HTTP_CAINFO',
  'PIP_CERT',
  'DENO_CERT',
  'NPM_CONFIG_CAFILE',
  'YARN_HTTPS_CA_FILE_PATH',
  'GRPC_DEFAULT_SSL_ROOTS_FILE_PATH',
  'CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE',
  'NIX_SSL_CERT_FILE',
] as const;

const ownHosts = 'localhost,127.0.0.1,::1';

/** Returns the variables that a program needs so that its calls go through the gateway. */
export function clientVariables(proxyUrl: string, caFile: string): Record<string, string> {
  return {
    HTTPS_PROXY: proxyUrl,
    HTTP_PROXY: proxyUrl,
    https_proxy: proxyUrl,
    http_proxy: proxyUrl,
    NO_PROXY: ownHosts,
    no_proxy: ownHosts,
    NODE_USE_ENV_PROXY: '1',
    ...Object.fromEntries(caVariables.map((name) => [name, caFile])),
  };
}

/** Returns exports for a shell, with each value in quotes, whatever is in it. */
export const toExports = (values: Readonly<Record<string, string>>): string =>
  Object.entries(values)
    .map(([name, value]) => `export ${name}='${value.replaceAll("'", `'\\''`)}'\n`)
    .join('');

/** Parses the text of `toExports`. Other lines are passed over. */
export function readExports(text: string): Map<string, string> {
  const values = new Map<string, string>();
  for (const [, name = '', quoted = ''] of text.matchAll(/^export ([A-Za-z_]+)='((?:[^']|'\\'')*)'$/gm)) {
    values.set(name, quoted.replaceAll(`'\\''`, "'"));
  }
  return values;
}
