// The timeline: events in rows of threads and devices, on a canvas that can be moved and zoomed.
import { empty, h, replace } from "./dom.js";
import { bytes, count, duration, plural } from "./format.js";

const ROW = 22, AXIS = 26, GAP = 12;
// Colours of the categories. What only says where other events belong is grey.
const COLOURS = { record: "--c5", label: "--c10", step: "--c8", plan: "--c4", compile: "--c2", transfer: "--c3", execute: "--c1",
  run: "--c9", save: "--c7", wait: "--c6" };

const colourOf = (category) => COLOURS[category] || "--c6";

// Rows of events: those of a thread that lie within each other are on levels below each other.
export function rowsOf(events) {
  const names = new Map(), rows = new Map();
  for (const event of events) {
    if (event.ph === "M" && event.name === "thread_name") names.set(`${event.pid}/${event.tid}`, event.args.name);
    if (event.ph !== "X") continue;
    const key = `${event.pid}/${event.tid}`;
    if (!rows.has(key)) rows.set(key, []);
    rows.get(key).push(event);
  }
  return [...rows].map(([key, own]) => {
    own.sort((a, b) => a.ts - b.ts || b.dur - a.dur);
    const levels = [];
    for (const event of own) {
      let level = levels.findIndex((list) => list.at(-1).ts + list.at(-1).dur <= event.ts + 1e-3);
      if (level < 0) level = levels.push([]) - 1;
      levels[level].push(event);
    }
    const kind = own.every((event) => event.cat === "run") ? "device" : "thread";
    return { name: names.get(key) || `${kind} ${key.split("/")[1]}`, levels };
  });
}

export function timeline(box, events, options) {
  const rows = rowsOf(events);
  if (!rows.length)
    return replace(
      box,
      empty(
        h("strong", {}, "No events were recorded."),
        h("p", {}, "A timeline needs events of recording, planning, compiling, executing and transferring. They are recorded ",
          "only on demand, since that takes time and memory; everything else on this page is always counted."),
        "timeline" in options ? h("p", {}, "The option ", h("code", {}, "timeline"), " of the environment keeps the last events.") : null,
      ),
    );
  const all = rows.flatMap((row) => row.levels.flat());
  const first = Math.min(...rows.map((row) => Math.min(...row.levels.map((level) => level[0].ts))));
  const last = all.reduce((end, event) => Math.max(end, event.ts + event.dur), first);
  const whole = { start: 0, end: Math.max(last - first, 1) }, view = { ...whole };
  const height = AXIS + rows.reduce((sum, row) => sum + 18 + row.levels.length * ROW + GAP, 0);
  const canvas = h("canvas", { class: "timeline", tabindex: "0", role: "img",
    "aria-label": `timeline of ${plural(all.length, "event")}; drag to move, + and - to zoom`, style: `height:${height}px` });
  const tip = h("div", { class: "tip", hidden: true });
  const state = { hits: [] };
  const draw = () => paint(canvas, rows, first, view, state);
  const change = (start, end) => {
    const span = Math.min(Math.max(end - start, 0.05), whole.end);
    view.start = Math.min(Math.max(start, 0), whole.end - span);
    view.end = view.start + span;
    draw();
  };
  const zoom = (factor, at = 0.5) => {
    const span = view.end - view.start, middle = view.start + at * span;
    change(middle - at * span * factor, middle + (1 - at) * span * factor);
  };
  const share = (e) => (e.clientX - canvas.getBoundingClientRect().left) / canvas.clientWidth;
  let drag = null;
  const pointers = new Map();
  canvas.addEventListener("pointerdown", (e) => {
    pointers.set(e.pointerId, e.clientX);
    canvas.setPointerCapture(e.pointerId);
    drag = { x: e.clientX, start: view.start };
  });
  canvas.addEventListener("pointermove", (e) => {
    if (pointers.size === 2 && pointers.has(e.pointerId)) {
      const [, other] = [...pointers].find(([id]) => id !== e.pointerId);
      const old = Math.max(Math.abs(pointers.get(e.pointerId) - other), 8), now = Math.max(Math.abs(e.clientX - other), 8);
      zoom(old / now, share({ clientX: (e.clientX + other) / 2 }));
      pointers.set(e.pointerId, e.clientX);
    } else if (drag) {
      const moved = ((drag.x - e.clientX) / canvas.clientWidth) * (view.end - view.start);
      change(drag.start + moved, drag.start + moved + view.end - view.start);
    }
    point(e);
  });
  for (const name of ["pointerup", "pointercancel"])
    canvas.addEventListener(name, (e) => (pointers.delete(e.pointerId), (drag = null)));
  canvas.addEventListener("pointerleave", () => (tip.hidden = true));
  const point = (e) => {
    const area = canvas.getBoundingClientRect(), x = e.clientX - area.left, y = e.clientY - area.top;
    const hit = state.hits.find((one) => x >= one.x && x <= one.x + one.width && y >= one.y && y < one.y + ROW - 3);
    tip.hidden = !hit;
    if (!hit) return;
    const { event } = hit, args = event.args || {};
    replace(tip, h("strong", {}, event.name), h("div", {}, `${event.cat}, ${duration(event.dur * 1e3)}`),
      Object.entries(args).filter(([, value]) => value !== null).map(([name, value]) =>
        h("div", {}, `${name} ${typeof value !== "number" || name === "program" ? value : name === "bytes" ? bytes(value) : count(value)}`)));
    tip.style.left = `${Math.min(x + 12, area.width - tip.offsetWidth - 4)}px`;
    tip.style.top = `${y + 16}px`;
  };
  canvas.addEventListener("wheel", (e) => {
    if (!e.ctrlKey && document.activeElement !== canvas) return;
    e.preventDefault();
    zoom(Math.exp(e.deltaY * 0.0016), share(e));
  }, { passive: false });
  canvas.addEventListener("keydown", (e) => {
    const span = view.end - view.start;
    if (e.key === "+" || e.key === "-") zoom(e.key === "+" ? 1 / 1.5 : 1.5);
    else if (e.key === "ArrowLeft") change(view.start - span / 8, view.end - span / 8);
    else if (e.key === "ArrowRight") change(view.start + span / 8, view.end + span / 8);
    else return;
    e.preventDefault();
  });
  const button = (text, title, run) => h("button", { type: "button", title, onclick: run }, text);
  const seen = [...new Set(all.map((event) => event.cat))];
  replace(
    box,
    h("div", { class: "tools" }, button("−", "Zoom out", () => zoom(1.6)), button("+", "Zoom in", () => zoom(1 / 1.6)),
      button("All", "Show the whole time", () => change(whole.start, whole.end)),
      h("span", { class: "note" }, `${plural(all.length, "event")} in ${duration(whole.end * 1e3)}`)),
    h("div", { class: "canvas-box" }, canvas, tip),
    h("div", { class: "legend" }, seen.map((category) =>
      h("span", {}, h("i", { class: "key", style: `background:var(${colourOf(category)})` }), category))),
  );
  draw();
  new ResizeObserver(draw).observe(canvas);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  return { zoom, view };
}

