// The picture of a graph: laid out by dagre, drawn as SVG, moved and zoomed with the mouse, fingers or keys.
import { Graph, layout } from "@dagrejs/dagre";
import { h, replace, s } from "./dom.js";
import { bytes, plural } from "./format.js";
import { MOST_SHOWN, Tree } from "./groups.js";

const CONTRACTIONS = /^(dot|convolution|matmul|einsum)/;
const MOVES = /^(reshape|transpose|broadcast|slice|dynamic|gather|scatter|concatenate|pad|reverse|copy|take|iota|split|convert|bitcast)/;
const REDUCTIONS = /^(reduce|sum|max$|min$|mean|argm|cumulative|sort|all_|window|top)/;

// Kinds of nodes, which have a colour and, for those who see none, a sign.
export const KINDS = [
  ["parameter", "parameter", "○"],
  ["contraction", "product", "✕"],
  ["reduction", "reduction", "Σ"],
  ["move", "movement of data", "⇄"],
  ["other", "elementwise and others", "•"],
  ["body", "applies a computation", "↻"],
  ["group", "folded group", "▸"],
];

export function kindOf(item) {
  if (item.kind === "body" || item.isApplied) return "body";
  if (item.isGroup) return "group";
  if (item.isParameter) return "parameter";
  if (CONTRACTIONS.test(item.name)) return "contraction";
  if (REDUCTIONS.test(item.name)) return "reduction";
  return MOVES.test(item.name) ? "move" : "other";
}

const SIGN = new Map(KINDS.map(([kind, , sign]) => [kind, sign]));
const WIDTH = 7.3; // of a character of 12 px, at most
const short = (text, most = 30) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

// Texts of a node. `parameters` is the number of values that it takes from folded parameters.
function lines(item, parameters) {
  const own = described(item);
  return parameters ? [...own, `takes ${plural(parameters, "parameter")}`] : own;
}

function described(item) {
  if (item.kind === "parameters") return [plural(item.children.length, "parameter")];
  if (item.kind === "body") return [short(item.name), plural(item.weight, "operation")];
  if (item.kind === "part") return [item.name, plural(item.tree.operationsOf(item), "operation")];
  if (item.isGroup) return [short(item.name), plural(item.tree.operationsOf(item), "operation")];
  const scalar = item.scalar === undefined ? "" : ` ${item.scalar}`;
  return item.type ? [short(item.name + scalar), short(item.type)] : [short(item.name + scalar)];
}

const HEAD = 24, PADDING = 12; // of the frame of a group

// Whether an edge is a text of its end: folded parameters go to nearly all groups.
const isText = (edge) => edge.from.kind === "parameters";

// Positions of the shown nodes, open groups and edges. Each group is laid out for itself, with the groups in it as
// nodes: groups stay compact, and the time grows with the number of nodes only.
function arranged(tree) {
  const shown = tree.shown(), open = tree.openGroups(), all = tree.shownEdges(), taken = new Map();
  for (const edge of all.filter(isText)) taken.set(edge.to, (taken.get(edge.to) || 0) + edge.count);
  const edges = all.filter((edge) => !isText(edge));
  const places = new Map(), inside = new Map();
  for (const item of shown) {
    item.tree = tree;
    const text = lines(item, taken.get(item));
    const width = Math.max(...text.map((line) => line.length)) * WIDTH + 40;
    places.set(item, { item, text, width: Math.max(width, 90), height: 16 + 17 * text.length });
  }
  for (const edge of edges) {
    Object.assign(edge, meeting(edge));
    if (!inside.has(edge.group)) inside.set(edge.group, []);
    inside.get(edge.group).push(edge);
  }
  const size = layoutGroup(tree.root, inside, places);
  move(tree.root, places, 0, 0);
  return { places, shown, open, edges, size };
}

// The innermost group around both ends of an edge, and the items directly in it that have them.
function meeting({ from, to }) {
  const around = new Map();
  for (let at = from; at.parent; at = at.parent) around.set(at.parent, at);
  let last = to;
  while (!around.has(last.parent)) last = last.parent;
  return { group: last.parent, first: around.get(last.parent), last };
}

