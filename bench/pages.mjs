#!/usr/bin/env node
/**
 * Times the pages of `tardy lab serve` over an index: the answer of the server, and until Chromium has drawn it. Asserts nothing.
 *
 * `bench/pages.mjs DIRECTORY`, with the index that `make bench-lab` leaves.
 */
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { Chromium } from "../ui/tests/browser/chromium.mjs";

const rounds = 7;
const directory = process.argv[2] ?? "target/bench-lab";
const server = spawn(process.env.TARDY ?? "dist/bin/tardy", ["lab", "serve", directory, "--listen", "127.0.0.1:0"], { stdio: ["ignore", "ignore", "pipe"] });

async function address() {
  for await (const line of createInterface({ input: server.stderr })) {
    const found = line.match(/http:\/\/[^/]+/);
    if (found) return found[0];
  }
  throw new Error("tardy lab serve ended without an address");
}

const median = (times) => times.sort((a, b) => a - b)[times.length >> 1];

async function timed(work) {
  const times = [];
  for (let round = 0; round < rounds; round++) {
    const start = performance.now();
    await work();
    times.push(performance.now() - start);
  }
  return median(times);
}

/** Until the page is loaded, and its pictures are drawn. */
async function drawn(browser, page, url) {
  const loaded = browser.event("Page.loadEventFired", page.sessionId);
  await page.send("Page.navigate", { url });
  await loaded;
  await page.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
}

const at = await address();
const browser = new Chromium();
const page = await browser.open("about:blank");
const runs = (await (await fetch(`${at}/api/v1/fleet`)).json()).rows;
console.log(`${runs.length} rows of the fleet, ${rounds} rounds, medians`);
console.log("page                       kB  server ms  drawn ms");
for (const path of ["/", "/boards/board3", "/culprits", "/live", "/queue"]) {
  let bytes = 0;
  const server_ms = await timed(async () => {
    const answer = await fetch(at + path, { headers: { accept: "text/html" } });
    if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
    bytes = (await answer.arrayBuffer()).byteLength;
  });
  const drawn_ms = await timed(() => drawn(browser, page, at + path));
  console.log(`${path.padEnd(20)} ${(bytes / 1000).toFixed(0).padStart(8)} ${server_ms.toFixed(0).padStart(10)} ${drawn_ms.toFixed(0).padStart(9)}`);
}
const peak = readFileSync(`/proc/${server.pid}/status`, "utf8").match(/VmHWM:\s+(\d+) kB/)[1];
console.log(`the server's memory at its peak: ${(peak / 1000).toFixed(0)} MB`);
await browser.close();
server.kill("SIGINT");
