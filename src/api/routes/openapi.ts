import { z } from 'zod';
import { toOpenApi } from '../open-api.ts';
import { RawAnswer, type Route, routesOf } from '../route.ts';

const route = routesOf('health');

/**
 * Returns the route `GET /v1/openapi.json`, which describes this interface by its own schemas. The document
 * is made when it is first asked for.
 */
export function openApiRoute(routes: () => readonly Route[]): Route {
  let text: Buffer | undefined;
  return route('GET /v1/openapi.json', {
    summary: 'This document',
    access: 'public',
    answer: z.looseObject({ openapi: z.string() }),
    handle() {
      text ??= Buffer.from(`${JSON.stringify(toOpenApi(routes()))}\n`);
      return new RawAnswer(200, text);
    },
  });
}
