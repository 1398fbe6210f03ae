import { createHash } from "node:crypto";
import { defineConfig, type Plugin } from "vite";

const sha256 = (text: string) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

/**
 * Puts script and style into the page and allows only these two: the policy contains their hashes and nothing else, so that
 * a report can neither send requests nor run a script from a run's data.
 */
function oneFile(): Plugin {
  return {
    name: "tardy-one-file",
    enforce: "post",
    generateBundle(_, bundle) {
      let script = "";
      let style = "";
      for (const [name, file] of Object.entries(bundle)) {
        if (name.endsWith(".html")) continue;
        if (file.type === "chunk") script += file.code.trim();
        else if (name.endsWith(".css")) style += String(file.source).trim();
        else throw new Error(`${name} cannot be put into the page`);
        delete bundle[name];
      }
      if (/<\/script|<!--/i.test(script) || /<\/style/i.test(style)) throw new Error("script or style would end its element");
      const policy = `default-src 'none'; script-src ${sha256(script)}; style-src ${sha256(style)}; base-uri 'none'; form-action 'none'`;
      for (const file of Object.values(bundle)) {
        if (file.type !== "asset" || !file.fileName.endsWith(".html")) continue;
        const element = /<script type="module"[^>]*><\/script>/;
        const page = String(file.source).replace(/\s*<link[^>]*rel="(?:stylesheet|modulepreload)"[^>]*>/g, "");
        if (!element.test(page)) throw new Error(`${file.fileName} has no place for the script`);
        file.source = page
          .replace(element, () => `<script type="module">${script}</script>\n<style>${style}</style>`)
          .replace(/<meta charset="utf-8">/, (charset) => `${charset}\n<meta http-equiv="Content-Security-Policy" content="${policy}">`);
      }
    },
  };
}

export default defineConfig({
  build: {
    target: "es2022",
    // Older targets would compile light-dark() to something that the scheme button cannot control.
    cssTarget: ["chrome123", "firefox120", "safari17.5"],
    modulePreload: false,
    cssCodeSplit: false,
    assetsInlineLimit: 0,
    rolldownOptions: { input: "report.html" },
  },
  plugins: [oneFile()],
});
