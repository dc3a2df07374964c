// Opens reports in headless Chromium: node test.mjs [REPORT.html ...]
//
// A page of a sample document with a timeline and a program of 10,000 operations, and reports that the library wrote:
// they open without an error, the DOM has the numbers of the document, groups fold and unfold, the timeline zooms, and
// nothing is wider than a phone. Ends with status 77 where there is no browser. CHROMIUM names another one.
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { page as filled, sample } from "./sample.mjs";

const places = [process.env.CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
const browserPath = places.find((path) => path && existsSync(path));
const library = await import("puppeteer-core").catch(() => null);
if (!browserPath || !library) {
  console.log(browserPath ? "puppeteer-core is not installed: run npm ci" : "there is no Chromium");
  process.exit(77);
}

const template = readFileSync(new URL("../../assets/report/page.html", import.meta.url), "utf8");
const folder = mkdtempSync(join(tmpdir(), "lazyxla-report-"));
const made = (name, options) => {
  const path = join(folder, name);
  writeFileSync(path, filled(template, sample(options)));
  return path;
};

const browser = await library.default.launch({ executablePath: browserPath, headless: true, args: ["--no-sandbox"],
  protocolTimeout: 600_000 });

// Opens a page; every message, error and request for anything but the file itself is a failure.
async function opened(path, width, height, scheme = "light") {
  const page = await browser.newPage(), wrong = [], url = `file://${path}`;
  page.setDefaultTimeout(600_000);
  page.on("console", (message) => wrong.push(`${message.type()}: ${message.text()}`));
  page.on("pageerror", (error) => wrong.push(String(error.stack || error)));
  page.on("dialog", (dialog) => (wrong.push(`dialog: ${dialog.message()}`), dialog.dismiss()));
  page.on("request", (request) => request.url() !== url && !request.url().startsWith("data:") && wrong.push(`request: ${request.url()}`));
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
  await page.setViewport({ width, height, isMobile: width < 600, hasTouch: width < 600 });
  await page.goto(url, { waitUntil: "load" });
  await page.waitForSelector("html[data-ready]");
  return { page, wrong };
}

// The document of a file, read without the page.
function documentOf(path) {
  const [, json] = readFileSync(path, "utf8").match(/<script type="application\/json" id="data">(.*?)<\/script>/s);
  return JSON.parse(json);
}

const shownNodes = (page) => page.$$eval("#programs-box .node", (nodes) => nodes.length);

async function checkNumbers(page, data) {
  const shown = await page.$$eval("[data-counter]", (cells) => cells.map((cell) => [cell.dataset.counter, cell.dataset.value, cell.textContent]));
  assert.deepEqual(Object.fromEntries(shown.map(([name, value]) => [name, Number(value)])), data.metrics.counters);
  for (const [name, value, text] of shown)
    if (!/Bytes|Nanoseconds/.test(name)) assert.equal(text, Number(value).toLocaleString("en"), name);
  const rows = (box) => page.$$eval(`${box} tbody tr`, (found) => found.length);
  assert.equal(await rows("#compiles-box"), Math.min(data.compiles.compiles.length, 10));
  assert.equal(await rows("#tensors-box"), Math.min(data.tensors.listed.length, 15));
  assert.equal(await rows("#programs-box"), Math.min(data.programs.listed.length, 10));
  assert.equal(await page.$$eval("#tiles .tile", (tiles) => tiles.length), 5);
  assert.equal(await page.$eval("#tiles .tile-value", (tile) => tile.textContent), data.metrics.counters.MarkStep.toLocaleString("en"));
}

// Unfolds the first folded group, and folds it again.
async function checkFolding(page) {
  await page.evaluate(() => [...document.querySelectorAll("#programs-box .tools button")].find((b) => b.textContent === "Fold all").click());
  const before = await shownNodes(page);
  assert.ok(before >= 1);
  const group = await page.$("#programs-box .node.group, #programs-box .node.body");
  if (!group) return;
  const id = await group.evaluate((node) => node.dataset.id);
  await group.evaluate((node) => node.focus());
  await page.keyboard.press("Enter");
  assert.equal(await page.$(`.node[data-id="${CSS_escape(id)}"]`), null, "an unfolded group is a frame");
  assert.ok((await shownNodes(page)) >= before);
  assert.equal((await page.$$("#programs-box .cluster")).length >= 1, true);
  await page.$eval("#programs-box .cluster .fold", (fold) => fold.dispatchEvent(new MouseEvent("click")));
  assert.equal(await shownNodes(page), before);
}

const CSS_escape = (text) => text.replace(/["\\]/g, "\\$&");

async function checkFits(page) {
  const [wide, screen] = await page.evaluate(() => [document.documentElement.scrollWidth, window.innerWidth]);
  assert.ok(wide <= screen, `the page is ${wide} px wide on a screen of ${screen}`);
  const clipped = await page.$$eval(".tile-value, .tile-more, .choice, .flow-box, h2, h3, .bar-value, .cause", (all) =>
    all.filter((one) => one.scrollWidth > one.clientWidth + 1 && getComputedStyle(one).display !== "inline").map((one) => one.textContent));
  assert.deepEqual(clipped, []);
}

async function checkReport(path) {
  const data = documentOf(path);
  for (const [width, height, scheme] of [[1280, 900, "light"], [390, 844, "dark"]]) {
    const { page, wrong } = await opened(path, width, height, scheme);
    await checkNumbers(page, data);
    await checkFits(page);
    if (data.programs.listed.length) await checkFolding(page);
    assert.deepEqual(wrong, []);
    await page.close();
  }
  console.log(`${path}: passed`);
}

async function checkLarge() {
  const path = made("large.html", { operations: 10_000 });
  const { page, wrong } = await opened(path, 1280, 900);
  const first = await shownNodes(page);
  assert.ok(first > 3 && first <= 60, `${first} nodes at first`);
  const unfold = () => page.evaluate(() => {
    const groups = [...document.querySelectorAll("#programs-box .node.group")].filter((g) => !g.textContent.includes("parameters"));
    groups.at(-1)?.dispatchEvent(new MouseEvent("click"));
    return groups.length;
  });
  for (let i = 0; i < 40 && (await unfold()); i++) assert.ok((await shownNodes(page)) <= 400);
  const label = await page.$$eval("#programs-box .node, #programs-box .cluster", (all) => all.map((one) => one.textContent).join("\n"));
  assert.ok(label.includes("<script>alert(1)</script>"), "a label is shown as it is");
  assert.deepEqual(wrong, []);
  await page.close();
  console.log("a program of 10,000 operations: passed");
}

async function checkTimeline() {
  const { page, wrong } = await opened(made("timeline.html", {}), 1280, 900);
  const span = () => page.evaluate(() => window.report.time.view.end - window.report.time.view.start);
  const whole = await span();
  const zoomed = () => page.evaluate(() => [...document.querySelectorAll("#timeline-box .tools button")].find((b) => b.textContent === "+").click());
  await zoomed();
  await zoomed();
  assert.ok(Math.abs((await span()) - whole / 1.6 ** 2) < 1, "two zooms");
  const canvas = await page.$("canvas.timeline");
  await canvas.scrollIntoView();
  const inked = await canvas.evaluate((c) => {
    const pixels = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
    return new Set(Array.from({ length: pixels.length / 4 }, (_, i) => pixels.slice(4 * i, 4 * i + 3).join())).size;
  });
  assert.ok(inked > 5, `${inked} colours on the canvas`);
  const box = await canvas.boundingBox();
  const named = new Set();
  for (let x = 10; x < box.width; x += 37) {
    await page.mouse.move(box.x + x, box.y + 50);
    named.add(await page.$eval(".tip", (tip) => (tip.hidden ? "" : tip.firstChild.textContent)));
  }
  assert.ok(named.has("step") && named.size > 1, `events under the mouse: ${[...named]}`);
  await page.evaluate(() => [...document.querySelectorAll("#timeline-box .tools button")].find((b) => b.textContent === "All").click());
  assert.ok(Math.abs((await span()) - whole) < 1e-6);
  assert.deepEqual(wrong, []);
  await page.close();
  const bare = await opened(made("bare.html", { hasEvents: false }), 390, 844);
  assert.match(await bare.page.$eval("#timeline-box", (one) => one.textContent), /No events were recorded/);
  assert.deepEqual(bare.wrong, []);
  await bare.page.close();
  console.log("the timeline: passed");
}

try {
  await checkReport(made("sample.html", {}));
  await checkTimeline();
  await checkLarge();
  for (const path of process.argv.slice(2)) await checkReport(resolve(path));
} finally {
  await browser.close();
  rmSync(folder, { recursive: true });
}
