// Builds assets/report/page.html: the page with its style, its script and the licences of the libraries in it.
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";

const LIBRARIES = ["@dagrejs/dagre", "@dagrejs/graphlib"];
const MOST_BYTES = 500_000;

const licences = LIBRARIES.map((name) => {
  const folder = `node_modules/${name}`;
  const { version, license } = JSON.parse(readFileSync(`${folder}/package.json`, "utf8"));
  return `${name} ${version} (${license})\n\n${readFileSync(`${folder}/LICENSE`, "utf8").trim()}\n`;
});
const notice = `This file contains these libraries:\n\n${licences.join("\n")}`;
if (notice.includes("--")) throw new Error("a licence has what ends a comment of HTML");

// c_tests/abi/report_test.py computes this hash, too, and compares it with that in the page.
const sources = createHash("sha256");
const names = [...readdirSync("page").map((name) => `page/${name}`), "build.mjs", "package.json", "package-lock.json"];
for (const name of names.sort()) {
  const content = readFileSync(name);
  sources.update(`${name} ${content.length}\n`).update(content);
}

const bundle = async (entry) => {
  const options = { entryPoints: [entry], bundle: true, minify: true, write: false, charset: "utf8", target: "es2022",
    format: "iife", legalComments: "none" };
  return (await build(options)).outputFiles[0].text.trim();
};
const script = (await bundle("page/main.js")).replaceAll("</script", "<\\/script").replaceAll("<!--", "<\\!--");
const style = await bundle("page/style.css");
const hash = createHash("sha256").update(script).digest("base64");
const parts = { HASH: `sha256-${hash}`, STYLE: style, SCRIPT: script };
const template = readFileSync("page/index.html", "utf8");
const page = template.replace(/@(HASH|STYLE|SCRIPT)@/g, (_, name) => parts[name]);
const whole = page.replace("<html lang", () => `<!--\nBuilt by tools/report/build.sh from sources with the SHA-256 ${sources.digest("hex")}.\n${notice}-->\n<html lang`);
if (whole.length > MOST_BYTES) throw new Error(`the page has ${whole.length} characters, more than ${MOST_BYTES}`);
writeFileSync("../../assets/report/page.html", whole);
writeFileSync("../../assets/report/NOTICE", notice);
console.log(`assets/report/page.html: ${whole.length} characters`);
