// Figures: the values below the pointer, repetitions on and off, a logarithmic axis, the SVG as a file.
// Everything is read from the SVG itself, in which Vega says of each axis what it spans and of each mark what it shows;
// without this script the figures are still pictures, with their values in words and as CSV.
const ROUND = [1, 2, 5];

// A scale as the label of its axis tells it, for example "Y-axis titled 'Rate' for a linear scale with values from 0 to 4".
function scaleOf(axis, length) {
  const told = /^([XY])-axis(?: titled '(.*)')? for a (\w+) scale with values from (\S+) to (\S+)$/.exec(axis.getAttribute("aria-label"));
  if (!told || !["linear", "log"].includes(told[3])) return null;
  const [low, high] = told.slice(4).map((text) => Number(text.replaceAll(",", "").replace("−", "-")));
  const isLog = told[3] === "log";
  const [first, last] = isLog ? [Math.log(low), Math.log(high)] : [low, high];
  const along = (at) => first + (last - first) * (told[1] === "X" ? at / length : 1 - at / length);
  return { title: told[2] ?? "", isLog, low, high, valueAt: (at) => (isLog ? Math.exp(along(at)) : along(at)) };
}

// What a mark shows: ["Clients: 2", "Rate (MB/s): 657.16", "series: N-N"] as [name, value].
const facts = (mark) => mark.getAttribute("aria-label").split("; ").map((fact) => /^(.*?): (.*)$/.exec(fact)?.slice(1) ?? ["", fact]);

const vertices = (path) => [...path.getAttribute("d").matchAll(/[ML](-?[\d.]+),(-?[\d.]+)/g)].map((pair) => pair.slice(1).map(Number));

const position = (mark) => /translate\((-?[\d.]+), ?(-?[\d.]+)\)/.exec(mark.getAttribute("transform"))?.slice(1).map(Number);

// Three digits, as the report's tables have them; nanoseconds in the unit that suits them.
function shown(value, title) {
  if (/^latency/i.test(title)) {
    const [divisor, unit] = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]].find(([one]) => value >= one) ?? [1, "ns"];
    return `${shown(value / divisor, "")} ${unit}`;
  }
  const unit = /(?:\(|, )([^(),]+)\)?$/.exec(title)?.[1] ?? "";
  const digits = value === 0 ? 0 : Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))));
  return `${value.toFixed(Math.min(digits, 6))} ${unit}`.trim();
}

const median = (values) => {
  const sorted = [...values].sort((a, b) => a - b), half = sorted.length >> 1;
  return sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
};

// A frame with its axes and marks. A figure has one, or several beside and below one another.
class Panel {
  constructor(group) {
    this.group = group;
    const frame = /h([\d.]+)v([\d.]+)/.exec(group.parentElement.querySelector(":scope > path.background").getAttribute("d"));
    [this.width, this.height] = frame.slice(1).map(Number);
    const axis = (letter) => [...group.children].find((one) => one.getAttribute("aria-label")?.startsWith(`${letter}-axis`));
    const [x, y] = [axis("X"), axis("Y")];
    this.x = x && scaleOf(x, this.width);
    this.y = y && scaleOf(y, this.height);
    this.yAxes = [...group.children].filter((one) => one === y || one.querySelector(":scope > g .role-axis-grid"));
    const within = (selector) => [...group.querySelectorAll(selector)].filter((one) => one.closest("g[data-panel]") === group);
    group.dataset.panel = "";
    this.points = within('[aria-roledescription="point"]').filter(position);
    this.lines = within('[aria-roledescription="line mark"]');
    this.flags = within('[aria-roledescription="text mark"]').filter(position);
    this.shapes = within(".mark-line path, .mark-area path").filter((path) => path.getAttribute("d").includes(","));
    this.rules = within(".mark-rule.role-mark line");
  }

  // What stands at `at` pixels from the left: {at, title, rows: [colour, text], isAbove: there is room above it}; null
  // where nothing does.
  valuesAt(at) {
    return this.points.length ? this.pointsAt(at) : this.x && this.y ? this.linesAt(at) : null;
  }

  // The names of what the points are of.
  get series() {
    return new Set(this.points.map((point) => facts(point).slice(2).join()));
  }

