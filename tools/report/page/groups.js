// The tree of groups of a graph: labels, computations that operations apply, and parts of what has many operations.
// What is folded is one node of the picture.

const MOST_CHILDREN = 60; // a group with more is divided into parts
const MOST_AT_FIRST = 36; // nodes that are shown at first
export const MOST_SHOWN = 400; // nodes that are shown at most

class Item {
  constructor(kind, id, name, parent) {
    Object.assign(this, { kind, id, name, parent, children: [], open: false, operations: 0 });
  }
  get isGroup() {
    return this.kind !== "node";
  }
}

// A tree: the root item, and the items of nodes. Edges are pairs of items that are nodes.
export class Tree {
  constructor(graphs, number) {
    this.graphs = graphs;
    this.edges = [];
    this.root = new Item("root", "r", "", null);
    this.root.open = true;
    this.fill(this.root, number);
    this.unfold();
  }

  // Makes the items of a graph below `parent`; returns those of its parameters and of its outputs.
  fill(parent, number) {
    const graph = this.graphs.graphs[number], { operations, types, labels } = this.graphs;
    const groups = new Map([["", parent]]), nodes = [];
    const group = (names, depth) => {
      const key = JSON.stringify(names.slice(0, depth));
      if (depth === 0) return parent;
      if (!groups.has(key)) {
        const around = group(names, depth - 1);
        const made = new Item("label", `${around.id}/${key}`, names[depth - 1], around);
        made.path = names.slice(0, depth);
        around.children.push(made);
        groups.set(key, made);
      }
      return groups.get(key);
    };
    const isParameter = (i) => operations[graph.op[i]] === "parameter";
    const parameters = graph.op.map((_, i) => i).filter(isParameter);
    let ofParameters = parent;
    if (parameters.length > 6) {
      ofParameters = new Item("parameters", `${parent.id}/p`, "parameters", parent);
      parent.children.push(ofParameters);
    }
    graph.op.forEach((op, i) => {
      const around = isParameter(i) ? ofParameters : group(labels[graph.label[i]], labels[graph.label[i]].length);
      const node = new Item("node", `${parent.id}:${i}`, operations[op], around);
      Object.assign(node, {
        type: types[graph.type[i]][0], bytes: types[graph.type[i]][1], label: labels[graph.label[i]],
        scalar: graph.scalar[i], isOutput: false, isParameter: isParameter(i), position: i,
      });
      nodes.push(node);
      const bodies = (graph.bodies[i] || []).filter((body) => body !== null);
      if (bodies.length) this.apply(node, bodies, around);
      else around.children.push(node);
    });
    graph.in.forEach((operands, i) => operands.forEach((from) => this.edges.push([nodes[from], nodes[i], false])));
    graph.outputs.forEach((output) => (nodes[output].isOutput = true));
    this.divide(parent);
    for (const one of groups.values()) if (one !== parent) this.divide(one);
    if (ofParameters !== parent) this.divide(ofParameters);
    return { parameters: parameters.map((i) => nodes[i]), outputs: graph.outputs.map((i) => nodes[i]) };
  }

  // Makes the group of an operation that applies computations, which are filled in when it is unfolded.
  apply(node, bodies, around) {
    const made = new Item("body", `${node.id}/b`, node.name, around);
    made.node = node;
    made.bodies = bodies;
    around.children.push(made);
    node.parent = made;
    made.children.push(node);
    made.weight = bodies.reduce((sum, body) => sum + this.weight(body), 0);
  }

  // Number of operations of a graph with the computations that it applies.
  weight(number) {
    this.weights ??= new Map();
    if (!this.weights.has(number)) {
      const graph = this.graphs.graphs[number];
      const inside = Object.values(graph.bodies).flat().filter((body) => body !== null);
      const own = graph.op.filter((op) => this.graphs.operations[op] !== "parameter").length;
      this.weights.set(number, own + inside.reduce((sum, body) => sum + this.weight(body), 0));
    }
    return this.weights.get(number);
  }

