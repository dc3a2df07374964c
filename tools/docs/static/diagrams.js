// Draws the diagrams (pre.mermaid) of a page, in the colours of the page's theme, again when that changes.
(function () {
  const library = new URL("mermaid/mermaid.min.js", document.currentScript.src).href;
  const dark = () => {
    const theme = document.body.dataset.theme;
    if (theme === "dark" || theme === "light") return theme === "dark";
    return window.matchMedia("(prefers-color-scheme: dark)").matches;
  };
  document.addEventListener("DOMContentLoaded", () => {
    const diagrams = [...document.querySelectorAll("pre.mermaid")];
    if (diagrams.length === 0) return;
    const texts = diagrams.map((diagram) => diagram.textContent);
    let drawn;
    const draw = async () => {
      if (drawn === dark()) return;
      drawn = dark();
      window.mermaid.initialize({ startOnLoad: false, theme: drawn ? "dark" : "neutral", securityLevel: "strict" });
      diagrams.forEach((diagram, i) => {
        diagram.removeAttribute("data-processed");
        diagram.textContent = texts[i];
      });
      await window.mermaid.run({ nodes: diagrams });
    };
    const script = document.createElement("script");
    script.src = library;
    script.onload = () => {
      draw();
      new MutationObserver(draw).observe(document.body, { attributeFilter: ["data-theme"] });
      window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
    };
    document.head.append(script);
  });
})();
