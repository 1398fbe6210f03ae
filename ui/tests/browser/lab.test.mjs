/** The pages of `tardy lab serve` in Chromium, over a year of made-up runs: phone and desktop, light and dark, with and without a script. */
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { barriers } from "./accessible.mjs";
import { Chromium } from "./chromium.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "../../..");
/** Where to leave pictures for people to look at, if anywhere. */
const screenshots = process.env.TARDY_SCREENSHOTS;
const patience = 240_000;
let browser, year, empty, guarded;

/** The program that serves a made-up year, with the features of `make test-rust`: built for both, nothing is compiled twice. */
function program() {
  if (process.env.TARDY_SYNTHETIC_LAB) return process.env.TARDY_SYNTHETIC_LAB;
  const words = ["build", "--quiet", "--workspace", "--all-features", "--example", "synthetic_lab", "--message-format", "json"];
  const built = execFileSync("cargo", words, { cwd: root, stdio: ["ignore", "pipe", "inherit"], maxBuffer: 1 << 28, encoding: "utf8" });
  const artifacts = built.split("\n").filter((line) => line.startsWith("{")).map((line) => JSON.parse(line));
  return artifacts.find(({ target, executable }) => target?.name === "synthetic_lab" && executable).executable;
}

/** A lab with a run of each load every `days`; none for 0. */
async function serve(path, days, env = {}) {
  const directory = mkdtempSync(join(tmpdir(), "tardy-lab-"));
  const server = spawn(path, [directory, String(days)], { stdio: ["ignore", "ignore", "pipe"], env: { ...process.env, ...env } });
  const lab = { directory, server, token: undefined, address: undefined };
  for await (const line of createInterface({ input: server.stderr })) {
    if (line.startsWith("token ")) lab.token = line.slice(6);
    if (line.startsWith("http://")) {
      lab.address = line.slice(0, -1);
      return lab;
    }
  }
  throw new Error("the lab ended without an address");
}

async function until(condition, what) {
  for (const start = Date.now(); Date.now() - start < patience; ) {
    if (await condition()) return;
    await new Promise((done) => setTimeout(done, 200));
  }
  throw new Error(`${what} did not come`);
}

const fetched = async (path) => (await fetch(year.address + path, { headers: { accept: "text/html" } })).text();
const open = (path, options) => browser.open(year.address + path, options);

async function keep(page, name) {
  if (!screenshots) return;
  mkdirSync(screenshots, { recursive: true });
  writeFileSync(join(screenshots, `lab-${name}.png`), await page.screenshot());
}

/** Ends what a page follows: a browser has six connections to a server, and a run in progress takes one. */
const leave = (page) => page.send("Page.navigate", { url: "about:blank" });

async function run() {
  const runs = await (await fetch(`${year.address}/api/v1/runs?count=1000`)).json();
  return runs.find((run) => run.board === "imx8mp-evk" && run.spikes > 0);
}

/** The page of the experiment whose B is worse. */
async function worseExperiment() {
  const [, address] = (await fetched("/experiments")).match(/href="(\/experiments\/[0-9a-f]+)"><bdi>kernels\/6\.6-6\.12/);
  return address;
}

/** The page of the run in progress. */
async function inProgress() {
  let runs = [];
  await until(async () => (runs = await (await fetch(`${year.address}/api/v1/live`)).json()).length > 0, "the run in progress");
  return `/live/${runs[0].run}`;
}

before(async () => {
  const path = program();
  [year, empty, guarded] = await Promise.all([serve(path, 3, { TARDY_LAB_LIVE: "1" }), serve(path, 0), serve(path, 0, { TARDY_LAB_TOKEN: "1" })]);
  browser = new Chromium();
  await until(async () => !(await fetched("/")).includes("http-equiv=\"refresh\""), "the index of the year");
  for (const board of ["pi-4", "beagleplay", "imx8mp-evk", "nuc-13"]) {
    await until(async () => !(await fetched(`/boards/${board}`)).includes("http-equiv=\"refresh\""), `changes of ${board}`);
  }
});

after(async () => {
  await browser?.close();
  for (const lab of [year, empty, guarded]) {
    lab?.server.kill("SIGINT");
    if (lab) rmSync(lab.directory, { recursive: true, force: true });
  }
});

const places = async () => ({ live: await inProgress(), runs: "/live", today: "/", kernels: "/?by=kernel&days=7", fleet: "/fleet", board: "/boards/pi-4", second: "/boards/beagleplay", culprits: "/culprits", experiments: "/experiments", experiment: await worseExperiment(), queue: "/queue", error: "/boards/nowhere", run: `/runs/${(await run()).digest}` });