  // The places at which points stand, ascending.
  get places() {
    return [...new Set(this.points.map((point) => position(point)[0]))].sort((a, b) => a - b);
  }

  pointsAt(at) {
    const place = this.places.reduce((best, one) => (Math.abs(one - at) < Math.abs(best - at) ? one : best));
    const series = new Map();
    let title = "";
    for (const point of this.points.filter((one) => position(one)[0] === place)) {
      const [where, [name, value], ...rest] = facts(point);
      title = where.join(": ");
      const layer = /(\w+)_marks/.exec(point.parentElement.getAttribute("class"))[1];
      const label = rest.length ? rest.map(([, text]) => text).join(", ") : layer;
      const colour = [point.getAttribute("fill"), point.getAttribute("stroke")].find((one) => one && one !== "none" && one !== "transparent");
      const own = series.get(label) ?? { colour, name, values: [] };
      own.values.push(Number(value.replaceAll(",", "").replace("−", "-")));
      series.set(label, own);
    }
    const rows = [...series].map(([label, { colour, name, values }]) => {
      const unit = this.yTitle || name;
      const [low, high] = [Math.min(...values), Math.max(...values)].map((value) => shown(value, unit));
      const spread = values.length > 1 ? `, ${low} to ${high} (median of ${values.length})` : "";
      return [colour, `${this.series.size > 1 ? `${label}: ` : ""}${shown(median(values), unit)}${spread}`];
    });
    for (const flag of this.flags.filter((one) => position(one)[0] === place)) rows.push([null, flag.getAttribute("aria-label")]);
    const heights = this.points.map(position).filter(([x]) => x === place).map(([, y]) => y);
    return { at: place, title, rows, isAbove: median(heights) > this.height / 2 };
  }

  linesAt(at) {
    const rows = [];
    for (const line of this.lines) {
      const corners = vertices(line);
      const next = corners.findIndex(([x]) => x > at);
      if (next < 1) continue;
      const [[x0, y0], [x1, y1]] = corners.slice(next - 1, next + 1);
      const value = this.y.valueAt(y0 + ((y1 - y0) * (at - x0)) / (x1 - x0));
      const label = facts(line).slice(2).map((fact) => fact.join(" ")).join(", ") || this.yTitle.split(",")[0];
      rows.push([line.getAttribute("stroke"), `${label}: ${shown(value, this.yTitle)}`, value]);
    }
    rows.sort((a, b) => b[2] - a[2]);
    const most = 8;
    if (rows.length > most) rows.splice(most - 1, rows.length - most, [null, `… ${rows.length - most} more`]);
    return rows.length ? { at, title: shown(this.x.valueAt(at), this.xTitle), rows, isAbove: true } : null;
  }

  // Whether a logarithmic axis would show more: values of a linear one that begins at 0.
  get canBeLogarithmic() {
    return Boolean(this.y && !this.y.isLog && this.y.low === 0 && this.points.length);
  }

  // Moves all marks and flags to where they stand on a logarithmic axis; `restore` moves them back.
  makeLogarithmic() {
    const heights = [...this.points.map((point) => position(point)[1]), ...this.shapes.flatMap((path) => vertices(path).map(([, y]) => y))];
    const least = Math.min(...heights.map((y) => this.y.valueAt(y)).filter((value) => value > this.y.high / 1e6));
    const low = lowerTick(least), high = this.y.high;
    const place = (value) => (value <= low ? this.height : this.height * (1 - Math.log(value / low) / Math.log(high / low)));
    const moved = (y) => place(this.y.valueAt(y));
    const undo = [];
    const set = (element, name, value) => {
      const before = element.getAttribute(name);
      undo.push(() => element.setAttribute(name, before));
      element.setAttribute(name, value);
    };
    for (const flag of this.flags) {
      // It stays as far above its point as it was.
      const [x, y] = position(flag);
      const [, below] = this.points.map(position).filter(([at]) => Math.abs(at - x) < 1).reduce((best, one) => (Math.abs(one[1] - y - 8) < Math.abs(best[1] - y - 8) ? one : best), [x, Infinity]);
      if (Number.isFinite(below)) set(flag, "transform", `translate(${x},${moved(below) + y - below})`);
    }
    for (const point of this.points) {
      const [x, y] = position(point);
      set(point, "transform", `translate(${x},${moved(y)})`);
    }
    for (const shape of this.shapes) {
      set(shape, "d", shape.getAttribute("d").replace(/(-?[\d.]+),(-?[\d.]+)/g, (_, x, y) => `${x},${moved(Number(y)).toFixed(2)}`));
    }
    for (const rule of this.rules) {
      const [x, y] = position(rule) ?? [0, 0], end = y + Number(rule.getAttribute("y2") ?? 0);
      set(rule, "transform", `translate(${x},${moved(y)})`);
      set(rule, "y2", moved(end) - moved(y));
    }
    for (const axis of this.yAxes) undo.push(relabelled(axis, ticks(low, high).map((value) => [value, place(value)])));
    this.restore = () => undo.reverse().forEach((back) => back());
  }
}

