import type { Server, Socket } from 'node:net';
import { join } from 'node:path';
import type { Files } from '../config/load.ts';
import type { Config } from '../config/schema.ts';
import type { ListenAddress } from '../config/sections/addresses.ts';
import { GatewayError } from '../core/errors.ts';
import { createAgentConnections } from '../wire/server/agent-connections.ts';
import { Connections } from '../wire/server/connections.ts';
import { answerProblem, rawProblem } from '../wire/server/problem.ts';
import { allOrFirstError } from './all-or-first-error.ts';
import { type ListenerTls, readListenersTls } from './start/listener-tls.ts';
import { createListener, listen } from './start/listeners.ts';

/** The addresses of a daemon, held while it opens what it stands on. */
export type HeldAddresses = Awaited<ReturnType<typeof holdAddresses>>;

const starting = (): GatewayError =>
  new GatewayError('GATEWAY_BUSY', 'The gateway is starting; try again.', { retryAfterSeconds: 1 });

/**
 * Listens at every address of the configuration, and answers 503 to every request, at `/readyz` too. This
 * comes before a daemon makes or changes anything: a start that cannot listen leaves nothing behind. Throws
 * where an address is taken.
 */
export async function holdAddresses(config: Config, files: Files) {
  const tls = readListenersTls(config, files);
  const limits = (): Config['limits'] => config.limits;
  const agents = createAgentConnections(limits);
  const connections = new Connections(() => config.limits.maxConnections);
  const held: Server[] = [];
  const sockets = new Set<Socket>();
  // Each connection is closed with its answer: none stays until the daemon itself listens.
  const serve = (socket: Socket): void =>
    agents.serve(socket, (exchange) => answerProblem(exchange, starting(), ['Connection', 'close']), {
      onConnect: (_request, tunnel) => tunnel.end(rawProblem(starting()), () => tunnel.destroy()),
    });
  const hold = async (
    address: ListenAddress,
    shown: ListenerTls | undefined,
    isTold = false,
  ): Promise<void> => {
    // A free port (0) need not be held: there is always one.
    if (address.kind === 'tcp' && address.port === 0) return;
    const addressOf = (): undefined => undefined;
    const { server } = createListener(serve, { limits, isTold, tls: shown, connections, addressOf });
    server.on('connection', (socket: Socket) => {
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
    });
    await listen(server, address);
    held.push(server);
  };
  /** Stops holding the addresses, so that the daemon can listen there. Later calls do nothing. */
  const release = async (): Promise<void> => {
    agents.close();
    const closed = held.splice(0).map((server) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      server.close(() => resolve());
      return promise;
    });
    for (const socket of sockets) socket.destroy();
    await Promise.all(closed);
  };
  try {
    await allOrFirstError([
      ...config.proxy.listen.map((it) => hold(it, tls.proxy, config.proxy.proxyProtocol)),
      ...config.control.listen.map((it) => hold(it, tls.control)),
    ]);
  } catch (error) {
    await release();
    throw withOwner(error, config, files);
  }
  return { release };
}

const listeningBytesMax = 1024 * 1024;

/**
 * Adds to an error which running process has this state, if `listening.json` names one. Else returns the
 * error as it is.
 */
function withOwner(error: unknown, { state }: Config, files: Files): unknown {
  try {
    const file = join(state.dir, 'listening.json');
    const { pid } = JSON.parse(files.read(file, listeningBytesMax).toString());
    process.kill(pid, 0);
    const { message } = error as Error;
    return new Error(`${message} This daemon may run already: ${file} names the process ${Number(pid)}.`, {
      cause: error,
    });
  } catch {
    // The file or the process does not exist.
    return error;
  }
}