test("every page opens without an error and requests nothing from elsewhere", async () => {
  for (const [name, path] of Object.entries(await places())) {
    const page = await open(path);
    const errors = page.errors.filter((error) => name !== "error" || !/404/.test(error));
    assert.deepEqual(errors, [], name);
    assert.ok(page.requests.every((request) => request.startsWith(year.address) || request.startsWith("data:")), `${name}: ${page.requests}`);
    await keep(page, name);
    await leave(page);
  }
});

for (const dark of [false, true]) {
  for (const width of [390, 1280]) {
    test(`nothing sticks out and axe finds nothing serious at ${width} px, ${dark ? "dark" : "light"}`, async () => {
      const barred = [];
      for (const [name, path] of Object.entries(await places())) {
        const page = await open(path, { width, height: 900, dark });
        assert.ok((await page.run("document.documentElement.scrollWidth")) <= width, `${name} is ${await page.run("document.documentElement.scrollWidth")} px wide`);
        for (const { id, at } of await barriers(page)) barred.push(`${name}: ${id}: ${at.join("; ")}`);
        await keep(page, `${name}-${width}-${dark ? "dark" : "light"}`);
        await leave(page);
      }
      assert.deepEqual(barred, []);
    });
  }
}

test("the first page shows 30 boards on one screen, and every number without a script", async () => {
  for (const dark of [false, true]) {
    const page = await open("/", { width: 1280, height: 900, dark });
    const line = await page.run("Math.max(...[...document.querySelectorAll('.matrix tbody tr')].map((row) => row.getBoundingClientRect().height))");
    const head = await page.run("document.querySelector('.matrix thead').getBoundingClientRect().height");
    assert.ok(line > 0 && head + 30 * (line + 1) <= 900, `a line of ${line} px below a head of ${head} px`);
  }
  const page = await open("/", { script: false });
  const { root } = await page.send("DOM.getDocument", { depth: 0 });
  const { outerHTML } = await page.send("DOM.getOuterHTML", { nodeId: root.nodeId });
  for (const text of ["Since yesterday", "imx8mp-evk", "irqs-off", "silent"]) assert.ok(outerHTML.includes(text), text);
});

test("the fleet is filtered by words and by state, and the link keeps the filter", async () => {
  const page = await open("/fleet");
  const visible = () => page.run("[...document.querySelectorAll('tbody.board')].filter((board) => !board.hidden).map((board) => board.dataset.board)");
  const all = await visible();
  await page.run("(() => { const field = document.querySelector('.filters input'); field.value = 'pi-4 6.12'; field.dispatchEvent(new Event('input')); })()");
  assert.deepEqual(await visible(), ["pi-4"]);
  assert.match(await page.run("location.search"), /show=pi-4/);
  const again = await open(await page.run("location.pathname + location.search"));
  assert.deepEqual(await again.run("[...document.querySelectorAll('tbody.board')].filter((board) => !board.hidden).length"), 1);
  const bad = await open("/fleet?bad=1");
  const shown = await bad.run("[...document.querySelectorAll('tbody.board')].filter((board) => !board.hidden).map((board) => board.dataset.state)");
  assert.ok(shown.length > 0 && shown.length < all.length && shown.every((state) => state === "bad"));
});

test("the columns of a board are read by pointer and by keys", async () => {
  const page = await open("/boards/pi-4");
  const said = () => page.run("document.querySelector('[data-picture=heat] .readout').textContent");
  const hint = await said();
  await page.run("document.querySelectorAll('.part')[20].dispatchEvent(new PointerEvent('pointerenter'))");
  assert.match(await said(), /From: \d{4}-\d\d-\d\d.* Samples: .* Largest: /);
  await page.run("document.querySelector('[data-picture=heat] .plot').focus()");
  const before = await said();
  await page.press("ArrowRight");
  assert.notEqual(await said(), before);
  assert.equal(await page.run("document.querySelectorAll('.part.lit').length"), 1);
  await page.run("document.activeElement.blur()");
  assert.equal(await said(), hint);
});

