import type { UpstreamHandler } from './upstream.ts';

interface Publication {
  readonly name: string;
  readonly versions: Readonly<Record<string, { dist: { tarball: string } }>>;
  readonly _attachments: Readonly<Record<string, { readonly data: string }>>;
}

/** As much of npm's registry as `npm publish` and `npm install` ask of it; packages live as long as the handler. */
export function createPackageRegistry(origin: string): UpstreamHandler {
  const documents = new Map<string, Buffer>();
  const tarballs = new Map<string, Buffer>();

  function publish(body: Buffer): void {
    const publication: Publication = JSON.parse(body.toString());
    const { _attachments: attachments, ...document } = publication;
    for (const [file, { data }] of Object.entries(attachments)) {
      const path = `/${document.name}/-/${file}`;
      tarballs.set(path, Buffer.from(data, 'base64'));
      for (const version of Object.values(document.versions)) version.dist.tarball = origin + path;
    }
    documents.set(`/${document.name}`, Buffer.from(JSON.stringify(document)));
  }

  return ({ method, url = '' }, response, body) => {
    if (method === 'PUT') publish(body);
    const tarball = tarballs.get(url);
    const found = method === 'PUT' ? Buffer.from('{"ok":true}') : (tarball ?? documents.get(url));
    const type = tarball ? 'application/octet-stream' : 'application/json';
    response.writeHead(found ? 200 : 404, { 'content-type': type });
    response.end(found ?? '{"error":"not found"}');
  };
}
