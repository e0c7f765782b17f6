import type { ProxyPlace } from './config.ts';

/* Writes the settings with which an agent leaves through the gateway, ready to be copied. */

interface Export {
  readonly word: string;
  readonly text: string;
}

const caVariables = [
  'SSL_CERT_FILE',
  'NODE_EXTRA_CA_CERTS',
  'REQUESTS_CA_BUNDLE',
  'CURL_CA_BUNDLE',
  'GIT_SSL_CAINFO',
];

export function agentExports(key: string, { proxy, caFile }: ProxyPlace): readonly Export[] {
  const url = `http://agent:${key}@${proxy}`;
  return [
    {
      word: 'Shell',
      text: [
        `export POSTERN_KEY='${key}'`,
        `export HTTPS_PROXY='${url}' HTTP_PROXY='${url}'`,
        `export NO_PROXY='localhost,127.0.0.1,::1'`,
        ...caVariables.map((name) => `export ${name}='${caFile}'`),
      ].join('\n'),
    },
    {
      word: 'Node',
      text: [
        `export NODE_USE_ENV_PROXY=1 HTTPS_PROXY='${url}' HTTP_PROXY='${url}'`,
        `export NODE_EXTRA_CA_CERTS='${caFile}'`,
        'node agent.js',
      ].join('\n'),
    },
    {
      word: 'Python',
      text: [
        'import requests',
        '',
        `proxies = {"http": "${url}", "https": "${url}"}`,
        `answer = requests.get("https://api.github.com/zen", proxies=proxies, verify="${caFile}")`,
        'print(answer.status_code, answer.headers.get("X-Service-Decision"))',
      ].join('\n'),
    },
    {
      word: 'Docker',
      text: [
        'docker run --rm \\',
        `  -e HTTPS_PROXY='${url.replace(/@(?:127\.0\.0\.1|localhost):/, '@host.docker.internal:')}' \\`,
        `  -v '${caFile}:/etc/postern-ca.pem:ro' \\`,
        ...caVariables.map((name) => `  -e ${name}=/etc/postern-ca.pem \\`),
        '  --add-host host.docker.internal:host-gateway \\',
        '  your-agent',
      ].join('\n'),
    },
  ];
}
