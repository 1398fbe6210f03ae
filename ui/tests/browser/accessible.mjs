/** What axe finds in a page: the rules of WCAG 2.2, levels A and AA. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const source = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const grave = ["serious", "critical"];

/** What keeps a reader out of a page, each with up to three places. */
export async function barriers(page) {
  await page.run(`if (!window.axe) { ${source} } undefined`);
  const found = await page.run(`axe.run(document, { resultTypes: ["violations"] }).then(({ violations }) => violations
    .map(({ id, impact, nodes }) => ({ id, impact, at: nodes.slice(0, 3).map(({ target, failureSummary }) => target.join(" ") + ": " + failureSummary) })))`);
  return found.filter(({ impact }) => grave.includes(impact));
}
