// The page of lxla_report: reads the document, and fills the sections.
import { empty, h, replace } from "./dom.js";
import { bytes, count, duration, plural } from "./format.js";
import { programs } from "./programs.js";
import { causeOf, compiles, counters, tensors } from "./sections.js";
import { each, sorted, steps } from "./steps.js";
import { timeline } from "./timeline.js";

const FORM = 1;
const at = (id) => document.getElementById(id);

function tiles({ metrics, compiles: log, steps: ran, tensors: live }) {
  const { counters: values } = metrics;
  const step = sorted(ran).find((one) => each(one));
  const tile = (name, value, more) =>
    h("div", { class: "tile" }, h("span", { class: "tile-name" }, name), h("span", { class: "tile-value" }, value), h("span", { class: "tile-more" }, more));
  return [
    tile("Steps", count(values.MarkStep), `${count(values.RepeatedStep)} were repeats`),
    tile("Time of a step", step ? duration(each(step)) : "–", step ? `mean of ${plural(step.count, step.kind)}` : "no step ran twice"),
    tile("Compiles", count(log.count), values.CompileNanoseconds ? `took ${duration(values.CompileNanoseconds)}` : "nothing compiled"),
    tile("Memory", bytes(values.LiveBytes), `${bytes(values.PeakLiveBytes)} at most`),
    tile("Tensors", count(live.values + live.pending + live.placeholders), live.pending ? `${count(live.pending)} not computed yet` : "values alive"),
  ];
}

// Sentences about what stands out.
function findings({ metrics, compiles: log, steps: ran }) {
  const { counters: values } = metrics, found = [];
  const avoidable = log.compiles.filter((one) => ["shape", "dtype", "constant", "donors", "sharding", "evicted"].includes(one.cause));
  if (avoidable.length > 2) {
    const by = new Map();
    avoidable.forEach((one) => by.set(one.cause, (by.get(one.cause) || 0) + 1));
    const [cause, times] = [...by].sort((a, b) => b[1] - a[1])[0];
    found.push(`${plural(avoidable.length, "compile")} may be avoidable, ${count(times)} of them for ${causeOf(cause)}.`);
  }
  const most = sorted(ran)[0];
  if (most && most.count > 10 && values.RepeatedStep < values.MarkStep / 2)
    found.push(`Only ${count(values.RepeatedStep)} of ${count(values.MarkStep)} steps repeated an earlier one: what is recorded differs from step to step.`);
  if (values.MixedDeviceCopy) found.push(`${plural(values.MixedDeviceCopy, "implicit copy", "implicit copies")} between devices, ${bytes(values.MixedDeviceBytes)}.`);
  if (values.RecomputedOps) found.push(`${plural(values.RecomputedOps, "operation")} ran again after a partial sync.`);
  return found;
}

function start() {
  const data = JSON.parse(at("data").textContent);
  if (data.form !== FORM) {
    replace(at("tiles"), empty("This page holds no report."));
    return;
  }
  const { metrics } = data;
  const platform = metrics.platform || "no plugin started";
  replace(at("about"), `lazyxla ${metrics.version} · ${platform} · ${plural(metrics.devices, "device")} · `,
    h("time", {}, new Date(data.written * 1000).toLocaleString("en", { dateStyle: "medium", timeStyle: "short" })));
  replace(at("tiles"), tiles(data));
  const found = findings(data);
  if (found.length) replace(at("findings"), h("ul", {}, found.map((text) => h("li", {}, text))));
  const known = new Map(data.programs.listed.map((program) => [program.number, program]));
  let choose = () => {};
  steps(at("steps-box"), data, known, (number) => choose(number));
  const time = timeline(at("timeline-box"), data.events, metrics.options);
  replace(at("compiles-box"), compiles(data.compiles));
  choose = programs(at("programs-box"), data);
  replace(at("tensors-box"), tensors(data.tensors));
  replace(at("counters-box"), counters(metrics));
  window.report = { data, time };
  document.documentElement.dataset.ready = "1";
}

start();
