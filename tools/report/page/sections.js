// The sections of tables: compiles, live tensors, counters.
import { bars, empty, h, table } from "./dom.js";
import { bytes, count, duration, label, number, plural } from "./format.js";

// What to do about a compile, by its cause.
const ADVICE = {
  first: ["first program", "The first program of the environment."],
  new_program: ["other operations", "Nothing to do, if it stops after the first steps. Otherwise the program that is recorded differs from step to step."],
  shape: ["another shape", "Pad the data to a few sizes, or make the last batch as large as the others."],
  dtype: ["another dtype", "Convert the data before the model."],
  constant: ["another constant", "Pass what changes as a tensor: an axis, an offset, or a number inside a traced computation is part of the program."],
  scalar_became_parameter: ["a scalar changed", "Nothing to do: it happens once for each scalar. A varying scalar avoids it."],
  donors: ["other donated buffers", "Release the inputs at the same time in each step."],
  sharding: ["another sharding", "Place the inputs on the mesh in the same way in each step."],
  evicted: ["left the cache", "Raise cache_capacity, or set cache_dir."],
};

export const causeOf = (cause) => ADVICE[cause]?.[0] || cause;

function difference({ nearest, difference: found }) {
  if (!found) return "–";
  const where = [found.operation, found.label ? `under ${found.label}` : null].filter(Boolean).join(" ");
  return h("span", {}, where ? h("span", { class: "where" }, `${where}: `) : null,
    h("code", {}, found.before || "nothing"), " → ", h("code", {}, found.value || "nothing"),
    " ", h("small", {}, `compared with #${nearest}`));
}

export function compiles({ count: all, compiles: entries }) {
  if (!entries.length) return [empty("Nothing was compiled.")];
  const causes = new Map();
  for (const entry of entries) {
    const sum = causes.get(entry.cause) || { count: 0, nanoseconds: 0 };
    causes.set(entry.cause, { count: sum.count + 1, nanoseconds: sum.nanoseconds + entry.nanoseconds });
  }
  const rows = [...causes].sort((a, b) => b[1].nanoseconds - a[1].nanoseconds);
  return [
    all > entries.length ? h("p", { class: "hint" }, `The last ${count(entries.length)} of ${count(all)} compiles.`) : null,
    h("div", { class: "causes" }, rows.map(([cause, sum]) =>
      h("div", { class: "cause" },
        h("div", { class: "cause-head" }, h("strong", {}, causeOf(cause)), h("code", {}, cause)),
        h("div", { class: "cause-sum" }, `${count(sum.count)}×, ${duration(sum.nanoseconds)}`),
        h("p", {}, ADVICE[cause]?.[1] || "")))),
    table(
      [
        { name: "#", number: true, title: "Number of the compile", value: (e) => e.number, show: (e) => e.number },
        { name: "Cause", value: (e) => e.cause, show: (e) => causeOf(e.cause) },
        { name: "Time", number: true, value: (e) => e.nanoseconds,
          show: (e) => [duration(e.nanoseconds), e.from_disk ? h("small", {}, " from disk") : null] },
        { name: "First difference", kind: "wide", value: (e) => e.difference?.operation || "", show: difference },
        { name: "Operations", number: true, value: (e) => e.operations, show: (e) => count(e.operations) },
        { name: "Temporaries", number: true, value: (e) => e.temp_bytes, show: (e) => bytes(e.temp_bytes) },
        { name: "Device", value: (e) => e.device, show: (e) => e.device },
      ],
      entries,
      { sort: "#", most: 10, caption: "Compiles" },
    ),
  ];
}

