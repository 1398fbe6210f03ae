/** Rendered reports of invented runs in a headless Chromium. Needs the built page, cargo and Chromium. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { Chromium } from "./chromium.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "../../..");
const reports = process.env.TARDY_REPORTS ?? mkdtempSync(join(tmpdir(), "tardy-reports-"));
/** Where to leave pictures for people to look at, if anywhere. */
const screenshots = process.env.TARDY_SCREENSHOTS;
const shapes = ["two-cpus", "eight-cpus", "no-spikes", "forty-spikes", "invalid", "hostile", "empty"];
let browser;

const file = (shape) => join(reports, `${shape}.html`);
const open = (shape, options) => browser.open(pathToFileURL(file(shape)).href, options);

async function keep(page, name) {
  if (!screenshots) return;
  mkdirSync(screenshots, { recursive: true });
  writeFileSync(join(screenshots, `${name}.png`), await page.screenshot());
}

/** The program that renders an invented run, with the features of `make test-rust`: built for both, nothing is compiled twice. */
function renderer() {
  const words = ["build", "--quiet", "--workspace", "--all-features", "--example", "report_sample", "--message-format", "json"];
  const built = execFileSync("cargo", words, { cwd: root, stdio: ["ignore", "pipe", "inherit"], maxBuffer: 1 << 28, encoding: "utf8" });
  const artifacts = built.split("\n").filter((line) => line.startsWith("{")).map((line) => JSON.parse(line));
  return artifacts.find(({ target, executable }) => target?.name === "report_sample" && executable).executable;
}

before(() => {
  if (!process.env.TARDY_REPORTS) {
    const program = renderer();
    for (const shape of shapes) execFileSync(program, [shape, file(shape)], { cwd: root, stdio: "inherit" });
  }
  browser = new Chromium();
});

after(async () => {
  await browser?.close();
  if (!process.env.TARDY_REPORTS) rmSync(reports, { recursive: true, force: true });
});

