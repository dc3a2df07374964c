// What a step consists of: the programs that it runs, what goes into them, and what comes out.
import { bars, empty, h, replace } from "./dom.js";
import { bytes, count, duration, label, plural } from "./format.js";

// Operations of a graph with the computations in it, by a key.
function tally(graphs, number, keyOf) {
  const sums = new Map();
  const visit = (at) => {
    const graph = graphs.graphs[at];
    graph.op.forEach((op, i) => {
      if (graphs.operations[op] === "parameter") return;
      const key = keyOf(graphs, graph, i);
      sums.set(key, (sums.get(key) || 0) + 1);
      for (const body of graph.bodies[i] || []) if (body !== null) visit(body);
    });
  };
  visit(number);
  return [...sums].map(([name, value]) => ({ name, value })).sort((a, b) => b.value - a.value);
}

const byOperation = (graphs, graph, i) => graphs.operations[graph.op[i]];
const byLabel = (depth) => (graphs, graph, i) => label(graphs.labels[graph.label[i]].slice(0, depth));

// The steps, those that took the longest time first. A step that ran once has no time.
export function sorted(steps) {
  return [...steps].sort((a, b) => (a.kind === b.kind ? 0 : a.kind === "step" ? -1 : 1) || b.nanoseconds - a.nanoseconds || b.count - a.count);
}

export const each = (step) => (step.count > 1 ? step.nanoseconds / (step.count - 1) : null);

function flow(step, programs, choose) {
  const box = (title, ...texts) =>
    h("div", { class: "flow-box" }, h("strong", {}, title), texts.filter(Boolean).map((text) => h("span", {}, text)));
  const parts = step.programs.map((number) => {
    const program = programs.get(number);
    if (!program) return [box(`Program ${number}`, "left the cache")];
    const kept = program.output_bytes - program.alias_bytes;
    return [
      box("Arguments", plural(program.parameters, "tensor"), program.argument_bytes ? bytes(program.argument_bytes) : null,
        program.donors ? `${count(program.donors)} may be donated` : null),
      h("button", { class: "flow-box program", type: "button", onclick: () => choose(number) },
        h("strong", {}, `Program ${number}`), h("span", {}, plural(program.operations, "operation")),
        h("span", {}, `${bytes(program.temp_bytes)} of temporaries`),
        program.runs ? h("span", {}, `${duration(program.nanoseconds / program.runs)} in the plugin's call`) : null),
      box("Results", program.output_bytes ? bytes(program.output_bytes) : "size not reported",
        program.alias_bytes ? `${bytes(program.alias_bytes)} written over arguments` : null,
        program.alias_bytes && kept > 0 ? `${bytes(kept)} in new memory` : null),
    ];
  });
  return h("div", { class: "flow" }, parts.map((boxes) => h("div", { class: "flow-row" }, boxes.map((one, i) =>
    [i ? h("span", { class: "flow-arrow", "aria-hidden": "true" }, "→") : null, one]))));
}

export function steps(box, document, programs, choose) {
  const all = sorted(document.steps);
  if (!all.length) return replace(box, empty("No step or sync ran."));
  const detail = h("div"), list = h("div", { class: "choices", role: "tablist", "aria-label": "Steps and syncs" });
  const show = (step) => {
    [...list.children].forEach((child, i) => child.setAttribute("aria-selected", String(all[i] === step)));
    const found = step.programs.map((number) => programs.get(number)).filter((one) => one && one.graph !== null);
    const graphs = document.graphs;
    const merged = (key) => {
      const sums = new Map();
      for (const program of found)
        for (const { name, value } of tally(graphs, program.graph, key)) sums.set(name, (sums.get(name) || 0) + value);
      return [...sums].map(([name, value]) => ({ name, value })).sort((a, b) => b.value - a.value);
    };
    const outer = merged(byLabel(1)), operations = merged(byOperation);
    const labels = outer.length > 3 ? outer : merged(byLabel(2));
    const cut = (rows) => {
      if (rows.length <= 9) return rows;
      const rest = rows.slice(8);
      const value = rest.reduce((sum, row) => sum + row.value, 0);
      return [...rows.slice(0, 8), { name: `${rest.length} others`, value, color: "var(--c6)" }];
    };
    replace(
      detail,
      h("p", { class: "hint" },
        `${plural(step.count, step.kind)} on ${step.device}${each(step) ? `, one every ${duration(each(step))}` : ""}. Each runs ${
          step.programs.length === 1 ? "one program" : `${step.programs.length} programs, one after another`}.`),
      flow(step, programs, choose),
      operations.length
        ? h("div", { class: "halves" },
            h("div", {}, h("h3", {}, "Operations by label"), bars(cut(labels), count)),
            h("div", {}, h("h3", {}, "Operations by name"), bars(cut(operations), count)))
        : empty("No graph: too many operations, or the program left the cache."),
    );
  };
  const most = 8;
  replace(list, all.slice(0, most).map((step) =>
    h("button", { type: "button", role: "tab", class: "choice", onclick: () => show(step) },
      h("strong", {}, plural(step.count, step.kind)),
      h("span", {}, each(step) ? `every ${duration(each(step))}` : "once"),
      h("small", {}, `program ${step.programs.slice(0, 3).join(", ")}${step.programs.length > 3 ? ", …" : ""} on ${step.device}`))));
  replace(box, list, detail,
    all.length > most ? h("p", { class: "hint" }, `${count(all.length - most)} other kinds of steps and syncs ran for a shorter time.`) : null);
  show(all[0]);
}