const lowerTick = (value) => {
  const power = 10 ** Math.floor(Math.log10(value));
  return power * ROUND.findLast((tick) => tick * power <= value);
};

function ticks(low, high) {
  const found = [];
  const steps = high < 10 * low ? [1, 2, 3, 4, 5, 6, 7, 8, 9] : ROUND;
  for (let power = 10 ** Math.floor(Math.log10(low)); power <= high; power *= 10) found.push(...steps.map((tick) => tick * power));
  return found.filter((value) => value >= low * 0.999 && value <= high * 1.001);
}

// Gives an axis these ticks, [value, place]; returns what takes them away again.
function relabelled(axis, places) {
  const undo = [];
  for (const marks of axis.querySelectorAll(".role-axis-grid, .role-axis-tick, .role-axis-label")) {
    const before = [...marks.children];
    if (!before.length) continue;
    marks.replaceChildren(
      ...places.map(([value, y]) => {
        const mark = before[0].cloneNode(true);
        const [x] = position(before[0]);
        const isLabel = mark.tagName === "text"; // its baseline is below the middle
        mark.setAttribute("transform", `translate(${x},${isLabel ? y + 3 : y})`);
        if (isLabel) mark.textContent = Number(value.toPrecision(3)).toLocaleString("en");
        return mark;
      }),
    );
    undo.push(() => marks.replaceChildren(...before));
  }
  return () => undo.forEach((back) => back());
}

class InteractiveFigure {
  constructor(figure) {
    this.figure = figure;
    this.picture = figure.querySelector(".picture");
    this.svg = figure.querySelector("svg");
    const groups = new Set([...this.svg.querySelectorAll('[aria-label^="X-axis"], [aria-label^="Y-axis"]')].map((axis) => axis.parentElement));
    this.panels = [...groups].map((group) => new Panel(group));
    this.shareTitles();
    if (this.panels.some((panel) => panel.valuesAt(panel.width / 2))) this.showValues();
    this.addTools();
  }

  // Of panels in a row the first has the title of the vertical axis, of those in a column the lowest that of the other.
  shareTitles() {
    const below = this.panels.find((panel) => panel.x?.title)?.x.title ?? "";
    const titles = new Map();
    for (const panel of this.panels) {
      const isLowest = Boolean(panel.x?.title);
      if (panel.y?.title) titles.set(isLowest, panel.y.title);
      panel.yTitle = titles.get(isLowest) ?? "";
      panel.xTitle = below;
    }
  }

