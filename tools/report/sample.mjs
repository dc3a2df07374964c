// Documents for tests of the page: with events, many compiles, and a program of as many operations as are asked for.

// A generator of pseudo-random numbers in [0, 1), so that each run has the same document.
function random(seed) {
  return () => ((seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0) / 2 ** 32);
}

// A graph of layers; each has a part for attention and one for the MLP, and a scan with a body.
function graphs(operations, next) {
  const names = ["parameter", "dot_general", "add", "multiply", "tanh", "reduce sum", "reshape", "scan"];
  const types = [["f32[16,64,128]", 524288], ["f32[128,512]", 262144], ["", 0], ["f32[]", 4]];
  const labels = [[]], graph = () => ({ op: [], type: [], label: [], in: [], outputs: [], scalar: {}, bodies: {} });
  const add = (to, op, type, label, operands) => {
    to.op.push(op), to.type.push(type), to.label.push(label), to.in.push(operands);
    return to.op.length - 1;
  };
  const body = graph();
  const inside = [0, 1, 2].map((i) => add(body, 0, i ? 1 : 0, 0, []));
  body.outputs.push(add(body, 4, 0, 0, [add(body, 1, 0, 0, [inside[0], inside[1]])]), inside[2]);
  const main = graph(), parameters = Array.from({ length: 20 }, () => add(main, 0, 1, 0, []));
  let last = add(main, 6, 0, 0, [parameters[0]]);
  for (let layer = 0; main.op.length < operations; layer++) {
    for (const part of ["attention", "mlp"]) {
      const label = labels.push(["model", `layer ${layer}`, part]) - 1;
      let at = add(main, 1, 0, label, [last, parameters[layer % 20]]);
      for (let i = 0; i < 12 && main.op.length < operations; i++) {
        const op = 1 + Math.floor(next() * 6);
        at = add(main, op, 0, label, op < 4 ? [at, last] : [at]);
        if (op === 3) main.scalar[at] = "0.5";
      }
      last = add(main, 2, 0, label, [last, at]);
    }
  }
  const scan = add(main, 7, 2, labels.push(["loss", "<script>alert(1)</script>"]) - 1, [last, parameters[1], parameters[2]]);
  main.bodies[scan] = [0];
  main.outputs.push(add(main, 5, 3, labels.length - 1, [scan]));
  return { operations: names, types, labels, graphs: [body, main] };
}

// Events of steps on two threads and a device.
function events(steps) {
  const found = [{ ph: "M", name: "thread_name", pid: 1, tid: 1, args: { name: "main thread" } },
    { ph: "M", name: "thread_name", pid: 1, tid: 2, args: { name: "saver" } },
    { ph: "M", name: "thread_name", pid: 2, tid: 0, args: { name: "xla:0" } }];
  const add = (name, cat, ts, dur, pid, tid, args = {}) => found.push({ name, cat, ph: "X", ts, dur, pid, tid, args });
  add("compile", "compile", 900, 180000, 1, 1, { program: 1 });
  for (let step = 0; step < steps; step++) {
    const ts = 182000 + step * 2400;
    add("step", "step", ts, 700, 1, 1, { label: "train" });
    add("record", "record", ts - 480, 470, 1, 1, { label: "train/model" });
    add("plan", "plan", ts + 20, 160, 1, 1);
    add("execute", "execute", ts + 200, 480, 1, 1, { program: 1 });
    add("program 1", "run", ts + 260, 1900, 2, 0, { program: 1 });
    if (step % 20 === 19) add("save", "save", ts, 9000, 1, 2), add("copy to host", "transfer", ts - 300, 280, 1, 2);
  }
  return found;
}

export function sample({ operations = 300, steps = 400, hasEvents = true } = {}) {
  const next = random(7), causes = ["first", "new_program", "shape", "scalar_became_parameter", "donors"];
  const compiles = Array.from({ length: 40 }, (_, i) => ({
    number: i + 1, device: "xla:0", cause: causes[i && 1 + Math.floor(next() * 4)], nearest: i || null, operations: 245,
    nanoseconds: Math.floor(2e7 + next() * 4e8), from_disk: i % 9 === 8, argument_bytes: 9e6, output_bytes: 9e6, alias_bytes: 8e6,
    temp_bytes: Math.floor(next() * 5e7), code_bytes: 0,
    difference: i ? { operation: "parameter", label: "model/embedding", value: `f32[${i},64]`, before: `f32[${i - 1},64]` } : undefined,
  }));
  const names = `MarkStep RepeatedStep RepeatedGradients CachedCompile UncachedCompile CompileNanoseconds PersistentCacheHit
    PersistentCacheMiss ExecuteComputation TransferToDevice TransferFromDevice OutboundBytes InboundBytes DonorsRequested
    DonatedBuffers FreedEarly ZeroCopy ZeroCopyBytes MixedDeviceCopy MixedDeviceBytes RecomputedOps CreateTensor DestroyTensor
    CachedPrograms CachedVariants LiveBytes PeakLiveBytes`.split(/\s+/);
  const counters = Object.fromEntries(names.map((name) => [name, Math.floor(next() * 1e5)]));
  Object.assign(counters, { MarkStep: steps, RepeatedStep: steps - 2, CompileNanoseconds: 81e8, LiveBytes: 9.7e6, PeakLiveBytes: 54.2e6, RecomputedOps: 0 });
  const program = (number, graph, runs) => ({ number, key: "0123456789abcdef", operations: operations - 20, parameters: 20, scalars: 4,
    scalar_parameters: 2, donors: 18, runs, nanoseconds: runs * 2e6, compile_nanoseconds: 4e8, from_disk: false, argument_bytes: 9.4e6,
    output_bytes: 9.3e6, alias_bytes: 9.2e6, temp_bytes: 3.1e7, code_bytes: 0, graph });
  return {
    form: 1, written: 1790000000,
    metrics: { version: "0.1.0", platform: "cpu", devices: 1, counters, options: { donation: true, max_pending_ops: 1000000 } },
    compiles: { count: 40, compiles },
    steps: [{ kind: "step", device: "xla:0", programs: [1], count: steps, nanoseconds: (steps - 1) * 2.4e6 },
      { kind: "sync", device: "xla:0", programs: [2], count: 12, nanoseconds: 4e9 }],
    programs: { count: 2, listed: [program(1, 1, steps), program(2, 0, 12)] },
    graphs: graphs(operations, next),
    tensors: { values: 60, bytes: 9.7e6, pending: 1, pending_bytes: 4, placeholders: 0,
      listed: Array.from({ length: 60 }, (_, i) => ({ device: "xla:0", label: i % 3 ? ["optimizer", `moment ${i % 2}`] : ["model", "layer 0"],
        dtype: "f32", dims: [128, 512 - i], bytes: 4 * 128 * (512 - i), state: "computed", tensors: 1, origin: "step 400" })) },
    events: hasEvents ? events(steps) : [],
  };
}

// The page with a document, as the library writes it.
export function page(template, document) {
  const json = JSON.stringify(document).replace(/[<>&\u2028\u2029]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
  return template.replace('{"lazyxla":"report"}', () => json);
}
