import { spawn } from 'node:child_process';
import type { UpstreamHandler } from './upstream.ts';

/** Smart HTTP for the repositories below `root`, by Git's own CGI program (git-http-backend(1)); anybody may push. */
export function serveGit(root: string): UpstreamHandler {
  return async ({ method = '', url = '', headers }, response, body) => {
    const [path = '', query = ''] = url.split('?');
    const backend = spawn('git', ['http-backend'], {
      env: {
        PATH: process.env['PATH'],
        GIT_PROJECT_ROOT: root,
        GIT_HTTP_EXPORT_ALL: '1',
        // Git wants to know who pushes.
        REMOTE_USER: 'agent',
        REQUEST_METHOD: method,
        PATH_INFO: path,
        QUERY_STRING: query,
        CONTENT_TYPE: headers['content-type'] ?? '',
        CONTENT_LENGTH: String(body.length),
        HTTP_CONTENT_ENCODING: headers['content-encoding'] ?? '',
        GIT_PROTOCOL: String(headers['git-protocol'] ?? ''),
      },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    // It may answer, and end, before it has read all.
    backend.stdin.on('error', () => backend.stdin.destroy());
    backend.stdin.end(body);
    const output = Buffer.concat(await backend.stdout.toArray());
    const headEnd = output.indexOf('\r\n\r\n');
    if (headEnd < 0) throw new Error('git http-backend gave no answer.');
    let status = 200;
    const fields: string[] = [];
    for (const line of output.toString('latin1', 0, headEnd).split('\r\n')) {
      const [, name = '', value = ''] = /^([^:]+): *(.*)$/.exec(line) ?? [];
      if (name.toLowerCase() === 'status') status = Number.parseInt(value, 10);
      else fields.push(name, value);
    }
    response.writeHead(status, fields);
    response.end(output.subarray(headEnd + 4));
  };
}
