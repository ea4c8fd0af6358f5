/* coverage.js: which lines a search exercised, and in which orders conflicting lines occurred. */

const SHOWN_PAIRS = 60;

/* Per source file: line numbers to {threads, first, operations, half}; `half`: the line is in a pair seen in one order. */
const COVERED = new Map();

/* A pair as shown: a line that always came first is listed first. */
function readPair(p, lines) {
  const same = p.first === p.second, swap = !same && !p.forward;
  const order = same ? "same" : p.forward && p.backward ? "both" : "one";
  return { order, a: lines[swap ? p.second : p.first], b: lines[swap ? p.first : p.second], object: p.object || "",
    forward: swap ? p.backward : p.forward, backward: same ? null : swap ? p.forward : p.backward };
}

function readCoverage(c) {
  const pairs = c.pairs.map((p) => readPair(p, c.lines));
  const half = new Set(pairs.filter((p) => p.order === "one").flatMap((p) => [p.a, p.b]));
  for (const l of c.lines) {
    if (l.source === undefined || !l.line) continue;
    if (!COVERED.has(l.source)) COVERED.set(l.source, new Map());
    const file = COVERED.get(l.source), old = file.get(l.line);
    file.set(l.line, { threads: Math.max(l.threads, old ? old.threads : 0), operations: l.operations, half: half.has(l) || Boolean(old && old.half) });
  }
  return pairs;
}

/* Marks the exercised lines in the source. */
function markCovered(source, lines) {
  for (const [number, c] of COVERED.get(source) || []) {
    const row = lines.get(number);
    if (!row) continue;
    const at = row.querySelector(".at");
    at.classList.add(c.half ? "half" : "ran");
    at.title = `${c.operations.join(", ")}; run by ${plural(c.threads, "thread")}${c.half ? "; conflicts with another line in one order only" : ""}`;
  }
}

const placeName = (l) => (l.file ? `${baseName(l.file)}:${l.line || "?"}` : l.function || "?");

class Coverage {
  constructor(c) {
    this.c = c;
    this.pairs = readCoverage(c);
    this.sort = { key: "order", down: false };
    this.onlyOne = this.all = false;
    this.files = new Map(); /* source to its <details> */
    this.box = el("details", { class: "exercised", open: !DATA.findings.length }, el("summary", {}, el("h3", {}, "What was exercised"), this.sentence()),
      el("div", { class: "exercised-parts" }, this.table(), this.sources(), this.meaning()));
  }

  count(order) { return this.pairs.filter((p) => p.order === order).length; }

  sentence() {
    const c = this.c, parts = [];
    const both = this.count("both"), one = this.count("one"), same = this.count("same");
    if (both) parts.push(`${both.toLocaleString("en")} in both orders`);
    if (one) parts.push(`${one.toLocaleString("en")} in one order only`);
    if (same) parts.push(same === 1 ? "1 is a line that conflicts with itself in another thread" : `${same.toLocaleString("en")} are lines that conflict with themselves in another thread`);
    const text = this.pairs.length ? `${plural(this.pairs.length, "pair")} of conflicting lines: ${parts.join(", ")}.` : "No two lines of different threads conflicted.";
    const some = c.looked_at < c.begun ? ` Examined ${c.looked_at.toLocaleString("en")} of ${c.begun.toLocaleString("en")} executions, fewer as the search went on: a rare order may be missing.` : "";
    return el("span", { class: "facts" }, text, some, c.overflowed ? el("span", { class: "warn" }, " The tables overflowed: some are missing.") : null);
  }

  meaning() {
    return el("details", { class: "meaning" }, el("summary", {}, "What this counts"),
      el("p", { class: "hint" }, "A line is listed if it executed an operation of the schedule (a lock, a wait, an access to contended memory), or an access that conflicted with one of another thread. Other lines are not listed, whether they ran or not."),
      el("p", { class: "hint" }, "Two lines form a pair when their operations, in different threads, conflict: they access the same bytes and one of them writes, or take the same lock, or wait and signal, or use the same semaphore or descriptor. No operation that conflicts with both may come in between. Pairs ordered by creating or joining a thread are left out, since they cannot be reversed. Some pairs have only one possible order, for instance where a semaphore hands something over."));
  }

  /* ---- pairs ---- */