function layoutGroup(group, inside, places) {
  const graph = new Graph({ multigraph: false });
  graph.setGraph({ rankdir: "TB", nodesep: 18, ranksep: 30, edgesep: 8, marginx: PADDING, marginy: PADDING });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const item of group.children) {
    if (item.isGroup && item.open) {
      const { width, height } = layoutGroup(item, inside, places);
      const least = Math.min(item.name.length, 30) * WIDTH + 40;
      places.set(item, { item, width: Math.max(width, least), height: height + HEAD, least: Math.max(0, least - width) / 2 });
    }
    const { width, height } = places.get(item);
    graph.setNode(item.id, { width, height });
  }
  for (const { first, last } of inside.get(group) || []) graph.setEdge(first.id, last.id, {});
  layout(graph);
  for (const item of group.children) {
    const { x, y } = graph.node(item.id);
    Object.assign(places.get(item), { x, y });
  }
  for (const edge of inside.get(group) || []) edge.points = graph.edge(edge.first.id, edge.last.id).points.map((p) => ({ ...p }));
  return { width: graph.graph().width || 2 * PADDING, height: graph.graph().height || 2 * PADDING };
}

// Moves what is in a group to where the group is.
function move(group, places, x, y) {
  places.set(group, { ...places.get(group), offset: { x, y } });
  for (const item of group.children) {
    const place = places.get(item);
    (place.x += x), (place.y += y);
    if (item.isGroup && item.open)
      move(item, places, place.x - place.width / 2 + place.least, place.y - place.height / 2 + HEAD);
  }
}

// The points of an edge: those of the layout, from its begin and to its end where these are inside groups.
function pointsOf(edge, places) {
  const { x, y } = places.get(edge.group).offset;
  const points = edge.points.map((point) => ({ x: point.x + x, y: point.y + y }));
  const from = places.get(edge.from), to = places.get(edge.to);
  if (edge.first !== edge.from) points.unshift({ x: from.x, y: from.y + from.height / 2 });
  if (edge.last !== edge.to) points.push({ x: to.x, y: to.y - to.height / 2 });
  return points;
}

// A smooth line through points.
function line(points) {
  const at = (p) => `${p.x.toFixed(1)} ${p.y.toFixed(1)}`;
  let path = `M${at(points[0])}`;
  for (let i = 1; i < points.length - 1; i++) {
    const middle = { x: (points[i].x + points[i + 1].x) / 2, y: (points[i].y + points[i + 1].y) / 2 };
    path += `Q${at(points[i])} ${at(i === points.length - 2 ? points[i + 1] : middle)}`;
  }
  return points.length === 2 ? `${path}L${at(points[1])}` : path;
}

function nodeOf(place, act) {
  const { item, text, x, y, width, height } = place;
  const kind = kindOf(item), left = x - width / 2, top = y - height / 2;
  const round = kind === "parameter" ? height / 2 : 6;
  const box = (by, name) =>
    s("rect", { class: name, x: left - by, y: top - by, width: width + 2 * by, height: height + 2 * by, rx: round + by });
  const title = item.isGroup
    ? `${item.path ? item.path.join("/") : item.name}: unfold`
    : `${item.name} ${item.type}${item.label.length ? `, label ${item.label.join("/")}` : ""}`;
  return s(
    "g",
    { class: `node ${kind}`, tabindex: "0", role: "button", "aria-label": title, "data-id": item.id,
      onclick: () => act(item), onkeydown: (e) => (e.key === "Enter" || e.key === " " ? (e.preventDefault(), act(item)) : null) },
    s("title", {}, title),
    item.isOutput ? box(3.5, "output") : null,
    item.isGroup ? s("rect", { class: "behind", x: left + 4, y: top + 4, width, height, rx: round }) : null,
    box(0, "box"),
    s("text", { class: "sign", x: left + 12, y: y + 4.5 }, SIGN.get(kind)),
    text.map((part, i) =>
      s("text", { class: i ? "detail" : "name", x: left + 28, y: y + 4.5 + (i - (text.length - 1) / 2) * 17 }, part)),
  );
}

