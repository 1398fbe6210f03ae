import { defineConfig } from "vite";

/** The script and the styles of `tardy lab serve`: two files that its pages request from the server itself. */
export default defineConfig({
  build: {
    target: "es2022",
    cssTarget: ["chrome123", "firefox120", "safari17.5"],
    modulePreload: false,
    cssCodeSplit: false,
    assetsInlineLimit: 0,
    // `dist` contains the report's page as well.
    emptyOutDir: false,
    rolldownOptions: {
      input: { lab: "src/lab/main.ts" },
      output: { entryFileNames: "[name].js", assetFileNames: "lab[extname]", codeSplitting: false },
    },
  },
});
