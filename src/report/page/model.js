"use strict";
/* model.js: what the page knows: the data, decoded, and what follows from them. Draws nothing. */

const DATA = JSON.parse(document.getElementById("data").textContent);
const FLAG = { failed: 1, late: 2, plain: 4, value: 8, found: 16 };
const OPERATIONS = DATA.operations.map(([name, object, effect, aux]) => ({ name, object, effect, aux }));

/* An element with attributes and children. Strings become text, never markup. */
function el(tag, attributes, ...children) {
  const e = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) e.addEventListener(key.slice(2), value);
    else e.setAttribute(key, value === true ? "" : value);
  }
  for (const c of children.flat()) if (c !== null && c !== undefined) e.append(c);
  return e;
}

function svg(tag, attributes) {
  const e = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [key, value] of Object.entries(attributes || {})) e.setAttribute(key, value);
  return e;
}

/* Text in which `names` stand between backticks, as children of an element. */
const prose = (text) => text.split("`").map((part, i) => (i % 2 ? el("code", {}, part) : part));

const plural = (n, word) => `${n.toLocaleString("en")} ${word}${n === 1 ? "" : "s"}`;
const baseName = (file) => file.slice(file.lastIndexOf("/") + 1);
const colourOf = (thread) => `var(--t${thread.index % 8})`;

