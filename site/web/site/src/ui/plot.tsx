import type { ComponentChildren } from "preact";

// A drawing of 480 x 240 units, with margins for the labels of the axes.
const [width, height] = [480, 240];
const [left, right, top, bottom] = [58, 12, 12, 30];

interface Tick {
  /** Position on the axis, from 0 to 1. */
  at: number;
  text: string;
}

interface Line {
  name: string;
  /** Positions on both axes, from 0 to 1. A missing one interrupts the line. */
  points: ([x: number, y: number] | undefined)[];
  /** Class of the line. */
  kind: "chosen" | "site";
}

interface PlotProps {
  /** What screen readers say of the plot. */
  label: string;
  xTicks: Tick[];
  yTicks: Tick[];
  lines: Line[];
  children?: ComponentChildren;
}

const xOf = (at: number) => left + at * (width - left - right);
const yOf = (at: number) => height - bottom - at * (height - top - bottom);

/** Draws lines. y grows upwards. What is above the plot is cut off. */
export function Plot({ label, xTicks, yTicks, lines, children }: PlotProps) {
  return (
    <figure class="plot">
      <svg role="img" aria-label={label} viewBox={`0 0 ${width} ${height}`}>
        {yTicks.map(({ at, text }) => (
          <g key={text}>
            <line class="grid" x1={left} x2={width - right} y1={yOf(at)} y2={yOf(at)} />
            <text x={left - 7} y={yOf(at) + 4} text-anchor="end">
              {text}
            </text>
          </g>
        ))}
        {xTicks.map(({ at, text }) => (
          <text
            key={text}
            x={xOf(at)}
            y={height - 9}
            text-anchor={at < 0.05 ? "start" : at > 0.95 ? "end" : "middle"}
          >
            {text}
          </text>
        ))}
        {lines.map(({ name, kind, points }) => (
          <path key={name} class={kind} d={path(points)} />
        ))}
      </svg>
      {lines.length > 1 && (
        <p class="legend">
          {lines.map(({ name, kind }) => (
            <span key={name} class={kind}>
              {name}
            </span>
          ))}
        </p>
      )}
      <figcaption>{children}</figcaption>
    </figure>
  );
}

/** Returns the path of a line. A single point becomes a dot. */
export function path(points: Line["points"]): string {
  let text = "";
  points.forEach((point, i) => {
    const before = points[i - 1];
    if (!point || (point[1] > 1 && before && before[1] > 1)) return;
    const [x, y] = point;
    // The line ends where it leaves the plot.
    const cut = (share: number, [fromX, fromY]: [number, number]) =>
      fromX + ((1 - fromY) / (y - fromY)) * share;
    const at = y > 1 ? (before ? cut(x - before[0], before) : x) : x;
    text += `${before ? "L" : "M"}${xOf(at).toFixed(1)} ${yOf(Math.min(y, 1)).toFixed(1)}`;
    if (!before && !points[i + 1]) text += "h0";
  });
  return text;
}