function paint(canvas, rows, first, view, state) {
  const ratio = window.devicePixelRatio || 1, { clientWidth: width, clientHeight: height } = canvas;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const style = getComputedStyle(document.documentElement), colour = (name) => style.getPropertyValue(name).trim();
  const draw = canvas.getContext("2d");
  draw.scale(ratio, ratio);
  draw.clearRect(0, 0, width, height);
  draw.font = `12px ${getComputedStyle(document.body).fontFamily}`;
  draw.textBaseline = "middle";
  const scale = width / (view.end - view.start), x = (time) => (time - view.start) * scale;
  axis(draw, view, x, width, height, colour);
  state.hits = [];
  let y = AXIS;
  for (const row of rows) {
    draw.fillStyle = colour("--muted");
    draw.fillText(row.name, 4, y + 9);
    y += 18;
    for (const level of row.levels) {
      paintLevel(draw, level, { first, view, x, y, width, colour }, state.hits);
      y += ROW;
    }
    y += GAP;
  }
}

// Draws the events of a level that are in view. Of those that share a pixel, one is drawn.
function paintLevel(draw, level, { first, view, x, y, width, colour }, hits) {
  let low = 0, high = level.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (level[middle].ts + level[middle].dur - first < view.start) low = middle + 1;
    else high = middle;
  }
  let until = -1;
  for (let i = low; i < level.length && level[i].ts - first <= view.end; i++) {
    const event = level[i], left = Math.max(x(event.ts - first), 0), right = Math.min(x(event.ts + event.dur - first), width);
    if (right <= until) continue;
    const wide = Math.max(right - left, 1);
    draw.fillStyle = colour(colourOf(event.cat));
    draw.fillRect(left, y, wide - (wide > 3 ? 1 : 0), ROW - 3);
    until = Math.ceil(left + wide);
    hits.push({ x: left, y, width: Math.max(wide, 3), event });
    if (wide > 44) {
      draw.save();
      draw.beginPath();
      draw.rect(left, y, wide - 4, ROW - 3);
      draw.clip();
      draw.fillStyle = colour("--on-colour");
      draw.fillText(event.name, left + 5, y + (ROW - 3) / 2 + 0.5);
      draw.restore();
    }
  }
}

function axis(draw, view, x, width, height, colour) {
  const span = view.end - view.start, rough = span / Math.max(width / 110, 1);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * power).find((one) => one >= rough);
  for (let time = Math.ceil(view.start / step) * step; time <= view.end; time += step) {
    draw.fillStyle = colour("--line");
    draw.fillRect(Math.round(x(time)), AXIS - 6, 1, height);
    draw.fillStyle = colour("--muted");
    draw.fillText(time === 0 ? "0" : duration(time * 1e3), x(time) + 4, 10);
  }
}
