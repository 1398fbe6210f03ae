/** Drives a headless Chromium over its debugging pipe: no network port, no package. */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const patience = 60_000;

export class Chromium {
  #answers = new Map();
  #listeners = [];
  #number = 0;

  constructor(command = process.env.CHROMIUM ?? "chromium") {
    this.profile = mkdtempSync(join(tmpdir(), "tardy-report-"));
    const flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
      "--disable-component-update", "--disable-sync", "--hide-scrollbars", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
      `--user-data-dir=${this.profile}`, "--remote-debugging-pipe", "about:blank"];
    this.process = spawn(command, flags, { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
    this.process.on("error", (error) => this.#fail(new Error(`failed to start ${command}: ${error.message}; set CHROMIUM to the browser's path`)));
    this.process.on("exit", (code) => this.#fail(new Error(`${command} ended with ${code}`)));
    let rest = "";
    this.process.stdio[4].on("data", (bytes) => {
      const messages = (rest + bytes).split("\0");
      rest = messages.pop();
      for (const message of messages) this.#receive(JSON.parse(message));
    });
    this.process.stdio[3].on("error", () => {});
  }

  /** A new page with everything it does recorded. */
  async open(address, { width = 1280, height = 900, dark = false, script = true } = {}) {
    const { targetId } = await this.send("Target.createTarget", { url: "about:blank" });
    const { sessionId } = await this.send("Target.attachToTarget", { targetId, flatten: true });
    const page = new Page(this, sessionId);
    for (const domain of ["Page", "Runtime", "Network", "Log"]) await page.send(`${domain}.enable`);
    await page.send("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: 1, mobile: false });
    await page.media("screen", dark);
    if (!script) await page.send("Emulation.setScriptExecutionDisabled", { value: true });
    const loaded = this.event("Page.loadEventFired", sessionId);
    await page.send("Page.navigate", { url: address });
    await loaded;
    // The pictures are drawn when their size is first observed.
    if (script) await page.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 50))))");
    return page;
  }

  send(method, params = {}, sessionId) {
    const id = ++this.#number;
    const message = JSON.stringify({ id, method, params, sessionId });
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`${method} was not answered`)), patience);
      this.#answers.set(id, { resolve, reject, timer });
      this.process.stdio[3].write(`${message}\0`);
    });
  }

  event(method, sessionId) {
    return new Promise((resolve) => this.#listeners.push((event) => event.method === method && event.sessionId === sessionId && (resolve(event.params), true)));
  }

  listen(listener) {
    this.#listeners.push((event) => (listener(event), false));
  }

  async close() {
    const ended = new Promise((resolve) => this.process.once("exit", resolve));
    this.send("Browser.close").catch(() => {});
    await ended;
    rmSync(this.profile, { recursive: true, force: true, maxRetries: 5 });
  }

  #receive(message) {
    const waiting = this.#answers.get(message.id);
    if (waiting) {
      this.#answers.delete(message.id);
      clearTimeout(waiting.timer);
      if (message.error) waiting.reject(new Error(message.error.message));
      else waiting.resolve(message.result);
    } else {
      this.#listeners = this.#listeners.filter((listener) => !listener(message));
    }
  }

  #fail(error) {
    for (const { reject, timer } of this.#answers.values()) {
      clearTimeout(timer);
      reject(error);
    }
    this.#answers.clear();
  }
}

class Page {
  /** Addresses asked for, errors thrown, and what the security policy refused. */
  requests = [];
  errors = [];

  constructor(browser, sessionId) {
    this.browser = browser;
    this.sessionId = sessionId;
    browser.listen(({ method, params, sessionId: origin }) => {
      if (origin !== sessionId) return;
      if (method === "Network.requestWillBeSent") this.requests.push(params.request.url);
      if (method === "Runtime.exceptionThrown") this.errors.push(params.exceptionDetails.exception?.description ?? params.exceptionDetails.text);
      if (method === "Log.entryAdded" && params.entry.level === "error") this.errors.push(params.entry.text);
      if (method === "Page.javascriptDialogOpening") this.errors.push(`dialog: ${params.message}`);
    });
  }

  send(method, params) {
    return this.browser.send(method, params, this.sessionId);
  }

  media(media, dark) {
    return this.send("Emulation.setEmulatedMedia", { media, features: [{ name: "prefers-color-scheme", value: dark ? "dark" : "light" }] });
  }

  /** The value of an expression in the page; a promise is awaited. */
  async run(expression) {
    const { result, exceptionDetails } = await this.send("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true });
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  }

  async press(key, modifiers = 0) {
    const text = key.length === 1 ? key : undefined;
    await this.send("Input.dispatchKeyEvent", { type: "keyDown", key, code: key, text, modifiers });
    await this.send("Input.dispatchKeyEvent", { type: "keyUp", key, code: key, modifiers });
  }

  async screenshot() {
    const { data } = await this.send("Page.captureScreenshot", { format: "png", captureBeyondViewport: true });
    return Buffer.from(data, "base64");
  }
}