  // Fills the group of an operation that applies computations: the operation with its operands, the computations, and
  // its results.
  enter(group) {
    if (!group.bodies || group.isEntered) return;
    group.isEntered = true;
    const { node } = group;
    const end = new Item("node", `${node.id}/e`, `end of ${node.name}`, group);
    Object.assign(end, { ...node, id: end.id, name: end.name, parent: group, children: [] });
    for (const edge of this.edges) if (edge[0] === node) edge[0] = end;
    node.isApplied = end.isApplied = true;
    node.isOutput = false;
    group.bodies.forEach((body, i) => {
      const name = group.bodies.length > 1 ? `computation ${i + 1}` : "computation";
      const inside = new Item("label", `${group.id}/${i}`, name, group);
      inside.path = [name];
      group.children.push(inside);
      const { parameters, outputs } = this.fill(inside, body);
      parameters.forEach((parameter) => this.edges.push([node, parameter, true]));
      outputs.forEach((output) => this.edges.push([output, end, true]));
      if (!parameters.length) outputs.forEach((output) => this.edges.push([node, output, true]));
      inside.open = inside.children.length <= 30;
    });
    group.children.push(end);
  }

  // Divides the children of a group with many into parts of consecutive ones.
  divide(group) {
    if (group.isDivided || group.children.length <= MOST_CHILDREN) return;
    group.isDivided = true;
    const all = group.children, size = Math.max(20, Math.ceil(all.length / 30));
    group.children = [];
    for (let start = 0; start < all.length; start += size) {
      const own = all.slice(start, start + size);
      const [first, last] = [own[0], own.at(-1)].map((item) => item.name.slice(0, 14));
      const name = own[0].isGroup && own.at(-1).isGroup ? `${first} … ${last}` : `part ${start / size + 1}`;
      const part = new Item("part", `${group.id}/${start}`, name, group);
      part.children = own;
      own.forEach((item) => (item.parent = part));
      group.children.push(part);
      this.divide(part);
    }
  }

  operationsOf(item) {
    if (!item.isGroup) return item.isParameter ? 0 : 1;
    if (item.kind === "body") return item.weight + 1;
    item.known ??= item.children.reduce((sum, child) => sum + this.operationsOf(child), 0);
    return item.known;
  }

  toggle(item) {
    if (item.open) item.open = false;
    else {
      this.enter(item);
      item.open = true;
      // A group with nothing but another group in it is opened with it.
      let inside = item;
      while (inside.children.length === 1 && inside.children[0].isGroup && inside.kind !== "body") {
        inside = inside.children[0];
        this.enter(inside);
        inside.open = true;
      }
      if (this.shown().length > MOST_SHOWN) {
        item.open = false;
        return false;
      }
    }
    return true;
  }

  // Unfolds groups, the outermost and smallest first, while few nodes are shown.
  unfold(most = MOST_AT_FIRST) {
    let changed = false;
    for (;;) {
      const folded = this.shown().filter((item) => item.isGroup && item.kind !== "parameters");
      const room = most - this.shown().length;
      const size = (item) => (item.kind === "body" ? 3 : item.children.length);
      const next = folded.filter((item) => size(item) <= room + 1 && !item.isRefused)
        .sort((a, b) => depth(a) - depth(b) || size(a) - size(b))[0];
      if (!next) return changed;
      this.enter(next);
      next.open = true;
      if (this.shown().length > most) (next.open = false), (next.isRefused = true);
      else changed = true;
    }
  }

  fold() {
    const close = (item) => item.children.forEach((child) => ((child.open = false), (child.isRefused = false), close(child)));
    close(this.root);
  }

  // Items that are nodes of the picture: nodes, and folded groups, inside open groups.
  shown() {
    const found = [];
    const visit = (item) => item.children.forEach((child) => (child.isGroup && child.open ? visit(child) : found.push(child)));
    visit(this.root);
    return found;
  }

  // Open groups around the nodes of the picture, the outermost first.
  openGroups() {
    const found = [];
    const visit = (item) =>
      item.children.forEach((child) => {
        if (child.isGroup && child.open) found.push(child), visit(child);
      });
    visit(this.root);
    return found;
  }

  // Edges between items of the picture, with the number of edges that each stands for.
  shownEdges() {
    const place = new Map(), found = new Map();
    const shownOf = (item) => {
      if (place.has(item)) return place.get(item);
      let at = item;
      for (let up = item.parent; up; up = up.parent) if (!up.open) at = up;
      place.set(item, at);
      return at;
    };
    for (const [from, to, isDashed] of this.edges) {
      const a = shownOf(from), b = shownOf(to);
      if (a === b) continue;
      const key = `${a.id}\n${b.id}`;
      if (!found.has(key)) found.set(key, { from: a, to: b, count: 0, isDashed });
      found.get(key).count++;
      found.get(key).isDashed &&= isDashed;
    }
    return [...found.values()];
  }
}

function depth(item) {
  let n = 0;
  for (let up = item.parent; up; up = up.parent) n++;
  return n;
}
