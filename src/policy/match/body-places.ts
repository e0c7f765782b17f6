import { BodyValues } from './body-values.ts';
import { foldName, type Step } from './json-path.ts';

/**
 * A place in bodies: the body itself, or one step on from another place. Paths that begin alike share places.
 */
export interface BodyPlace {
  readonly index: number;
  /** The next places by folded name. One name has several where rules spell it differently. */
  readonly named: Map<string, { readonly name: string; readonly place: BodyPlace }[]>;
  readonly indexed: Map<number, BodyPlace>;
  each: BodyPlace | undefined;
  /** A path of a rule ends at this place. */
  isAsked: boolean;
}

/** The values at a place. */
export interface BodyPlaceValue {
  readonly values: BodyValues;
  /** All names on the way are spelt as in the path. */
  readonly isExact: boolean;
}

const rootIndex = 0;

/**
 * Holds the places of all paths of a set. One walk over a body collects the values at each place. Its time is
 * linear in the fields that it passes, however many paths there are. Names are compared folded, because a
 * field must not be hidden by a spelling that its server accepts.
 */
export class PlaceTree {
  readonly #root: BodyPlace = newPlace(rootIndex);
  #count = 1;

  add(steps: readonly Step[]): BodyPlace {
    let place = this.#root;
    for (const step of steps) place = this.#next(place, step);
    place.isAsked = true;
    return place;
  }

  #next(from: BodyPlace, step: Step): BodyPlace {
    const make = (): BodyPlace => newPlace(this.#count++);
    if (step === 'each') {
      from.each ??= make();
      return from.each;
    }
    if ('index' in step) {
      const place = from.indexed.get(step.index) ?? make();
      from.indexed.set(step.index, place);
      return place;
    }
    const spellings = from.named.get(foldName(step.name)) ?? [];
    const known = spellings.find(({ name }) => name === step.name);
    if (known) return known.place;
    const place = make();
    from.named.set(foldName(step.name), [...spellings, { name: step.name, place }]);
    return place;
  }

  /** Returns the values at each place by its index; undefined where there are none. */
  read(readings: readonly unknown[]): readonly (BodyPlaceValue | undefined)[] {
    const walk = new Walk();
    for (const reading of readings) walk.visit(this.#root, reading, true);
    return walk.found.map((it) => it && { values: new BodyValues(it.values), isExact: it.isExact });
  }
}

const newPlace = (index: number): BodyPlace => ({
  index,
  named: new Map(),
  indexed: new Map(),
  each: undefined,
  isAsked: false,
});

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const goesOn = ({ named, indexed, each }: BodyPlace): boolean =>
  named.size > 0 || indexed.size > 0 || each !== undefined;

/** Returns the elements of a list, also of one as forms write it: `a[]` and `a[0]` are fields '' and 0 of `a`. */
function listed(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  return isObject(value) ? Object.keys(value).flatMap((key) => (/^\d*$/.test(key) ? [value[key]] : [])) : [];
}

/** Returns the object or list that a text is the JSON of, as in a field of a form. */
function documentIn(text: string): object | undefined {
  if (!/^\s*[[{]/.test(text)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    // It is a text like any other.
    return undefined;
  }
}

/** Walks over the readings of a body, as deep as the longest path. */
class Walk {
  readonly found: ({ readonly values: unknown[]; isExact: boolean } | undefined)[] = [];

  visit(place: BodyPlace, value: unknown, isExact: boolean): void {
    if (place.isAsked) {
      this.#keep(place, value, isExact);
      // A list of one text or number is that one to servers in JavaScript, and to forms.
      for (const element of listed(value)) this.#keep(place, element, false);
    }
    if (typeof value === 'object' && value !== null) this.#visitWithin(place, value, isExact);
    else if (typeof value === 'string' && goesOn(place)) {
      const document = documentIn(value);
      if (document) this.#visitWithin(place, document, false);
    }
  }

  #visitWithin(place: BodyPlace, value: object, isExact: boolean): void {
    if (Array.isArray(value)) this.#visitArray(place, value, isExact);
    else this.#visitObject(place, value as Readonly<Record<string, unknown>>, isExact);
  }

  #keep({ index }: BodyPlace, value: unknown, isExact: boolean): void {
    const kept = this.found[index];
    if (kept === undefined) this.found[index] = { values: [value], isExact };
    else {
      kept.values.push(value);
      kept.isExact &&= isExact;
    }
  }

  #visitArray({ each, indexed }: BodyPlace, value: readonly unknown[], isExact: boolean): void {
    if (each !== undefined) for (const element of value) this.visit(each, element, isExact);
    for (const [index, place] of indexed) if (index < value.length) this.visit(place, value[index], isExact);
  }

  #visitObject(place: BodyPlace, value: Readonly<Record<string, unknown>>, isExact: boolean): void {
    const { each, indexed } = place;
    if (each !== undefined) {
      for (const key of Object.keys(value)) this.visit(each, value[key], isExact);
      // An object where a list is due is its only element to some servers; of the whole body the path says it.
      if (place.index !== rootIndex) this.#visitNames(each, value, false);
    }
    // Forms, and some servers, write a list as fields called 0, 1, 2.
    for (const [index, next] of indexed)
      if (Object.hasOwn(value, index)) this.visit(next, value[index], false);
    this.#visitNames(place, value, isExact);
  }

  #visitNames({ named }: BodyPlace, value: Readonly<Record<string, unknown>>, isExact: boolean): void {
    if (named.size === 0) return;
    for (const key of Object.keys(value)) {
      const spellings = named.get(foldName(key));
      if (spellings === undefined) continue;
      for (const { name, place } of spellings) this.visit(place, value[key], isExact && name === key);
    }
  }
}
