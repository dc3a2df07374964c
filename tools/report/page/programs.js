// The compiled programs, and the graph of the one that is chosen.
import { empty, h, replace, table } from "./dom.js";
import { draw, facts } from "./drawing.js";
import { bytes, count, duration } from "./format.js";

export function programs(box, { programs: found, graphs }) {
  if (!found.listed.length) {
    replace(box, empty("No compiled program is in memory."));
    return () => {};
  }
  const title = h("h3"), picture = h("div", { class: "picture" }), details = h("div", { class: "node-details" });
  let chosen = null;
  const choose = (program) => {
    chosen = program;
    replace(title, `Graph of program ${program.number}`);
    replace(details, h("p", { class: "hint" }, "Choose a node to see its operands, or a folded group to unfold it."));
    if (program.graph === null)
      return replace(picture, empty(`This program has ${count(program.operations)} operations, for which there was no room here.`));
    draw(picture, graphs, program.graph, (item, tree) => replace(details, facts(item, tree)));
  };
  const list = h("div");
  const fill = () => replace(list, table(
    [
      { name: "#", number: true, title: "Number of its compile", value: (p) => p.number, show: (p) => p.number },
      { name: "Operations", number: true, value: (p) => p.operations, show: (p) => count(p.operations) },
      { name: "Runs", number: true, value: (p) => p.runs, show: (p) => count(p.runs) },
      { name: "Time", number: true, title: "Time of all runs: until the plugin's call returned", value: (p) => p.nanoseconds, show: (p) => duration(p.nanoseconds) },
      { name: "A run", number: true, value: (p) => p.nanoseconds / Math.max(p.runs, 1), show: (p) => (p.runs ? duration(p.nanoseconds / p.runs) : "–") },
      { name: "Arguments", number: true, value: (p) => p.argument_bytes, show: (p) => bytes(p.argument_bytes) },
      { name: "Results", number: true, value: (p) => p.output_bytes, show: (p) => bytes(p.output_bytes) },
      { name: "In place", number: true, title: "Results that are written over donated arguments", value: (p) => p.alias_bytes, show: (p) => bytes(p.alias_bytes) },
      { name: "Temporaries", number: true, value: (p) => p.temp_bytes, show: (p) => bytes(p.temp_bytes) },
      { name: "Compiled in", number: true, value: (p) => p.compile_nanoseconds, show: (p) => duration(p.compile_nanoseconds) },
      { name: "Key", value: (p) => p.key, title: "Programs with one key differ in constants or donors only", show: (p) => h("code", {}, p.key.slice(0, 8)) },
    ],
    found.listed,
    { sort: "Time", most: 10, onrow: choose, is: (p) => p === chosen, caption: "Programs" },
  ));
  replace(box,
    found.count > found.listed.length ? h("p", { class: "hint" }, `${count(found.listed.length)} of ${count(found.count)} programs are listed.`) : null,
    list, title, picture, details);
  const first = found.listed.find((program) => program.graph !== null) || found.listed[0];
  choose(first);
  fill();
  return (number) => {
    const program = found.listed.find((one) => one.number === number);
    if (!program) return;
    choose(program);
    fill();
    title.scrollIntoView({ block: "start" });
  };
}