for (const shape of shapes) {
  test(`${shape}: opens without error and asks for nothing but itself`, async () => {
    const page = await open(shape);
    await page.run("document.querySelectorAll('details').forEach((details) => { details.open = true })");
    await page.run("new Promise((done) => setTimeout(done, 300))");
    assert.deepEqual(page.errors, []);
    assert.deepEqual(page.requests, [pathToFileURL(file(shape)).href]);
    // What hostile names look like is their own affair; that they fetch nothing is shown above.
    if (shape !== "hostile") assert.equal(/https?:|\ssrc=|@import|url\((?!#)/.exec(readFileSync(file(shape), "utf8"))?.[0], undefined);
    await keep(page, shape);
  });
}

test("what a target says neither runs nor becomes an element", async () => {
  const page = await open("hostile");
  await page.run("document.querySelectorAll('details').forEach((details) => { details.open = true })");
  await page.run("new Promise((done) => setTimeout(done, 500))");
  assert.doesNotMatch(await page.run("document.title"), /^owned/);
  assert.equal(await page.run("document.querySelectorAll('img, iframe, object, embed, [onerror], [onload]').length"), 0);
  assert.equal(await page.run("document.scripts.length"), 2);
  // The hostile text is there to be read, in a table and in a picture.
  assert.ok(await page.run("[...document.querySelectorAll('.ledger th')].some((cell) => cell.textContent.includes('<img src=x'))"));
  assert.ok(await page.run("[...document.querySelectorAll('.stretch')].some((stretch) => stretch.getAttribute('aria-label').includes('<img src=x'))"));
});

test("even markup that got in could neither run nor ask for anything", async () => {
  const page = await open("two-cpus");
  await page.run("document.body.insertAdjacentHTML('beforeend', '<img src=\"picture.png\" onerror=\"document.title=1\"><p onclick=\"document.title=1\" id=trap>')");
  await page.run("document.body.append(Object.assign(document.createElement('script'), { textContent: 'document.title = 1' }))");
  await page.run("document.getElementById('trap').click(); new Promise((done) => setTimeout(done, 200))");
  assert.notEqual(await page.run("document.title"), "1");
  assert.ok(page.errors.length >= 3, "the policy refused picture, handler and script");
});

test("the button changes between light and dark", async () => {
  const page = await open("two-cpus", { dark: true });
  const paper = () => page.run("getComputedStyle(document.body).backgroundColor");
  const before = await paper();
  await page.run("document.querySelector('.scheme').click()");
  assert.notEqual(await paper(), before);
  await page.run("document.querySelector('.scheme').click()");
  assert.equal(await paper(), before);
});

test("the pictures show the run's own data", async () => {
  const page = await open("eight-cpus");
  const data = await page.run("JSON.parse(document.querySelector('#tardy-data').textContent)");
  assert.equal(await page.run("document.querySelectorAll('[data-picture=distribution] path[data-series]').length"), data.histograms.length);
  assert.equal(await page.run("document.querySelectorAll('[data-picture=time] path[data-series]').length"), 8);
  const spikes = data.summary.spikes.filter((spike) => spike.reason !== "control");
  assert.equal(await page.run("document.querySelectorAll('[data-picture=time] a.jump').length"), spikes.length);
  // Walking the histogram from left to right counts every wake-up of CPU 0 exactly once.
  const cycles = data.histograms[0].bars.reduce((sum, bar) => sum + bar.count, 0);
  const walked = await page.run(`(() => {
    const press = (key) => document.querySelector('[data-picture=distribution] .plot').dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
    let sum = 0, last = '';
    for (;;) {
      press('ArrowRight');
      const said = document.querySelector('[data-picture=distribution] .readout').textContent;
      if (said === last) return sum;
      last = said;
      sum += Number(/CPU 0: ([\\d\\u202f]+)/.exec(said)[1].replaceAll('\\u202f', ''));
    }
  })()`);
  assert.equal(walked, cycles);
  const worst = `[data-spike="${spikes[0].number}"]`;
  const lanes = await page.run(`[...document.querySelectorAll('${worst} .lane-label')].map((label) => label.textContent)`);
  assert.equal(lanes.length, 8);
  assert.equal(lanes[0], `CPU ${spikes[0].sample.cpu}`);
  for (const span of spikes[0].explanation.spans) {
    const ns = span.end_ns - span.start_ns;
    const shown = `${Math.floor(ns / 1000)}.${String(ns % 1000).padStart(3, "0")}`;
    assert.ok(await page.run(`[...document.querySelectorAll('${worst} .stretch')].some((stretch) => stretch.getAttribute('aria-label').includes('${shown}'))`), `${span.name} ${shown}`);
  }
});

test("the linear axis draws the same CPUs", async () => {
  const page = await open("two-cpus");
  await page.run("[...document.querySelectorAll('[data-picture] .choice button:last-child')].forEach((button) => button.click())");
  assert.equal(await page.run("document.querySelectorAll('[data-picture=distribution] path[data-series], [data-picture=time] path[data-series]').length"), 4);
  assert.ok(!(await page.run("[...document.querySelectorAll('path')].some((path) => /NaN|Infinity/.test(path.getAttribute('d')))")));
  await keep(page, "two-cpus-linear");
});

test("a timeline can be walked and zoomed with keys alone", async () => {
  const page = await open("two-cpus");
  const say = () => page.run("document.querySelector('[data-picture=spike] .readout').textContent");
  const widest = () => page.run("Math.max(...[...document.querySelectorAll('[data-picture=spike] .plot')][0].querySelectorAll('.frame').values().map((frame) => Number(frame.getAttribute('width'))))");
  await page.run("document.querySelector('[data-picture=spike] .stretch[tabindex=\"0\"]').focus()");
  const first = await say();
  assert.match(first, /^Phase: /);
  await page.press("ArrowRight");
  const second = await say();
  assert.notEqual(second, first);
  await page.press("ArrowDown");
  assert.match(await say(), /^CPU \d+: /);
  const before = await widest();
  for (let times = 0; times < 4; times += 1) await page.press("+");
  assert.ok((await widest()) > before);
  assert.ok(await page.run("document.activeElement.classList.contains('stretch')"), "zooming keeps the focus");
  await keep(page, "two-cpus-zoomed");
  await page.press("0");
  assert.equal(await widest(), before);
});

test("a ledger row lights its stretches, a mark opens its account", async () => {
  const page = await open("forty-spikes");
  await page.run("document.querySelector('.ledger tr.owner').dispatchEvent(new PointerEvent('pointerenter'))");
  const [lit, dimmed] = await page.run("[document.querySelectorAll('.stretch.lit').length, document.querySelectorAll('.stretch.dimmed').length]");
  assert.ok(lit > 0 && dimmed > 0, `${lit} lit, ${dimmed} dimmed`);
  await page.run("document.querySelector('.ledger tr.owner').dispatchEvent(new PointerEvent('pointerleave'))");
  await page.run("document.querySelectorAll('[data-picture=spike] .phase')[0].parentElement.focus()");
  assert.equal(await page.run("document.querySelectorAll('.ledger tr.phase.lit').length"), 1);
  const folded = await page.run("[...document.querySelectorAll('details.spike:not([open])')].at(-1).id");
  await page.run(`new Promise((done) => { addEventListener('hashchange', () => setTimeout(done, 100)); location.hash = '${folded}' })`);
  assert.ok(await page.run(`document.getElementById('${folded}').open`));
  assert.ok(await page.run(`document.querySelectorAll('#${folded} .stretch').length`) > 0, "its picture is drawn");
});

test("rows of the ledger light their stretches by keys, too", async () => {
  const page = await open("two-cpus");
  await page.run("document.querySelector('.ledger tr.owner').focus()");
  assert.ok(await page.run("document.querySelectorAll('.stretch.lit').length") > 0);
  await page.run("document.activeElement.blur()");
  assert.equal(await page.run("document.querySelectorAll('.stretch.lit, .stretch.dimmed').length"), 0);
});

test("marks stand on the lane of their CPU, are read out, and listed for those without a script", async () => {
  const page = await open("two-cpus");
  const spike = await page.run("JSON.parse(document.querySelector('#tardy-data').textContent).summary.spikes.find((spike) => spike.explanation?.marks.length > 0).number");
  const account = `#spike-${spike}`;
  await page.run(`document.querySelector('${account} .mark-point').dispatchEvent(new PointerEvent('pointerenter'))`);
  const said = await page.run(`document.querySelector('${account} .readout').textContent`);
  assert.match(said, /^CPU 0, .* after due: .* asks CPU 1 for do_sync_core\.$/);
  assert.match(await page.run(`document.querySelector('${account} .marks').textContent`), /asks CPU 1 for do_sync_core/);
  assert.match(await page.run(`document.querySelector('${account} .elsewhere').textContent`), /CPU 0 meanwhile: hackbench-4711 61\s%/);
  for (const word of ["Tab", "arrows", "Shift", "+", "0 shows"]) {
    assert.ok((await page.run("[...document.querySelectorAll('[data-picture=spike] .readout')].at(-1).textContent")).includes(word), `the page documents ${word}`);
  }
});

for (const width of [360, 400, 1280, 2000]) {
  test(`nothing sticks out at ${width} px`, async () => {
    for (const shape of ["eight-cpus", "hostile"]) {
      const page = await open(shape, { width, dark: true });
      assert.ok((await page.run("document.documentElement.scrollWidth")) <= width, shape);
      await keep(page, `${shape}-dark-${width}`);
    }
  });
}

test("a phone shows answer, maximum, cause and conditions first, and the largest latency of each CPU without scrolling", async () => {
  for (const shape of ["two-cpus", "eight-cpus"]) {
    const page = await open(shape, { width: 390, height: 844 });
    for (const part of [".verdict .worst", ".why", ".conditions"]) {
      const { top, bottom } = await page.run(`(({ top, bottom }) => ({ top, bottom }))(document.querySelector('${part}').getBoundingClientRect())`);
      assert.ok(top >= 0 && bottom <= 844, `${shape}: ${part} is from ${top} to ${bottom}`);
    }
    const rows = await page.run(`[...document.querySelectorAll('#cpus-caption')].flatMap((caption) => [...caption.parentElement.querySelectorAll('tr')])
      .map((row) => [...row.children].slice(0, 2).map((cell) => cell.getBoundingClientRect()).map(({ left, right }) => [left, right]))`);
    assert.ok(rows.length > 2);
    for (const [[, nameEnds], [left, right]] of rows) assert.ok(left >= nameEnds && right <= 390, `${shape}: ${nameEnds} ${left} ${right}`);
    assert.equal(await page.run("document.querySelector('.figures thead th:nth-child(2)').textContent"), "max");
    await keep(page, `${shape}-phone`);
  }
});

test("paper has the answer on its first page, a line for each late wake-up, the open accounts, and few pages", async () => {
  const page = await open("forty-spikes", { width: 800, dark: true });
  await page.media("print", true);
  const visible = (selector) => page.run(`[...document.querySelectorAll('${selector}')].filter((element) => element.checkVisibility()).length`);
  assert.equal(await visible("details.spike"), await page.run("document.querySelectorAll('details.spike[open]').length"));
  assert.equal(await visible(".on-paper tbody tr"), await page.run("document.querySelectorAll('details.spike:not(.on-screen *)').length"));
  assert.equal(await visible(".on-screen"), 0);
  assert.equal(await page.run("getComputedStyle(document.body).backgroundColor"), "rgb(255, 255, 255)");
  await keep(page, "forty-spikes-print");
  const { data } = await page.send("Page.printToPDF", { preferCSSPageSize: true });
  const pages = Buffer.from(data, "base64").toString("latin1").match(/\/Type\s*\/Page\b(?!s)/g).length;
  assert.ok(pages > 1 && pages <= 16, `${pages} pages`);
  await page.media("screen", true);
  assert.equal(await visible(".on-paper"), 0);
});

test("without a script numbers and still pictures are there", async () => {
  const page = await open("two-cpus", { script: false });
  const { root } = await page.send("DOM.getDocument", { depth: 0 });
  const { outerHTML } = await page.send("DOM.getOuterHTML", { nodeId: root.nodeId });
  assert.match(outerHTML, /158\.204/);
  // Latencies, seconds and counters of the run; six accounts.
  assert.equal(outerHTML.match(/<svg class="plot"/g).length, 3 + 6);
  await keep(page, "two-cpus-without-script");
});

test("headings descend in steps, regions and figures are named, every control can be reached", async () => {
  const page = await open("eight-cpus");
  const levels = await page.run("[...document.querySelectorAll('h1, h2, h3, h4')].map((heading) => Number(heading.tagName[1]))");
  assert.equal(levels[0], 1);
  assert.equal(levels.filter((level) => level === 1).length, 1);
  levels.forEach((level, index) => assert.ok(index === 0 || level <= levels[index - 1] + 1, `heading ${index} jumps to level ${level}`));
  assert.equal(await page.run("[...document.querySelectorAll('table')].filter((table) => !table.caption).length"), 0);
  assert.equal(await page.run("[...document.querySelectorAll('section, [role=region]')].filter((part) => !document.getElementById(part.getAttribute('aria-labelledby'))).length"), 0);
  assert.equal(await page.run("[...document.querySelectorAll('svg.plot')].filter((plot) => !plot.getAttribute('aria-label')).length"), 0);
  assert.equal(await page.run("document.querySelectorAll('[tabindex]:not([tabindex=\"0\"]):not([tabindex=\"-1\"])').length"), 0);
  const ids = await page.run("[...document.querySelectorAll('[id]')].map((element) => element.id)");
  assert.equal(new Set(ids).size, ids.length, "ids are unique");
});
