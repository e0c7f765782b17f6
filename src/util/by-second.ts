/** Returns a function that makes the text of a second once and repeats it until the next second. */
export function bySecond(make: (second: number) => string): (second: number) => string {
  let madeOf = Number.NaN;
  let text = '';
  return (second) => {
    if (second !== madeOf) {
      madeOf = second;
      text = make(second);
    }
    return text;
  };
}