export function tensors(live) {
  const { listed } = live;
  const facts = h("p", { class: "hint" },
    `${plural(live.values, "value")} in memory, ${bytes(live.bytes)} together.`,
    live.pending ? ` ${plural(live.pending, "value")} of ${bytes(live.pending_bytes)} not computed yet.` : "",
    live.placeholders ? ` ${plural(live.placeholders, "placeholder")}.` : "",
    listed.length < live.values + live.pending + live.placeholders ? ` The largest ${count(listed.length)} are listed.` : "");
  if (!listed.length) return [empty("No tensor was alive when the report was written.")];
  const sums = new Map();
  for (const one of listed.filter((one) => one.state === "computed"))
    sums.set(label(one.label), (sums.get(label(one.label)) || 0) + one.bytes);
  const rows = [...sums].map(([name, value]) => ({ name, value })).sort((a, b) => b.value - a.value);
  return [
    facts,
    rows.length > 1 ? [h("h3", {}, "Memory by label"), bars(rows.slice(0, 8), bytes)] : null,
    h("h3", {}, "Largest values"),
    table(
      [
        { name: "Label", kind: "text", value: (t) => label(t.label), show: (t) => (t.label.length ? label(t.label) : h("span", { class: "faint" }, "no label")) },
        { name: "Bytes", number: true, value: (t) => t.bytes, show: (t) => bytes(t.bytes) },
        { name: "Shape", kind: "text", value: (t) => t.dims.length, show: (t) => h("code", {}, `[${t.dims.join(", ")}]`) },
        { name: "Dtype", value: (t) => t.dtype, show: (t) => h("code", {}, t.dtype) },
        { name: "Device", value: (t) => t.device, show: (t) => t.device },
        { name: "From", title: "The step, sync or copy that made it", value: (t) => t.origin || "", show: (t) => (t.state !== "computed" ? t.state : t.origin || "the host") },
        { name: "Tensors", number: true, title: "Tensors with this value", value: (t) => t.tensors, show: (t) => count(t.tensors) },
      ],
      listed,
      { sort: "Bytes", most: 15, caption: "Largest live tensors" },
    ),
  ];
}

// Groups of counters, with what they count.
const COUNTERS = {
  Steps: {
    MarkStep: "steps", RepeatedStep: "steps that repeated an earlier one, so that nothing was planned again",
    RepeatedGradients: "gradients copied from an earlier equal call", ExecuteComputation: "executions of a program",
    RecomputedOps: "operations that ran again after a partial sync",
  },
  Compiling: {
    UncachedCompile: "programs compiled", CompileNanoseconds: "time spent compiling", CachedCompile: "programs found in memory",
    PersistentCacheHit: "programs loaded from the disk cache", PersistentCacheMiss: "programs not found in the disk cache",
    CachedPrograms: "programs in memory now", CachedVariants: "compiled variants of them",
  },
  Memory: {
    LiveBytes: "held by buffers now", PeakLiveBytes: "held by buffers at most", DonorsRequested: "buffers that executions might consume",
    DonatedBuffers: "buffers that executions consumed", FreedEarly: "buffers freed before the end of a step",
    CreateTensor: "tensors created", DestroyTensor: "tensors released",
  },
  Transfers: {
    TransferToDevice: "copies to devices", OutboundBytes: "copied to devices", TransferFromDevice: "copies to the host",
    InboundBytes: "copied to the host", ZeroCopy: "tensors moved without a copy", ZeroCopyBytes: "moved without a copy",
    MixedDeviceCopy: "implicit copies between devices", MixedDeviceBytes: "copied implicitly between devices",
  },
};

const shownCounter = (name, value) =>
  name.endsWith("Bytes") ? bytes(value) : name.endsWith("Nanoseconds") ? duration(value) : count(value);

export function counters({ counters: values, options }) {
  const known = new Set(Object.values(COUNTERS).flatMap((group) => Object.keys(group)));
  const others = Object.keys(values).filter((name) => !known.has(name));
  const groups = { ...COUNTERS, ...(others.length ? { Others: Object.fromEntries(others.map((name) => [name, ""])) } : {}) };
  const steps = values.MarkStep;
  const isState = /^(Cached(Programs|Variants)|.*LiveBytes|MarkStep)$/;
  const row = (name, meaning) =>
    h("tr", { class: values[name] ? null : "zero" },
      h("th", { scope: "row" }, name, h("small", {}, meaning)),
      h("td", { class: "number", "data-counter": name, "data-value": String(values[name]), title: count(values[name]) }, shownCounter(name, values[name])),
      h("td", { class: "number faint" }, steps && !isState.test(name) && values[name]
        ? name.endsWith("Bytes") || name.endsWith("Nanoseconds") ? shownCounter(name, Math.round(values[name] / steps)) : number(values[name] / steps)
        : ""));
  return [
    h("div", { class: "counters" }, Object.entries(groups).map(([name, group]) =>
      h("div", { class: "counter-group" },
        h("table", {}, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, name), h("th", { class: "number", scope: "col" }, "Value"),
          h("th", { class: "number", scope: "col" }, "A step"))),
        h("tbody", {}, Object.entries(group).filter(([one]) => one in values).map(([one, meaning]) => row(one, meaning))))))),
    h("details", {}, h("summary", {}, "Options"),
      h("dl", { class: "details" }, Object.entries(options).map(([name, value]) => [h("dt", {}, name), h("dd", {}, String(value))]))),
  ];
}
