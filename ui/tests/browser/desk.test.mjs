/** The page of `tardy desk` in Chromium, over a measurement of this machine with a planted program that takes a CPU. */
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { barriers } from "./accessible.mjs";
import { Chromium } from "./chromium.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "../../..");
const screenshots = process.env.TARDY_SCREENSHOTS;
/** A user looks for the cause after a minute. */
const foundWithin = 60_000;
const setting = "/proc/sys/vm/compact_unevictable_allowed";
/** The measurement takes root and the trace of the kernel. */
const cannot = process.getuid() !== 0 ? "it takes root" : !existsSync("/sys/kernel/tracing/events") ? "the kernel has no trace" : false;
let browser, desk, hog, place, links, lines;

/** The programs, with the features of `make test-rust`: nothing is compiled twice. */
function program() {
  if (process.env.TARDY_PROGRAM) return process.env.TARDY_PROGRAM;
  const words = ["build", "--quiet", "--workspace", "--all-features", "--bins", "--message-format", "json"];
  const built = execFileSync("cargo", words, { cwd: root, stdio: ["ignore", "pipe", "inherit"], maxBuffer: 1 << 28, encoding: "utf8" });
  const artifacts = built.split("\n").filter((line) => line.startsWith("{")).map((line) => JSON.parse(line));
  return artifacts.find(({ target, executable }) => target?.name === "tardy" && executable).executable;
}

async function until(condition, what, patience = foundWithin) {
  for (const start = Date.now(); Date.now() - start < patience; ) {
    const found = await condition();
    if (found) return found;
    await new Promise((done) => setTimeout(done, 250));
  }
  throw new Error(`${what} did not come`);
}

/** A new page of the desk; its browser was let in by the first link. */
const open = (options) => browser.open(`${new URL(links[0]).origin}/desk`, options);
const first = (page) => page.run("(({ who, culprit } = {}) => [who, culprit])(document.querySelector('[data-culprit]')?.dataset)");

async function keep(page, name) {
  if (!screenshots) return;
  mkdirSync(screenshots, { recursive: true });
  writeFileSync(join(screenshots, `desk-${name}.png`), await page.screenshot());
}

before(async () => {
  if (cannot) return;
  place = mkdtempSync(join(tmpdir(), "tardy-desk-"));
  execFileSync("cc", ["-O2", "-o", join(place, "hog"), join(root, "crates/tardy/tests/programs/hog.c")]);
  desk = spawn(program(), ["desk", "--directory", join(place, "desk")], { stdio: ["ignore", "ignore", "pipe"], env: { ...process.env, HOME: place } });
  [links, lines] = [[], []];
  createInterface({ input: desk.stderr }).on("line", (line) => {
    lines.push(line);
    links.push(...(line.match(/http:\/\/\S+/) ?? []));
  });
  await until(() => links.length > 0, "a link");
  browser = new Chromium();
});

after(async () => {
  hog?.kill("SIGKILL");
  await browser?.close();
  if (desk && desk.exitCode === null) {
    const ended = new Promise((done) => desk.once("exit", done));
    desk.kill("SIGINT");
    await ended;
  }
  if (place) rmSync(place, { recursive: true, force: true });
});

test("a link opens the page once", { skip: cannot }, async () => {
  // It opens the page by itself: what the tool awaits in it meanwhile is lost.
  const page = await browser.open(links[0], { script: false });
  const path = () => page.run("location.pathname").catch(() => "on its way");
  await until(async () => (await path()) === "/desk", "the page behind the link");
  assert.deepEqual(page.errors, []);
  const again = await browser.open(links[0], { script: false });
  assert.equal(await again.run("document.querySelector('code').textContent"), "server.not-entered");
  await until(() => links.length > 1, "the next link");
});

test("a planted program comes first within a minute, while the page is open", { skip: cannot }, async () => {
  const page = await open();
  hog = spawn(join(place, "hog"), ["0", "20000", "300000"], { stdio: "ignore" });
  await until(async () => (await first(page)).join() === "hog,other-rt-task", "the hog");
  await until(async () => (await page.run("document.querySelector('[data-use=audio-256]').dataset.standing")) === "too-late", "the verdict");
  assert.match(await page.run("document.querySelector('#desk-state').textContent"), /too late for [1-8] of 8 uses/);
  assert.deepEqual(page.errors, []);
  assert.ok(page.requests.every((request) => request.startsWith(new URL(links[0]).origin) || request.startsWith("data:")), `${page.requests}`);
  const ranking = await page.run(
    "[...document.querySelectorAll('.desk-ranking tbody tr')].map((row) => ({ ...row.dataset, link: row.querySelector('a')?.getAttribute('href'), text: row.textContent }))",
  );
  assert.ok(ranking.length > 0 && ranking.every(({ who, kind, link }) => who && kind && /^\/desk\/spikes\/\d+$/.test(link)), JSON.stringify(ranking));
  assert.ok(ranking.every(({ kind }) => !kind.startsWith("host")), "the host of a virtual machine stands beside the table");
  const [planted] = ranking.filter(({ who }) => who === "hog");
  assert.match(planted.text, /other-rt-task/);
  const longest = await browser.open(new URL(planted.link, links[0]).href);
  assert.match(await longest.run("document.body.textContent"), /hog/, "the account of its longest delay names it");
  const account = await page.run("document.querySelector('[data-spike] a').href");
  const report = await browser.open(account);
  assert.ok(await report.run("document.querySelector('.ledger') !== null"), "the account has a ledger");
  assert.deepEqual(report.errors, []);
});

