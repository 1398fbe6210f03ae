// Perfetto's trace processor, the WebAssembly build that its user interface comes with, without a browser.
//
// Its worker script runs in a context of its own with the few things of a browser that it asks for. It is spoken to in
// the frames of TraceProcessorRpc, read and written here by hand: a second opinion needs no schema of ours.

import fs from "node:fs";
import path from "node:path";
import vm from "node:vm";

const APPEND = 1;
const FINALIZE = 2;
const QUERY = 3;
/** The trace processor takes no larger message. */
const PIECE_BYTES = 16 << 20;

function varint(value) {
  const bytes = [];
  let rest = BigInt(value);
  do {
    bytes.push(Number(rest & 127n) | (rest > 127n ? 128 : 0));
    rest >>= 7n;
  } while (rest > 0n);
  return Buffer.from(bytes);
}

function field(number, value) {
  if (typeof value === "number") return Buffer.concat([varint(number << 3), varint(value)]);
  return Buffer.concat([varint((number << 3) | 2), varint(value.length), value]);
}

/** Yields [number, value] of each field; a value is a BigInt or a Buffer. */
function* fields(bytes) {
  let at = 0;
  const read = () => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes[at++];
      if (byte === undefined) throw new Error("a message is cut short");
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return value;
    }
  };
  while (at < bytes.length) {
    const tag = Number(read());
    const [number, kind] = [tag >> 3, tag & 7];
    if (kind === 0) yield [number, read()];
    else {
      const length = kind === 2 ? Number(read()) : kind === 1 ? 8 : 4;
      yield [number, bytes.subarray(at, at + length)];
      at += length;
    }
  }
}

function* varints(bytes) {
  for (let at = 0; at < bytes.length; ) {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes[at++];
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) break;
    }
    yield BigInt.asIntN(64, value);
  }
}

/** The rows of a batch of cells; cells come column by column kind by kind, row after row. */
function cellsOf(batch) {
  const lists = { kinds: [], numbers: [], floats: [], texts: [] };
  for (const [number, value] of fields(batch)) {
    if (number === 1) lists.kinds.push(...varints(value));
    if (number === 2) lists.numbers.push(...varints(value));
    if (number === 3) for (let at = 0; at < value.length; at += 8) lists.floats.push(value.readDoubleLE(at));
    if (number === 5) lists.texts.push(...value.toString().split("\0").slice(0, -1));
  }
  const take = { 1: () => null, 2: () => Number(lists.numbers.shift()), 3: () => lists.floats.shift(), 4: () => lists.texts.shift() };
  return lists.kinds.map((kind) => take[Number(kind)]());
}

/** Starts a trace processor from the directory of Perfetto's user interface. */
export async function start(directory) {
  const read = (name) => fs.readFileSync(path.join(directory, name));
  // The file is given as a response, or asked for as in a browser.
  class XMLHttpRequest {
    open(_method, url) {
      this.name = path.basename(String(url));
    }
    send() {
      const bytes = read(this.name);
      this.status = 200;
      this.response = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
      queueMicrotask(() => this.onload?.({}));
    }
    set responseType(_kind) {}
  }
  const scope = {
    XMLHttpRequest,
    TextDecoder,
    TextEncoder,
    performance,
    queueMicrotask,
    setTimeout,
    clearTimeout,
    URL,
    console,
    fetch: async (url) => new Response(read(path.basename(String(url))), { headers: { "content-type": "application/wasm" } }),
    location: { href: "http://localhost/", protocol: "http:" },
  };
  scope.self = scope;
  scope.globalThis = scope;
  scope.WorkerGlobalScope = class {};
  scope.importScripts = () => {};
  vm.createContext(scope);
  vm.runInContext(read("engine_bundle.js").toString(), scope, { filename: "engine_bundle.js" });

  const waiting = [];
  const port = {
    postMessage(data) {
      // Replies may carry several messages; each query's last batch says so.
      for (const [, message] of fields(Buffer.from(data))) waiting[0]?.(message);
    },
  };
  scope.onmessage({ data: port });
  let sequence = 0;
  const ask = (request, argument, isDone) =>
    new Promise((resolve, reject) => {
      const messages = [];
      waiting.unshift((message) => {
        const parts = [...fields(message)];
        const fatal = parts.find(([number]) => number === 5);
        if (fatal) reject(new Error(fatal[1].toString()));
        messages.push(parts);
        if (isDone(parts)) {
          waiting.shift();
          resolve(messages);
        }
      });
      const message = Buffer.concat([field(1, sequence++), field(2, request), argument]);
      const frame = field(1, message);
      port.onmessage({ data: vm.runInContext("bytes => new Uint8Array(bytes)", scope)(frame) });
    });

  const processor = {
    async load(trace) {
      for (let at = 0; at < trace.length; at += PIECE_BYTES) {
        const replies = await ask(APPEND, field(101, trace.subarray(at, at + PIECE_BYTES)), () => true);
        for (const [number, value] of replies.flat()) {
          const error = number === 201 && [...fields(value)].find(([inner]) => inner === 2);
          if (error) throw new Error(error[1].toString());
        }
      }
      await ask(FINALIZE, Buffer.alloc(0), () => true);
    },
    /** Rows as objects. */
    async query(sql) {
      const isLast = (parts) =>
        parts.some(
          ([number, value]) =>
            number === 203 &&
            [...fields(value)].some(
              ([inner, batch]) => inner === 2 || (inner === 3 && [...fields(batch)].some(([name, last]) => name === 6 && last)),
            ),
        );
      const messages = await ask(QUERY, field(103, field(1, Buffer.from(sql))), isLast);
      const names = [];
      const cells = [];
      for (const [number, result] of messages.flat()) {
        if (number !== 203) continue;
        for (const [inner, value] of fields(result)) {
          if (inner === 1) names.push(value.toString());
          if (inner === 2) throw new Error(`${sql}: ${value}`);
          if (inner === 3) cells.push(...cellsOf(value));
        }
      }
      const rows = [];
      for (let at = 0; at < cells.length; at += names.length) {
        rows.push(Object.fromEntries(names.map((name, column) => [name, cells[at + column]])));
      }
      return rows;
    },
  };
  await new Promise((resolve) => setTimeout(resolve, 0));
  return processor;
}