/* The last entry of the sorted list that is not above `limit`: its position, or -1. */
function lastUpTo(list, limit, key = (x) => x) {
  let low = 0, high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (key(list[middle]) <= limit) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/* One run of the program: its steps, the arrows between them, and what is known at each of them. */
class Run {
  constructor(data, entry, told) {
    this.name = data.name;
    this.leftOut = data.left_out;
    this.told = told; /* the finding's places are those of this run */
    this.threads = data.threads.map(([name, called, run], index) => ({ index, name, called, run }));
    this.places = data.places.map(([file, line, fn, source]) => ({ file, line, fn, source }));
    this.objects = data.objects.map(([name, address]) => ({ name: name || address, named: Boolean(name), address }));
    this.shorten();
    this.steps = data.events.map((e, i) => this.step(e, i));
    this.notes(entry.finding);
    this.ends(entry);
    this.byThread = this.threads.map(() => []);
    for (const s of this.steps) this.byThread[s.thread].push(s.index);
    this.edges = this.findEdges();
    this.history = this.follow();
    this.switches = this.steps.filter((s, i) => i > 0 && s.thread !== this.steps[i - 1].thread).length;
  }

  step(e, index) {
    const op = OPERATIONS[e[1]];
    const flags = e[4] || 0;
    return {
      index, thread: e[0], op, object: e[2] || 0, place: e[3] ? this.places[e[3] - 1] : null,
      plain: Boolean(flags & FLAG.plain), failed: Boolean(flags & FLAG.failed), late: Boolean(flags & FLAG.late),
      from: (e[5] || 0) - 1 - this.leftOut, value: flags & FLAG.value ? e[6] : null,
      found: flags & FLAG.found ? e[7] : null, aux: flags & FLAG.found ? 0 : e[7] || 0,
      number: this.leftOut + index + 1, mark: null, note: null, end: null,
    };
  }

  /* Addresses by their last digits, where these tell them apart. */
  shorten() {
    const unnamed = this.objects.filter((o) => !o.named), ends = new Map();
    for (const o of unnamed) ends.set(o.address.slice(-5), (ends.get(o.address.slice(-5)) || 0) + 1);
    for (const o of unnamed) if (ends.get(o.address.slice(-5)) === 1 && o.address.length > 8) o.name = `\u2026${o.address.slice(-5)}`;
  }

  notes(finding) {
    if (!this.told) return;
    for (const n of finding.notes || []) {
      const s = this.steps[n.event - 1 - this.leftOut];
      if (s) s.note = n.text;
    }
  }

  threadNamed(name) { return this.threads.find((t) => t.name === name); }

  /* How it ended is no event of its own, but a step for the reader. */
  ends(entry) {
    const finding = entry.finding;
    if (!this.told) {
      const last = this.steps[this.steps.length - 1];
      if (last) this.addEnd(last.thread, null, `the same finding: ${finding.kind}`, "fails");
      return;
    }
    for (const p of finding.where) {
      const thread = this.threadNamed(p.thread);
      if (!thread) continue;
      const place = { file: p.file, line: p.line || 0, fn: p.function, source: entry.files[p.file] };
      if (p.role === "waits") {
        const what = p.object ? `waits for ${p.object}` : "waits";
        this.addEnd(thread.index, place, what + (p.held_by && p.held_by !== p.object ? `, held by ${p.held_by}` : ""), "waits");
      } else if (p.role === "at") {
        const last = this.steps[this.steps.length - 1];
        if (last && last.thread === thread.index && last.op.name === p.operation && last.place && last.place.line === p.line)
          last.mark = "fails";
        else this.addEnd(thread.index, place, finding.text || finding.title, "fails");
      } else if (p.role === "previous") {
        for (let i = this.steps.length - 1; i >= 0; i--) {
          const s = this.steps[i];
          if (s.thread !== thread.index || !s.place || s.place.line !== p.line || s.op.object !== "memory") continue;
          s.mark = "races";
          break;
        }
      }
    }
  }

  addEnd(thread, place, text, mark) {
    const index = this.steps.length;
    this.steps.push({
      index, thread, op: OPERATIONS[0], object: 0, place, plain: false, failed: false, late: false, from: -1,
      value: null, found: null, aux: 0, number: null, mark, note: null, end: text,
    });
  }

  objectName(s) {
    if (!s.object) return "";
    return s.op.object === "thread" ? this.threads[s.object - 1].name : this.objects[s.object - 1].name;
  }

  /* What a step does, in words: [verb, object, rest]. */
  words(s) {
    if (s.end) return [s.end, "", ""];
    if (s.note) return ["note", "", s.note];
    const object = s.op.name === "start" || s.op.name === "exit" ? "" : this.objectName(s);
    let rest = "";
    if (s.found !== null) rest = s.failed ? `found ${s.found}` : `${s.found} \u2192 ${s.value}`;
    else if (s.value !== null) rest = `= ${s.value}`;
    else if (s.op.aux === "woke") rest = s.aux ? `wakes ${this.threads[s.aux - 1].name}` : "wakes no thread";
    else if (s.op.aux === "woken") rest = s.aux ? `wakes ${s.aux}` : "wakes no thread";
    else if (s.op.aux === "mutex" && s.aux) rest = `releases ${this.objects[s.aux - 1].name}`;
    else if (s.op.aux === "had") rest = `had ${s.aux}`;
    else if (s.op.aux === "outcome") rest = `outcome ${s.aux}`;
    if (s.failed && s.found === null) rest = (rest ? rest + ", " : "") + "failed";
    return [s.op.name.replace(/^(volatile|atomic)-(read|write|load|store|rmw|cas)$/, "$1 $2"), object, rest];
  }

  sentence(s) {
    const where = s.place && s.place.file ? ` at ${baseName(s.place.file)}:${s.place.line}` : "";
    return `${this.threads[s.thread].name} ${this.words(s).filter(Boolean).join(" ")}${where}`;
  }

  /* The first step of a thread after step i, or -1. */
  after(thread, i) {
    const list = this.byThread[thread];
    return list[lastUpTo(list, i) + 1] ?? -1;
  }

  findEdges() {
    const edges = [];
    const waiting = new Map(); /* object to the threads that wait there */
    const wake = (from, thread) => {
      const to = this.after(thread, from);
      if (to >= 0) edges.push({ from, to, kind: "wakes" });
    };
    for (const s of this.steps) {
      for (const set of waiting.values()) set.delete(s.thread);
      if (/^(wait|timedwait|futex-wait)$/.test(s.op.name)) {
        if (!waiting.has(s.object)) waiting.set(s.object, new Set());
        waiting.get(s.object).add(s.thread);
      } else if (s.op.aux === "woke" && s.aux) {
        wake(s.index, s.aux - 1);
      } else if (s.op.aux === "woken" && s.aux) {
        for (const t of waiting.get(s.object) || []) wake(s.index, t);
      }
      const from = this.steps[s.from];
      if (!from || from.thread === s.thread) continue;
      /* An access that is not atomic sees a value, which orders nothing. */
      const ordered = s.op.object !== "memory" || /^(atomic|futex)/.test(s.op.name);
      edges.push({ from: s.from, to: s.index, kind: ordered ? "orders" : "sees" });
    }
    return edges;
  }

  /* For each object what was known of it when: lists of {at, text, by}. */
  follow() {
    const history = this.objects.map(() => []);
    const holders = new Map();
    const tell = (object, s, text) => history[object - 1].push({ at: s.index, text, by: s.thread });
    const hold = (object, s, takes) => {
      const now = (holders.get(object) || []).filter((t) => t !== s.thread);
      if (takes) now.push(s.thread);
      holders.set(object, now);
      tell(object, s, now.length ? `held by ${now.map((t) => this.threads[t].name).join(", ")}` : "free");
    };
    for (const s of this.steps) {
      const kind = s.op.object;
      if (!s.object || kind === "thread") continue;
      if (kind === "memory") {
        if (s.op.name === "free") tell(s.object, s, "freed");
        else if (s.value !== null) tell(s.object, s, s.value);
      } else if (kind === "mutex" || kind === "rwlock" || kind === "once") {
        if (s.op.effect === "acquire" || /^try/.test(s.op.name)) {
          if (!s.failed) hold(s.object, s, true);
        } else if (s.op.effect === "release") {
          hold(s.object, s, false);
        }
      } else if (kind === "sem" && s.op.aux === "had" && !s.failed) {
        tell(s.object, s, String(s.op.name === "sem-post" ? s.aux + 1 : s.op.effect === "read" ? s.aux : Math.max(0, s.aux - 1)));
      } else if (kind === "cond") {
        if (/^(timed)?wait$/.test(s.op.name)) {
          tell(s.object, s, `${this.threads[s.thread].name} waits`);
          if (s.aux) hold(s.aux, s, false);
        } else if (/^(signal|broadcast)$/.test(s.op.name)) {
          tell(s.object, s, s.aux ? "signalled" : "signalled, no thread waiting");
        }
      }
    }
    return history;
  }

  /* The objects that something is known of at step i, as {object, text, by, at}. */
  valuesAt(i) {
    const all = [];
    this.history.forEach((list, k) => {
      const last = lastUpTo(list, i, (h) => h.at);
      if (last >= 0) all.push({ object: this.objects[k], before: last ? list[last - 1].text : null, ...list[last] });
    });
    return all;
  }

  /* Where each thread is at step i: its last step that has a place; null before it begins and after its end. */
  placesAt(i) {
    return this.threads.map((t) => {
      const list = this.byThread[t.index];
      let k = lastUpTo(list, i);
      if (k < 0 || this.steps[list[k]].op.name === "exit") return null;
      while (k >= 0 && !(this.steps[list[k]].place && this.steps[list[k]].place.file)) k--;
      return k < 0 ? null : this.steps[list[k]].place;
    });
  }
}