test("without a script the figures are there, and the browser loads them again", { skip: cannot }, async () => {
  const page = await open({ script: false });
  assert.ok((await first(page)).every(Boolean));
  assert.equal(await page.run("document.querySelectorAll('[data-use]').length"), 8);
  assert.ok(await page.run("document.querySelector('noscript meta[http-equiv=refresh], meta[http-equiv=refresh]') !== null"));
});

for (const dark of [false, true]) {
  for (const width of [390, 1280, 1920]) {
    test(`nothing sticks out and axe finds nothing serious at ${width} px, ${dark ? "dark" : "light"}`, { skip: cannot }, async () => {
      const page = await open({ width, height: 900, dark });
      assert.ok((await page.run("document.documentElement.scrollWidth")) <= width);
      assert.deepEqual(await barriers(page), []);
      await keep(page, `${width}-${dark ? "dark" : "light"}`);
    });
  }
}

test("a reader without a pointer reaches every link and button, and keeps the place when figures change", { skip: cannot }, async () => {
  const page = await open();
  const controls = await page.run("document.querySelectorAll('main :is(a, button, summary)').length");
  const visited = new Set();
  for (let at = 0; at < 3 * controls + 40; at++) {
    await page.press("Tab");
    visited.add(await page.run("(() => { const at = document.activeElement; return at.closest('main') && at.matches('a, button, summary') ? at.outerHTML : '' })()"));
  }
  assert.ok(await page.run("[...document.querySelectorAll('main :is(button, summary)')].every((one) => one.tabIndex >= 0)"));
  assert.ok(visited.size > 5, `${visited.size} controls were reached`);
  await page.run("document.querySelector('[data-spike] a').focus()");
  const samples = () => page.run("document.querySelector('#desk-live dd:nth-of-type(1)').textContent + document.querySelectorAll('#desk-live dl dd')[1].textContent");
  const before = await samples();
  await until(async () => (await samples()) !== before, "newer figures");
  assert.ok(await page.run("document.activeElement.closest('[data-spike], [data-culprit]') !== null"), "the focus stays in the table");
});

test("a setting is changed and changed back by its buttons", { skip: cannot || (existsSync(setting) && readFileSync(setting, "utf8").trim() === "1" ? false : "the setting is good already") }, async () => {
  const page = await open();
  const value = () => readFileSync(setting, "utf8").trim();
  const button = (what) => `[...document.querySelectorAll('.findings li')].find((item) => item.textContent.includes(${JSON.stringify(setting)}))?.querySelector('form[action$="/${what}"] button')`;
  await until(async () => {
    if (await page.run(`${button("apply")} !== undefined`)) return true;
    await page.send("Page.reload");
    return false;
  }, "the finding");
  await page.run(`${button("apply")}.click()`);
  await until(() => value() === "0", "the change");
  await until(async () => page.run(`Boolean(${button("undo")})`).catch(() => false), "the button that undoes it");
  await page.run(`${button("undo")}.click()`);
  await until(() => value() === "1", "the value from before");
});

test("Ctrl-C ends it, and the machine is as it was", { skip: cannot }, async () => {
  const page = await open();
  const ended = new Promise((done) => desk.once("exit", (code) => done(code)));
  desk.kill("SIGINT");
  assert.equal(await ended, 0);
  await until(async () => page.run("!document.querySelector('#desk-ended').hidden"), "the end on the page");
  assert.match(await page.run("document.querySelector('#desk-ended').textContent"), /ended; the figures are from \d\d:\d\d/);
  assert.equal(await page.run("document.querySelector('#desk-state').textContent"), "The desk has ended");
  const left = execFileSync("find", [join(place, "desk"), "-name", "manifest.json"], { encoding: "utf8" });
  assert.equal(left, "", "nobody kept the measurement");
});