  showValues() {
    this.box = document.createElement("div");
    this.box.className = "values";
    this.box.role = "status"; // read out when it changes
    this.box.hidden = true;
    this.figure.append(this.box);
    this.figure.style.position = "relative";
    this.cursor = document.createElementNS(this.svg.namespaceURI, "line");
    this.cursor.setAttribute("class", "cursor");
    this.picture.tabIndex = 0;
    this.picture.addEventListener("pointermove", (event) => this.pointAt(event));
    this.picture.addEventListener("pointerdown", (event) => this.pointAt(event));
    // A finger leaves at once; what it has touched stays until it touches something else.
    this.picture.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && this.hide());
    this.picture.addEventListener("blur", () => this.hide());
    this.picture.addEventListener("keydown", (event) => this.step(event));
  }

  pointAt(event) {
    for (const panel of this.panels) {
      const matrix = panel.group.getScreenCTM();
      const { x, y } = new DOMPoint(event.clientX, event.clientY).matrixTransform(matrix.inverse());
      if (x >= -4 && x <= panel.width + 4 && y >= -4 && y <= panel.height + 4) return this.show(panel, x);
    }
    this.hide();
  }

  // Arrows go from place to place, and from panel to panel.
  step(event) {
    const direction = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (event.key === "Escape") this.hide();
    if (!direction) return;
    event.preventDefault();
    const stops = this.panels.flatMap((panel) => {
      const places = panel.points.length ? panel.places : [...Array(20).keys()].map((part) => (panel.width * (part + 0.5)) / 20);
      return places.map((place) => [panel, place]);
    });
    this.stop = ((this.stop ?? (direction > 0 ? -1 : 0)) + direction + stops.length) % stops.length;
    this.show(...stops[this.stop]);
  }

  show(panel, at) {
    const values = panel.valuesAt(at);
    if (!values) return this.hide();
    panel.group.append(this.cursor);
    for (const [name, value] of Object.entries({ x1: values.at, x2: values.at, y1: 0, y2: panel.height })) this.cursor.setAttribute(name, value);
    const heading = document.createElement("b");
    heading.textContent = values.title;
    const rows = values.rows.map(([colour, text]) => {
      const row = document.createElement("div");
      if (colour) {
        const dot = document.createElement("i");
        // The page's own colour, which is another one on a dark page.
        const mark = this.svg.querySelector(`[stroke="${colour}"], [fill="${colour}"]`);
        const style = mark && getComputedStyle(mark);
        dot.style.background = mark?.getAttribute("fill") === colour ? style.fill : (style?.stroke ?? colour);
        row.append(dot);
      }
      row.append(text);
      return row;
    });
    this.box.replaceChildren(heading, ...rows);
    this.box.hidden = false;
    const matrix = panel.group.getScreenCTM();
    const place = new DOMPoint(values.at, values.isAbove ? 0 : panel.height).matrixTransform(matrix);
    const frame = this.figure.getBoundingClientRect();
    const left = place.x - frame.left + 10;
    const fits = left + this.box.offsetWidth < frame.width;
    this.box.style.left = `${fits ? left : Math.max(0, left - 20 - this.box.offsetWidth)}px`;
    this.box.style.top = `${place.y - frame.top + (values.isAbove ? 0 : -this.box.offsetHeight - 4)}px`;
  }

  hide() {
    this.cursor.remove();
    this.box.hidden = true;
  }

  addTools() {
    const tools = this.figure.querySelector(".tools");
    if (!tools) return;
    if (this.hasRepetitions) {
      this.addToggle(tools, "Repetitions", true, (on) => this.figure.classList.toggle("without-repetitions", !on));
    }
    const panels = this.panels.filter((panel) => panel.canBeLogarithmic);
    if (panels.length && panels.length === this.panels.length) {
      this.addToggle(tools, "Log axis", false, (on) => panels.forEach((panel) => (on ? panel.makeLogarithmic() : panel.restore())));
    }
    const button = this.addButton(tools, "SVG", () => this.save());
    button.setAttribute("aria-label", `${this.figure.querySelector("figcaption b").textContent} as SVG`);
  }

  get hasRepetitions() {
    const places = [...this.figure.querySelectorAll(".repetitions_marks > *")].map((mark) => `${position(mark)[0]} ${facts(mark).slice(2)}`);
    return new Set(places).size < places.length;
  }

  addButton(tools, text, act) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = text;
    button.addEventListener("click", act);
    tools.append(button);
    return button;
  }

  addToggle(tools, text, isOn, act) {
    const button = this.addButton(tools, text, () => {
      isOn = !isOn;
      button.setAttribute("aria-pressed", isOn);
      act(isOn);
    });
    button.setAttribute("aria-pressed", isOn);
  }

  // Saves the figure as it stands in the page, so that it is not in there twice.
  save() {
    this.cursor?.remove();
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([new XMLSerializer().serializeToString(this.svg)], { type: "image/svg+xml" }));
    link.download = `${this.figure.id.replace("figure-", "")}.svg`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }
}

for (const figure of document.querySelectorAll("figure:has(svg)")) new InteractiveFigure(figure);