test("planted changes stand on the axis of time with the kernel that brought them", async () => {
  for (const [board, kernel] of [["pi-4", "6.12.8-rt5"], ["beagleplay", "6.14.0-rc3"]]) {
    const page = await open(`/boards/${board}`);
    assert.ok((await page.run("document.querySelectorAll('[data-picture=heat] .change-line').length")) >= 1, board);
    assert.ok(await page.run(`[...document.querySelectorAll('.change .differences ins')].some((change) => change.textContent === '${kernel}')`), board);
    const link = await page.run("document.querySelector('[data-picture=heat] a[href^=\"#change\"]').getAttribute('href')");
    assert.ok(await page.run(`document.querySelector('${link}') !== null`));
  }
});

test("a drift over a year is seen on the page of its board, and no kernel is blamed for it", async () => {
  const page = await open("/boards/nuc-13");
  assert.ok((await page.run("document.querySelectorAll('[data-picture=heat] .change-line').length")) >= 1);
  assert.ok(!(await page.run("[...document.querySelectorAll('.change .differences ins')].some((change) => /^6[.]/.test(change.textContent))")));
  const low = (row) => page.run(`parseFloat(document.querySelector('tr[data-part="${row}"]').cells[3].textContent)`);
  const last = await page.run("[...document.querySelectorAll('tr[data-part]')].filter((row) => row.cells[1].textContent !== '0').at(-1).dataset.part");
  assert.ok((await low(last)) > 1.25 * (await low(0)), `${await low(0)} µs became ${await low(last)} µs`);
  await keep(page, "drift-1280");
});

test("an experiment leads with the worst figure that is proven, and with the kernels of its rounds", async () => {
  const list = await open("/experiments", { width: 390, height: 900 });
  assert.deepEqual(await list.run("[...document.querySelectorAll('.experiments .state')].map((state) => state.textContent)"), ["B is worse", "B is better", "no difference shown", "no difference shown"]);
  assert.equal(await list.run("document.querySelectorAll('main img, main script').length"), 0);
  const page = await open(await worseExperiment(), { width: 390, height: 900 });
  assert.deepEqual(page.errors, []);
  assert.match(await page.run("document.querySelector('.headline').textContent"), /^B is worse.*p99/);
  assert.deepEqual(await page.run("(({ cells }) => [cells[0].textContent, cells[6].textContent])(document.querySelector('tr.proven'))"), ["p99", "worse"]);
  assert.deepEqual(await page.run("[...document.querySelectorAll('.sides tr')].at(-1).textContent.match(/6[.]\\d+[.]\\d+-rt\\d+/g)"), ["6.6.30-rt30", "6.12.8-rt5"]);
  assert.ok((await page.run("document.documentElement.scrollWidth")) <= 390);
  assert.deepEqual(await barriers(page), []);
  const compared = await open(await page.run("document.querySelector('a[href^=\"/compare\"]').getAttribute('href')"));
  assert.match(await compared.run("document.querySelector('main').textContent"), /6.6.30-rt30.*6.12.8-rt5/s);
});

test("an experiment is readable without a script", async () => {
  const page = await open(await worseExperiment(), { script: false });
  const { root } = await page.send("DOM.getDocument", { depth: 0 });
  const { outerHTML } = await page.send("DOM.getOuterHTML", { nodeId: root.nodeId });
  for (const number of ["21.0 µs", "irqs-off", "95 %", "12"]) assert.ok(outerHTML.includes(number), number);
  assert.equal(outerHTML.match(/class="interval"/g).length, 4);
  await keep(page, "experiment-without-script");
});

test("two runs are compared from a change", async () => {
  const page = await open("/boards/pi-4");
  const address = await page.run("document.querySelector('.change a[href^=\"/compare\"]').getAttribute('href')");
  const compared = await open(address, { width: 390, height: 900 });
  assert.deepEqual(compared.errors, []);
  assert.match(await compared.run("document.querySelector('main').textContent"), /One run each is not a verdict/);
  assert.ok((await compared.run("document.documentElement.scrollWidth")) <= 390);
  assert.deepEqual(await barriers(compared), []);
  await keep(compared, "compare-390-light");
});

test("a run leads back to its board", async () => {
  const page = await open(`/runs/${(await run()).digest}`);
  assert.deepEqual(await page.run("[...document.querySelectorAll('.brand a')].map((link) => link.getAttribute('href'))"), ["/fleet", "/boards/imx8mp-evk"]);
  assert.equal(await page.run("document.querySelectorAll('[data-picture=distribution] path[data-series]').length"), 1, "its script runs");
});

