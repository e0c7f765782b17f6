import findMyWay from 'find-my-way';
import { GatewayError, methodNotAllowed } from '../core/errors.ts';
import type { Route } from './route.ts';

export type Params = Readonly<Record<string, string | undefined>>;

/** Finds endpoints by method and path. */
export class RouteTable {
  readonly #routes: readonly Route[];
  readonly #router = findMyWay({ maxParamLength: 512, ignoreTrailingSlash: true });

  constructor(routes: readonly Route[]) {
    this.#routes = routes;
    for (const route of routes) this.#router.on(route.method, route.path, () => undefined, route);
  }

  /**
   * Returns the endpoint of a request. Throws NOT_FOUND where there is none, and METHOD_NOT_ALLOWED where
   * there is none of this method.
   */
  find(method: string, path: string): { readonly route: Route; readonly params: Params } {
    const found = this.#router.find(method as Route['method'], path);
    if (found) return { route: found.store as Route, params: found.params };
    const allowed = this.#methodsOf(path);
    if (allowed !== '') throw methodNotAllowed(allowed);
    throw new GatewayError('NOT_FOUND', 'There is no such endpoint.');
  }

  /** Returns the template of a request's endpoint; undefined where there is none. */
  templateOf(method: string, path: string): string | undefined {
    return (this.#router.find(method as Route['method'], path)?.store as Route | undefined)?.path;
  }

  /** Returns the methods of a path as the field `Allow` has them; '' where there are none. */
  #methodsOf(path: string): string {
    const here = this.#routes.filter((it) => this.#router.find(it.method, path)?.store === it);
    return [...new Set(here.map((it) => it.method))].join(', ');
  }
}
