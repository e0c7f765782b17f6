import { toAbsolute } from '../data/times.ts';

interface TrendPoint {
  readonly at: string;
  /** A score from 0 to 1. */
  readonly score: number;
}

interface TrendOf {
  readonly points: readonly TrendPoint[];
  readonly label: string;
  /** Set to show levels and times as well, for a trend that stands alone. */
  readonly isLarge?: boolean;
}

const height = 100;
const width = 400;

/** Shows how a score has moved, as a line from its first loss until now. */
export function Trend({ points, label, isLarge = false }: TrendOf) {
  const [first] = points;
  const last = points.at(-1);
  if (!first || !last || points.length < 2) return null;
  const fromMs = Date.parse(first.at);
  const spanMs = Math.max(1, Date.parse(last.at) - fromMs);
  const places = points.map(({ at, score }) => {
    const x = ((Date.parse(at) - fromMs) / spanMs) * width;
    return `${x.toFixed(1)},${((1 - score) * height).toFixed(1)}`;
  });
  return (
    <div class={isLarge ? 'trend-line large' : 'trend-line'}>
      <svg viewBox={`0 -4 ${width} ${height + 8}`} preserveAspectRatio="none" role="img" aria-label={label}>
        {isLarge &&
          [0, 0.5, 1].map((it) => (
            <line key={it} class="level" x1={0} x2={width} y1={it * height} y2={it * height} />
          ))}
        <polygon points={`0,${height} ${places.join(' ')} ${width},${height}`} />
        <polyline points={places.join(' ')} />
      </svg>
      {isLarge && (
        <p class="row spread faint">
          <span>{toAbsolute(fromMs)}</span>
          <span>now</span>
        </p>
      )}
    </div>
  );
}