test("without a script every number is there", async () => {
  const page = await open("/boards/pi-4", { script: false });
  const { root } = await page.send("DOM.getDocument", { depth: 0 });
  const { outerHTML } = await page.send("DOM.getOuterHTML", { nodeId: root.nodeId });
  assert.match(outerHTML, /class="heat-9"/);
  assert.match(outerHTML, /class="change"/);
  assert.ok(outerHTML.match(/<tr data-part/g).length > 50);
  await keep(page, "board-without-script");
});

test("names that a target chose neither run nor pile up", async () => {
  const first = await open("/", { width: 390, height: 900 });
  assert.doesNotMatch(await first.run("document.title"), /owned/);
  assert.equal(await first.run("document.querySelectorAll('img, iframe, [onerror]').length"), 0);
  assert.ok((await first.run("Math.max(...[...document.querySelectorAll('.matrix tbody tr')].map((row) => row.getBoundingClientRect().height))")) < 60);
  const page = await open("/fleet", { width: 390, height: 900 });
  assert.doesNotMatch(await page.run("document.title"), /owned/);
  assert.equal(await page.run("document.querySelectorAll('img, iframe, [onerror]').length"), 0);
  assert.ok(await page.run("[...document.querySelectorAll('.board-name')].some((name) => name.textContent.includes('<img src=x'))"), "it is there to be read");
  assert.ok((await page.run("Math.max(...[...document.querySelectorAll('.board-head')].map((head) => head.getBoundingClientRect().height))")) < 400);
});

test("an empty lab says how to fill it", async () => {
  for (const width of [390, 1280]) {
    const page = await browser.open(`${empty.address}/`, { width, dark: width === 390 });
    assert.deepEqual(page.errors, []);
    assert.match(await page.run("document.querySelector('main').textContent"), /tardy run --duration 30s/);
    assert.deepEqual(await barriers(page), []);
    assert.ok((await page.run("document.documentElement.scrollWidth")) <= width);
    await keep(page, `empty-${width}`);
  }
});

test("a lab with tokens asks for one, and shows its pages after it", async () => {
  const page = await browser.open(`${guarded.address}/culprits`, { width: 390, height: 900 });
  assert.equal(await page.run("document.querySelector('input[name=then]').value"), "/culprits");
  assert.deepEqual(await barriers(page), []);
  await keep(page, "login-390");
  const loaded = browser.event("Page.loadEventFired", page.sessionId);
  await page.run(`(() => { document.querySelector('#token').value = '${guarded.token}'; document.querySelector('form.login button').click(); })()`);
  await loaded;
  await until(() => page.run("document.title.startsWith('Culprits')"), "the page behind the login");
  assert.match(await page.run("document.querySelector('.identity').textContent"), /browser \(read\)/);
  assert.equal(await page.run("document.cookie"), "", "scripts cannot read the token");
});