  table() {
    if (!this.pairs.length) return null;
    const columns = [["order", "Orders"], ["a", "Line A"], ["b", "Line B"], ["object", "On"], ["forward", "A before B"], ["backward", "B before A"]];
    this.heads = new Map(columns.map(([key, name]) => [key, el("th", { scope: "col" },
      el("button", { type: "button", class: "sort", onclick: () => this.sortBy(key) }, name, el("span", { class: "way", "aria-hidden": "true" })))]));
    this.body = el("tbody", {});
    const only = el("input", { type: "checkbox", onchange: (e) => { this.onlyOne = e.target.checked; this.fill(); } });
    this.rest = el("button", { type: "button", class: "tool copy", onclick: () => { this.all = true; this.fill(); } });
    const box = el("div", { class: "pairs-box" },
      el("div", { class: "pairs-bar" }, this.count("one") ? el("label", { class: "check" }, only, "one order only") : null),
      el("div", { class: "pairs", tabindex: "0", role: "region", "aria-label": "Pairs of conflicting lines" },
        el("table", {}, el("thead", {}, el("tr", {}, [...this.heads.values()])), this.body)), this.rest);
    this.fill();
    return box;
  }

  sortBy(key) {
    this.sort = { key, down: this.sort.key === key && !this.sort.down };
    this.fill();
  }

  value(p, key) {
    if (key === "order") return { one: 0, both: 1, same: 2 }[p.order];
    if (key === "a" || key === "b") return `${p[key].file || "\uffff"}\0${String(p[key].line || 0).padStart(8, "0")}`;
    return p[key] === null ? -1 : p[key];
  }

  fill() {
    const { key, down } = this.sort;
    const shown = this.pairs.filter((p) => !this.onlyOne || p.order === "one").map((p, i) => [this.value(p, key), i, p]);
    shown.sort((x, y) => (x[0] < y[0] ? -1 : x[0] > y[0] ? 1 : 0) * (down ? -1 : 1) || x[1] - y[1]);
    const some = this.all ? shown : shown.slice(0, SHOWN_PAIRS);
    this.body.replaceChildren(...some.map((x) => this.row(x[2])));
    this.rest.hidden = some.length === shown.length;
    this.rest.textContent = `Show all ${shown.length.toLocaleString("en")}`;
    for (const [k, head] of this.heads) {
      head.querySelector(".way").textContent = k === key ? (down ? "\u25be" : "\u25b4") : "";
      if (k === key) head.setAttribute("aria-sort", down ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    }
  }

  row(p) {
    const label = { both: "both \u2713", one: "one only", same: "same line" }[p.order];
    return el("tr", { class: `pair-${p.order}` }, el("td", {}, el("span", { class: `order ${p.order}` }, label)),
      el("td", {}, this.link(p.a)), el("td", {}, this.link(p.b)), el("td", {}, p.object ? el("code", {}, p.object) : ""),
      el("td", { class: "number" }, p.forward.toLocaleString("en")),
      el("td", { class: "number" }, p.backward === null ? "" : p.backward.toLocaleString("en")));
  }

  link(l) {
    const what = el("small", {}, l.operations.join(", "));
    if (l.source === undefined || !l.line) return el("span", { class: "where" }, placeName(l), " ", what);
    return el("span", { class: "where" }, el("button", { type: "button", class: "place", title: l.function ? `${l.file}, in ${l.function}` : l.file,
      onclick: () => this.reveal(l) }, placeName(l)), " ", what);
  }

  /* ---- source files ---- */

  sources() {
    const names = new Map(this.c.lines.filter((l) => l.source !== undefined).map((l) => [l.source, l.file]));
    for (const [source, name] of names) {
      const lines = [...(COVERED.get(source) || new Map()).values()], half = lines.filter((l) => l.half).length;
      const box = el("details", { class: "covered" }, el("summary", {}, el("code", {}, name), ` ${plural(lines.length, "line")}${half ? `, ${half} in a pair seen in one order only` : ""}`));
      box.addEventListener("toggle", () => this.draw(box, source));
      this.files.set(source, box);
    }
    return el("div", { class: "covered-files" }, [...this.files.values()]);
  }

  /* The text is generated when it is opened. */
  draw(box, source) {
    if (!box.open || box.lines) return;
    const code = codeOf(source);
    box.lines = code.lines;
    for (const [number, c] of COVERED.get(source) || []) {
      const row = code.lines.get(number);
      if (row) row.firstChild.append(el("span", { class: "badge", style: `--c:var(--${c.half ? "warn" : "good"})` }, c.threads === 1 ? "1" : `${c.threads}\u00d7`));
    }
    box.append(el("div", { class: "source", tabindex: "0", role: "region", "aria-label": `Source code: ${box.querySelector("code").textContent}` }, code.box));
  }

  reveal(l) {
    const box = this.files.get(l.source);
    box.open = true;
    this.draw(box, l.source);
    box.querySelectorAll(".line.found").forEach((row) => row.classList.remove("found"));
    const text = box.querySelector(".source"), row = box.lines.get(l.line);
    if (row) {
      row.classList.add("found");
      text.scrollTop = Math.max(0, row.offsetTop - text.clientHeight / 2.5);
    }
    text.focus({ preventScroll: true });
    box.scrollIntoView({ block: "nearest" });
  }
}

function exercised(s) {
  return s.coverage && s.coverage.lines.length ? new Coverage(s.coverage).box : null;
}