function groupOf(place, act) {
  const { item, x, y, width, height } = place;
  const left = x - width / 2, top = y - height / 2;
  const { name } = item;
  return s(
    "g",
    { class: `cluster ${item.kind}` },
    s("rect", { class: "frame", x: left, y: top, width, height, rx: 10 }),
    s(
      "g",
      { class: "fold", role: "button", tabindex: "0", "aria-label": `fold ${name}`, "data-id": item.id, onclick: () => act(item),
        onkeydown: (e) => (e.key === "Enter" ? act(item) : null) },
      s("title", {}, `${(item.path || [name]).join("/")}: fold`),
      s("text", { x: left + 10, y: top + 16 }, `▾ ${short(name, Math.max(8, Math.floor(width / 8)))}`),
    ),
  );
}

// The picture with its buttons, in `box`. `details` is called with the node that is chosen.
export function draw(box, graphs, number, details) {
  const tree = new Tree(graphs, number);
  const svg = s("svg", { class: "graph", role: "application", tabindex: "0",
    "aria-label": "graph of the program; drag to move, wheel or + and - to zoom" });
  const note = h("span", { class: "note", "aria-live": "polite" });
  const view = { x: 0, y: 0, scale: 1 }, size = { width: 1, height: 1 };
  let inner = s("g");
  const place = () => inner.setAttribute("transform", `translate(${view.x} ${view.y}) scale(${view.scale})`);
  const fit = () => {
    const { clientWidth: width, clientHeight: height } = svg;
    view.scale = Math.min(width / size.width, height / size.height, 1.1);
    // A large graph begins at its top, where its texts can be read.
    view.scale = Math.max(view.scale, Math.min(Math.max(width / size.width, 0.7), 0.85));
    view.x = (width - size.width * view.scale) / 2;
    view.y = size.height * view.scale > height ? 4 : (height - size.height * view.scale) / 2;
    place();
  };
  const zoom = (factor, x = svg.clientWidth / 2, y = svg.clientHeight / 2) => {
    const scale = Math.min(Math.max(view.scale * factor, 0.05), 4);
    view.x = x - ((x - view.x) * scale) / view.scale;
    view.y = y - ((y - view.y) * scale) / view.scale;
    view.scale = scale;
    place();
  };
  const act = (item) => {
    if (svg.dataset.moved) return;
    if (!item.isGroup) {
      for (const chosen of svg.querySelectorAll(".chosen")) chosen.classList.remove("chosen");
      svg.querySelector(`[data-id="${CSS.escape(item.id)}"]`)?.classList.add("chosen");
      return details(item, tree);
    }
    const old = positionOf(item);
    const done = tree.toggle(item);
    render();
    if (!done) note.textContent = `More than ${MOST_SHOWN} nodes would be shown; fold others first.`;
    svg.querySelector(`[data-id="${CSS.escape(item.id)}"]`)?.focus({ preventScroll: true });
    const now = positionOf(item);
    if (old && now) (view.x += (old.x - now.x) * view.scale), (view.y += (old.y - now.y) * view.scale), place();
  };
  let placed = null;
  const positionOf = (item) => {
    const at = placed?.places.get(item);
    return at && { x: at.x, y: at.y - (item.open ? at.height / 2 : 0) };
  };
  const render = () => {
    placed = arranged(tree);
    const { places, shown, open, edges } = placed;
    const of = (edge) =>
      s("path", { class: edge.isDashed ? "edge dashed" : "edge", d: line(pointsOf(edge, places)), "marker-end": "url(#arrow)",
        style: `stroke-width:${Math.min(1.2 + Math.log2(edge.count) * 0.7, 5)}` },
        edge.count > 1 ? s("title", {}, plural(edge.count, "value")) : null);
    const made = s("g", {}, open.map((item) => groupOf(places.get(item), act)), edges.map(of),
      shown.map((item) => nodeOf(places.get(item), act)));
    const arrow = s("marker", { id: "arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 8, markerHeight: 8,
      orient: "auto", markerUnits: "userSpaceOnUse" }, s("path", { d: "M0 0.5L8 4L0 7.5z" }));
    inner = made;
    replace(svg, s("defs", {}, arrow), made);
    Object.assign(size, placed.size);
    const total = tree.operationsOf(tree.root);
    note.textContent = `${plural(shown.length, "node")} shown; ${plural(total, "operation")} with those of computations`;
    place();
  };
  const button = (text, title, run) => h("button", { type: "button", title, onclick: run }, text);
  replace(
    box,
    h("div", { class: "tools" },
      button("Fold all", "Fold all groups", () => (tree.fold(), render(), fit())),
      button("Unfold", "Unfold the outermost groups while few nodes are shown", () => (tree.unfold(140), render(), fit())),
      button("−", "Zoom out", () => zoom(1 / 1.3)),
      button("+", "Zoom in", () => zoom(1.3)),
      button("Fit", "Show the whole graph, or its top", fit),
      note),
    svg,
    h("div", { class: "legend" },
      KINDS.map(([kind, name, sign]) => h("span", {}, h("i", { class: `key ${kind}`, "aria-hidden": "true" }, sign), name)),
      h("span", {}, h("i", { class: "key double", "aria-hidden": "true" }), "double frame: result")),
  );
  movable(svg, view, place, zoom);
  render();
  fit();
  return { tree, render, fit };
}