test("a button beside a change records what it is, without a script of ours", async () => {
  const page = await open("/boards/pi-4");
  const word = "document.querySelector('.change .triage')?.dataset.triage";
  await until(async () => (await page.run(word)) === "new", "a change");
  const name = await page.run("document.querySelector('.decision button[value=known]').getAttribute('aria-label')");
  assert.match(name, /^Mark the change of .+ as known$/);
  const loaded = browser.event("Page.loadEventFired", page.sessionId);
  await page.run("document.querySelector('.decision button[value=known]').click()");
  await loaded;
  await until(async () => (await page.run(word)) === "known", "the decision");
  assert.match(await page.run("location.href"), /\/boards\/pi-4\?scenario=[0-9a-f]+#changes$/);
  const log = await (await fetch(`${year.address}/api/v1/admin/actions`)).json();
  assert.deepEqual(log.filter(({ what }) => what === "triage").map(({ who, detail }) => [who, detail]), [["anyone on this machine", "known"]]);
  await keep(page, "decided-1280");
});

test("a run in progress grows on its page as events arrive", async () => {
  const page = await open(await inProgress(), { width: 390, height: 900 });
  const samples = () => page.run("Number(document.querySelector('.live-figures dd').textContent.replace(/[^0-9]/g, ''))");
  const before = await samples();
  assert.ok(before >= 40_000);
  await until(async () => (await samples()) > before, "the next state");
  assert.deepEqual(page.errors, []);
  assert.equal(page.requests.filter((request) => request.includes("/events")).length, 1, "the page was not loaded again");
  assert.match(await page.run("document.querySelector('#live').textContent"), /180/);
  await keep(page, "live-390-events");
  await leave(page);
});

test("tabs that nobody sees leave the connections to the others and follow again when they are seen", async () => {
  const path = await inProgress();
  const samples = (page) => page.run("Number(document.querySelector('.live-figures dd').textContent.replace(/[^0-9]/g, ''))");
  const see = (page, hidden) => page.run(`(() => { Object.defineProperty(document, "hidden", { value: ${hidden}, configurable: true }); document.dispatchEvent(new Event("visibilitychange")); })()`);
  const pages = [];
  // One more than the connections that a browser has to a server.
  for (let count = 0; count < 7; count += 1) {
    const page = await open(path);
    await see(page, true);
    pages.push(page);
  }
  const [first, last] = [pages[0], pages.at(-1)];
  const before = await samples(first);
  await see(last, false);
  await until(async () => (await samples(last)) > before, "the state for the tab that is seen");
  assert.equal(await samples(first), before, "a hidden tab follows nothing");
  await see(last, true);
  await see(first, false);
  await until(async () => (await samples(first)) > before, "the state for the tab that is seen again");
  for (const page of pages) await leave(page);
});

test("a page that is still being made renews its content, keeps the reader's place and has no barrier", async () => {
  const page = await open("/boards/pi-4");
  // As the server sends it while the index looks for changes: marked before the page's script runs.
  const source = `document.addEventListener("readystatechange", () => {
    if (document.readyState !== "interactive") return;
    document.querySelector("#content").setAttribute("data-again", "");
    document.querySelector("#changes").insertAdjacentHTML("afterend", '<p class="pending" role="status">Looking for changes …</p>');
  })`;
  await page.send("Page.addScriptToEvaluateOnNewDocument", { source });
  const loaded = browser.event("Page.loadEventFired", page.sessionId);
  await page.send("Page.reload");
  await loaded;
  await until(() => page.run("document.querySelector('#content[data-again] .pending') !== null && document.readyState === 'complete'"), "the page that is being made");
  assert.deepEqual(await barriers(page), []);
  await until(() => page.run("document.querySelector('.pending') === null && !document.querySelector('#content').hasAttribute('data-again')"), "its content");
  await page.run("document.querySelector('[data-picture=heat] .plot').focus()");
  await page.press("ArrowRight");
  assert.equal(await page.run("document.querySelectorAll('.part.lit').length"), 1, "what a script adds is there again");
});

test("a plan that waits is on the page of the queue until its button cancels it", async () => {
  const body = JSON.stringify({ boards: ["pi-4"], plan_name: "smoke", plan: "x" });
  const [job] = await (await fetch(`${year.address}/api/v1/jobs`, { method: "POST", headers: { "content-type": "application/json" }, body })).json();
  const page = await open("/queue", { width: 390, height: 900 });
  const state = `document.querySelector('#job-${job.job} .state').textContent`;
  assert.equal(await page.run(state), "queued");
  assert.ok((await page.run("document.documentElement.scrollWidth")) <= 390);
  assert.deepEqual(await barriers(page), []);
  await keep(page, "queue-390-waiting");
  const loaded = browser.event("Page.loadEventFired", page.sessionId);
  await page.run(`document.querySelector('#job-${job.job} button').click()`);
  await loaded;
  await until(async () => (await page.run(state)) === "cancelled", "the end of the job");
});

test("headings descend in steps, tables and pictures are named, ids are unique", async () => {
  for (const path of ["/", "/?by=kernel", "/fleet", "/boards/pi-4", "/culprits", "/experiments", await worseExperiment(), "/queue"]) {
    const page = await open(path);
    const levels = await page.run("[...document.querySelectorAll('h1, h2, h3, h4')].map((heading) => Number(heading.tagName[1]))");
    assert.equal(levels.filter((level) => level === 1).length, 1, path);
    levels.forEach((level, index) => assert.ok(index === 0 || level <= levels[index - 1] + 1, `${path}: heading ${index} jumps to level ${level}`));
    assert.equal(await page.run("[...document.querySelectorAll('table')].filter((table) => !table.caption).length"), 0, path);
    assert.equal(await page.run("[...document.querySelectorAll('svg[role=img]')].filter((picture) => !picture.getAttribute('aria-label')).length"), 0, path);
    const ids = await page.run("[...document.querySelectorAll('[id]')].map((element) => element.id)");
    assert.equal(new Set(ids).size, ids.length, path);
    assert.equal(await page.run("[...document.querySelectorAll('input:not([type=hidden]), button, select')].filter((control) => !(control.labels?.length || control.getAttribute('aria-label') || control.textContent)).length"), 0, path);
  }
});
