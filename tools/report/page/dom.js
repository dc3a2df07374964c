// Elements and texts of the page. Texts from the document become text nodes only, so that none is ever markup.

// The namespace of SVG; it is a name, and nothing is loaded from it.
const SVG = "http://www.w3.org/2000/svg";

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style") element.style.cssText = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  append(element, children);
  return element;
}

export function append(element, children) {
  for (const child of [children].flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}

export const h = (name, attributes, ...children) => filled(document.createElement(name), attributes, children);

export const s = (name, attributes, ...children) => filled(document.createElementNS(SVG, name), attributes, children);

export function replace(element, ...children) {
  element.replaceChildren();
  append(element, children);
}

// A bar list: rows of a text, a bar and a number.
export function bars(rows, unit) {
  const most = Math.max(...rows.map((row) => row.value), 1e-300);
  return h(
    "div",
    { class: "bars", role: "table" },
    rows.map((row) =>
      h(
        "div",
        { class: "bar-row", role: "row", title: row.title || row.name },
        h("span", { class: "bar-name", role: "cell" }, row.name),
        h(
          "span",
          { class: "bar-track", role: "presentation" },
          h("span", { class: "bar-fill", style: `width:${(100 * row.value) / most}%;background:${row.color || "var(--c1)"}` }),
        ),
        h("span", { class: "bar-value", role: "cell" }, unit(row.value), row.more ? h("small", {}, row.more) : null),
      ),
    ),
  );
}

// A table that sorts by the column that is clicked. Columns: name, title, number (right-aligned), value(row) to sort
// by, show(row). At most `most` rows are shown at first.
export function table(columns, rows, { sort = null, descending = true, most = 20, onrow = null, is = null, caption } = {}) {
  let by = sort, down = descending, all = false;
  const box = h("div", { class: "table-box" });
  const draw = () => {
    const sorted = [...rows];
    const column = columns.find((one) => one.name === by);
    if (column) {
      const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
      sorted.sort((a, b) => (down ? -1 : 1) * compare(column.value(a), column.value(b)));
    }
    const head = columns.map((one) =>
      h(
        "th",
        { class: one.number ? "number" : null, scope: "col", "aria-sort": one.name === by ? (down ? "descending" : "ascending") : null },
        h(
          "button",
          {
            type: "button",
            title: one.title,
            onclick: () => {
              [by, down] = [one.name, by === one.name ? !down : !!one.number];
              draw();
            },
          },
          one.name,
          h("span", { class: "arrow", "aria-hidden": "true" }, one.name === by ? (down ? " ↓" : " ↑") : ""),
        ),
      ),
    );
    const shown = all ? sorted : sorted.slice(0, most);
    const body = shown.map((row) =>
      h(
        "tr",
        onrow
          ? { class: is && is(row) ? "chosen can" : "can", tabindex: "0", onclick: () => (onrow(row), draw()),
              onkeydown: (e) => (e.key === "Enter" ? (onrow(row), draw()) : null) }
          : {},
        columns.map((one) => h("td", { class: one.number ? "number" : one.kind || null }, one.show(row))),
      ),
    );
    const more =
      sorted.length > most
        ? h("button", { class: "plain", type: "button", onclick: () => ((all = !all), draw()) },
            all ? "Show fewer" : `Show all ${sorted.length.toLocaleString("en")}`)
        : null;
    replace(
      box,
      h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
        h("table", {}, h("thead", {}, h("tr", {}, head)), h("tbody", {}, body))),
      more,
    );
  };
  draw();
  return box;
}

export const empty = (...children) => h("div", { class: "empty" }, children);
