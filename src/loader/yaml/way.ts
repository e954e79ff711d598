// Owns: the way from the root of a value to one place in it, as a chain that costs nothing until it is read.
// Refuses: to know where that was written; see place-of.ts.

/** A key or an index, and the way that led there. Undefined is the root. */
export interface Way {
  readonly up: Way | undefined;
  readonly step: string | number;
}

/** For messages and as a name: `paths.rules[2].read`, `properties["a.b"]`. */
export function wayText(way: Way | undefined): string {
  let text = '';
  for (const step of waySteps(way)) {
    if (typeof step === 'number') text += `[${step}]`;
    else if (!PLAIN.test(step)) text += `[${JSON.stringify(step.slice(0, 80).toWellFormed())}]`;
    else text += text === '' ? step : `.${step}`;
  }
  return text;
}

export function waySteps(way: Way | undefined): (string | number)[] {
  const steps: (string | number)[] = [];
  for (let at = way; at; at = at.up) steps.push(at.step);
  return steps.reverse();
}

/** One way after another: where something is that was found below `up`. */
export function wayOf(steps: Iterable<string | number>, up?: Way): Way | undefined {
  let way = up;
  for (const step of steps) way = { up: way, step };
  return way;
}

const PLAIN = /^[$\w-]+$/;
