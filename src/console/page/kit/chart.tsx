import 'uplot/dist/uPlot.min.css';
import { useEffect, useRef, useState } from 'preact/hooks';
import UPlot from 'uplot';
import type { Stats } from '../../../api/answers.ts';
import { decisions } from '../../../core/verdict.ts';
import { go, href } from '../data/route.ts';
import { decisionWord } from './bits.tsx';

/* Shows calls over time by decision, as stacked bars. It is loaded when a chart is first shown. */

/** Returns the colour that a class has in the present theme, since a canvas knows no variables. */
function colorOf(box: HTMLElement, name: string, property: 'backgroundColor' | 'color'): string {
  const probe = document.createElement('span');
  probe.className = name;
  box.append(probe);
  const color = getComputedStyle(probe)[property];
  probe.remove();
  return color;
}

/** Returns the series of the plot. The first has the height of all, and the later ones cover its foot. */
function stack(stats: Stats): UPlot.AlignedData {
  const at = stats.series.map((it) => Date.parse(it.at) / 1000);
  const sums = at.map(() => 0);
  const layers = decisions.map((decision) =>
    stats.series.map((it, index) => {
      sums[index] = (sums[index] ?? 0) + (it.decisions[decision] ?? 0);
      return sums[index] ?? 0;
    }),
  );
  return [at, ...layers.reverse()];
}

const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' });
const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' });
/** Seconds of a bar by interval. The last bar needs this width as well. */
const secondsOf = { minute: 60, hour: 3600, day: 86_400 } as const;
const toLabel = (interval: Stats['interval'], seconds: number): string =>
  (interval === 'day' ? day : clock).format(seconds * 1000);

/** Returns the bar under the cursor, which begins at its time; undefined where there is none. */
function barAt(plot: UPlot, { series, interval }: Stats): Bar | undefined {
  const { left = -1 } = plot.cursor;
  if (left < 0) return undefined;
  const atMs = plot.posToVal(left, 'x') * 1000;
  const lengthMs = secondsOf[interval] * 1000;
  return series.find((it) => atMs >= Date.parse(it.at) && atMs < Date.parse(it.at) + lengthMs);
}

function optionsOf(box: HTMLElement, stats: Stats, onBar: (plot: UPlot) => void): UPlot.Options {
  const text = colorOf(box, 'faint', 'color');
  const grid = colorOf(box, 'bar', 'backgroundColor');
  const bars = UPlot.paths.bars?.({ size: [0.75, 28], align: 1 });
  const axis = { stroke: text, font: '12px system-ui, sans-serif', ticks: { show: false } };
  return {
    width: box.clientWidth,
    height: 240,
    legend: { show: false },
    cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
    hooks: { setCursor: [onBar] },
    padding: [8, 22, 0, 0],
    scales: {
      x: { range: (_, min, max) => [min, max + secondsOf[stats.interval]] },
      y: { range: (_, __, max) => [0, Math.max(4, max * 1.1)] },
    },
    axes: [
      {
        ...axis,
        size: 32,
        space: 64,
        incrs: [1, 2, 5, 10, 15, 30, 60, 120].map((it) => it * secondsOf[stats.interval]),
        grid: { show: false },
        values: (_, splits) => splits.map((it) => toLabel(stats.interval, it)),
      },
      {
        ...axis,
        size: 54,
        grid: { stroke: grid, width: 1 },
        incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 50_000, 100_000, 1_000_000],
      },
    ],
    series: [
      {},
      ...[...decisions].reverse().map((decision) => {
        const color = colorOf(box, `swatch-${decision.toLowerCase()}`, 'backgroundColor');
        return {
          label: decision,
          fill: color,
          width: 0,
          points: { show: false },
          ...(bars && { paths: bars }),
        };
      }),
    ],
    ...(stats.interval === 'day' ? { tzDate: (ts: number) => UPlot.tzDate(new Date(ts * 1000), 'UTC') } : {}),
  };
}

type Bar = Stats['series'][number];

const counted = (of: Iterable<readonly [decision: string, count: number]>): string =>
  [...of]
    .filter(([, count]) => count > 0)
    .map(([decision, count]) => `${count.toLocaleString('en')} ${decisionWord(decision).toLowerCase()}`)
    .join(', ');

export default function DecisionChart({ stats }: { stats: Stats }) {
  const [bar, setBar] = useState<Bar>();
  const box = useRef<HTMLDivElement>(null);
  const latest = useRef(stats);
  latest.current = stats;
  const plot = useRef<UPlot | undefined>(undefined);
  const { interval } = stats;
  useEffect(() => {
    const { current } = box;
    if (!current) return;
    const draw = () => {
      plot.current?.destroy();
      plot.current = new UPlot(
        optionsOf(current, latest.current, (it) => setBar(barAt(it, latest.current))),
        stack(latest.current),
        current,
      );
    };
    draw();
    const sized = new ResizeObserver(() =>
      plot.current?.setSize({ width: current.clientWidth, height: 240 }),
    );
    sized.observe(current);
    const dark = matchMedia('(prefers-color-scheme: dark)');
    dark.addEventListener('change', draw);
    addEventListener('themechange', draw);
    return () => {
      sized.disconnect();
      dark.removeEventListener('change', draw);
      removeEventListener('themechange', draw);
      plot.current?.destroy();
      plot.current = undefined;
    };
  }, [interval]);
  useEffect(() => plot.current?.setData(stack(stats)), [stats]);
  const said = counted(stats.decisions.names.map((it) => [it.name, it.count]));
  const show = () => {
    if (bar === undefined || bar.total === 0) return;
    const to = new Date(Date.parse(bar.at) + secondsOf[interval] * 1000).toISOString();
    go(href('activity', { from: bar.at, to }));
  };
  return (
    <div class="chart-box">
      <p class="chart-said" aria-hidden="true">
        {bar &&
          `${toLabel(interval, Date.parse(bar.at) / 1000)}: ${counted(Object.entries(bar.decisions)) || 'no calls'}`}
      </p>
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: the filters of the list lead to the same calls */}
      <div
        class={bar && bar.total > 0 ? 'chart leads' : 'chart'}
        ref={box}
        role="img"
        aria-label={`Calls over time: ${said || 'none'}`}
        onClick={show}
      />
    </div>
  );
}