// Moves by one pointer, zooms by two, by the wheel and by keys.
function movable(svg, view, place, zoom) {
  const pointers = new Map();
  const at = (e) => {
    const box = svg.getBoundingClientRect();
    return [e.clientX - box.left, e.clientY - box.top];
  };
  svg.addEventListener("pointerdown", (e) => {
    delete svg.dataset.moved;
    pointers.set(e.pointerId, [e.clientX, e.clientY]);
  });
  svg.addEventListener("pointermove", (e) => {
    const old = pointers.get(e.pointerId);
    if (!old) return;
    const now = [e.clientX, e.clientY];
    if (pointers.size === 1) {
      if (!svg.dataset.moved && Math.hypot(now[0] - old[0], now[1] - old[1]) < 4) return;
      if (!svg.dataset.moved) svg.setPointerCapture(e.pointerId);
      svg.dataset.moved = "1";
      (view.x += now[0] - old[0]), (view.y += now[1] - old[1]);
      place();
    } else {
      const other = [...pointers].find(([id]) => id !== e.pointerId)[1];
      const apart = (p) => Math.max(Math.hypot(p[0] - other[0], p[1] - other[1]), 1);
      const box = svg.getBoundingClientRect();
      svg.dataset.moved = "1";
      zoom(apart(now) / apart(old), (now[0] + other[0]) / 2 - box.left, (now[1] + other[1]) / 2 - box.top);
    }
    pointers.set(e.pointerId, now);
  });
  const end = (e) => {
    pointers.delete(e.pointerId);
    if (svg.dataset.moved) setTimeout(() => delete svg.dataset.moved, 0);
  };
  for (const name of ["pointerup", "pointercancel", "pointerleave"]) svg.addEventListener(name, end);
  svg.addEventListener("wheel", (e) => {
    // The page scrolls over a picture that is not in use.
    if (!e.ctrlKey && document.activeElement !== svg && !svg.contains(document.activeElement)) return;
    e.preventDefault();
    zoom(Math.exp(-e.deltaY * 0.0016), ...at(e));
  }, { passive: false });
  svg.addEventListener("keydown", (e) => {
    const step = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] }[e.key];
    if (step) (view.x += step[0]), (view.y += step[1]), place();
    else if (e.key === "+" || e.key === "-") zoom(e.key === "+" ? 1.3 : 1 / 1.3);
    else return;
    e.preventDefault();
  });
}

// What is known of a node.
export function facts(item, tree) {
  const linked = (pick, other) => tree.edges.filter((edge) => edge[pick] === item).map((edge) => edge[other]);
  const names = (items) =>
    items.length ? items.slice(0, 12).map((one) => `${one.name} ${one.type || ""}`.trim()).join(", ") + (items.length > 12 ? ", …" : "") : "none";
  const rows = [
    ["Operation", item.name],
    ["Type", item.type ? `${item.type}, ${bytes(item.bytes)}` : "several results"],
    ["Label", item.label.length ? item.label.join("/") : "none"],
    item.scalar !== undefined ? ["Scalar", item.scalar] : null,
    ["Operands", names(linked(1, 0))],
    ["Used by", names(linked(0, 1))],
  ];
  return h("dl", { class: "details" }, rows.filter(Boolean).map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
}
