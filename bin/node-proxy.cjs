'use strict';
// Preloaded by `postern run` into every Node. Versions that honour NODE_USE_ENV_PROXY need nothing; older ones get agents
// that reach each host through a tunnel of the proxy. Plain JavaScript on purpose: any Node must be able to read it.
const [major, minor] = process.versions.node.split('.').map(Number);
const honoursVariable = major > 24 || (major === 24 && minor >= 5) || (major === 22 && minor >= 21);
const text = process.env.HTTPS_PROXY || process.env.https_proxy;
if (!honoursVariable && text) install(new URL(text));

function install(proxy) {
  const http = require('node:http');
  const https = require('node:https');
  const tls = require('node:tls');
  const passedBy = (process.env.NO_PROXY || '').split(',').map((it) => it.trim().replace(/^\[|\]$/g, ''));
  const isPassedBy = (host) => passedBy.includes(host.replace(/^\[|\]$/g, ''));
  const credentials = `${decodeURIComponent(proxy.username)}:${decodeURIComponent(proxy.password)}`;
  const authorization = `Basic ${Buffer.from(credentials).toString('base64')}`;
  const toProxy = proxy.protocol === 'https:' ? https : http;

  /** Calls back with a socket that leads to host and port. */
  const tunnel = (host, port, callback) => {
    const request = toProxy.request({
      host: proxy.hostname.replace(/^\[|\]$/g, ''),
      port: proxy.port || (proxy.protocol === 'https:' ? 443 : 80),
      method: 'CONNECT',
      path: `${host.includes(':') ? `[${host}]` : host}:${port}`,
      headers: proxy.username ? { 'proxy-authorization': authorization } : {},
      agent: false,
    });
    request.once('error', callback);
    request.once('connect', (response, socket) => {
      if (response.statusCode === 200) callback(null, socket);
      else {
        socket.destroy();
        callback(new Error(`the proxy answered ${response.statusCode} for ${host}`));
      }
    });
    request.end();
  };
  const secure = (socket, options, host) =>
    tls.connect({ ...options, socket, servername: options.servername || host });

  class PlainAgent extends http.Agent {
    createConnection(options, callback) {
      const host = options.host || 'localhost';
      if (isPassedBy(host)) return super.createConnection(options, callback);
      tunnel(host, options.port || 80, callback);
      return undefined;
    }
  }
  class SecureAgent extends https.Agent {
    createConnection(options, callback) {
      const host = options.host || 'localhost';
      if (isPassedBy(host)) return super.createConnection(options, callback);
      tunnel(host, options.port || 443, (error, socket) =>
        error ? callback(error) : callback(null, secure(socket, options, host)),
      );
      return undefined;
    }
  }
  http.globalAgent = new PlainAgent({ keepAlive: true });
  https.globalAgent = new SecureAgent({ keepAlive: true });
  installFetch({ tunnel, secure, isPassedBy });
}

/** The dispatcher of fetch is made with the first use of it; one of the same kind, with another way to connect, replaces it. */
function installFetch({ tunnel, secure, isPassedBy }) {
  if (typeof fetch !== 'function') return;
  const symbol = Symbol.for('undici.globalDispatcher.1');
  void new Headers();
  const Agent = globalThis[symbol]?.constructor;
  if (!Agent) return;
  const net = require('node:net');
  const tls = require('node:tls');
  const connect = ({ hostname, protocol, port, servername }, callback) => {
    const host = hostname.replace(/^\[|\]$/g, '');
    const number = Number(port) || (protocol === 'https:' ? 443 : 80);
    const finish = (error, socket) => {
      if (error) return callback(error, null);
      if (protocol !== 'https:') return callback(null, socket);
      const secured = secure(socket, { ALPNProtocols: ['http/1.1'], servername }, host);
      secured.once('error', (failure) => callback(failure, null));
      secured.once('secureConnect', () => callback(null, secured));
    };
    if (!isPassedBy(host)) return tunnel(host, number, finish);
    const socket =
      protocol === 'https:' ? tls.connect({ host, port: number, servername }) : net.connect(number, host);
    socket.once('error', (failure) => callback(failure, null));
    socket.once(protocol === 'https:' ? 'secureConnect' : 'connect', () => callback(null, socket));
  };
  globalThis[symbol] = new Agent({ connect });
}
