/* overview.js: the coverage and the progress of a search. */

function short(n) {
  for (const [unit, name] of [[1e9, "G"], [1e6, "M"], [1e4, "k"]])
    if (n >= unit) return `${(n / (name === "k" ? 1e3 : unit)).toPrecision(3)}${name}`;
  return n >= 100 || Number.isInteger(n) ? Math.round(n).toLocaleString("en") : n.toPrecision(2);
}

function duration(seconds) {
  if (seconds < 0.1) return `${(seconds * 1000).toPrecision(2)} ms`;
  if (seconds < 120) return `${seconds.toPrecision(3)} s`;
  if (seconds < 7200) return `${(seconds / 60).toFixed(1)} min`;
  return `${(seconds / 3600).toFixed(1)} h`;
}

/* The conclusion of the search in one sentence. */
function coverage(s) {
  const bound = s.bound || {};
  const within = "preemptions" in bound ? plural(bound.preemptions, "preemption") : "delays" in bound ? plural(bound.delays, "delay") : null;
  if (s.complete) return `Complete: every schedule${s.input_classes ? " of every input" : ""} was covered.`;
  if (within && bound.complete) return `Every schedule with at most ${within} was covered.`;
  return "Not every schedule was covered.";
}

function fact(name, value, more) {
  return el("div", { class: "fact" }, el("dt", {}, name), el("dd", {}, value, more ? el("small", {}, more) : null));
}

function facts(s) {
  const list = el("dl", { class: "facts-grid" },
    fact("Executions", short(s.executions), s.blocked ? `${short(s.blocked)} redundant` : null),
    fact("Per second", short(s.executions_per_second)),
    fact("Time", duration(s.seconds)),
    fact("Events", short(s.events)),
    fact("Threads", String(s.threads), "at most"),
    fact("Strategy", s.strategy, `seed ${s.seed}`));
  const classes = s.class_count;
  if (classes) list.append(fact("Classes", `${classes.by === "at-least" ? "\u2265 " : ""}${short(classes.classes)}`, "happens-before"));
  if (s.estimate && !s.complete) list.append(fact("Explored", `${short(100 * s.estimate.explored)} %`, `of about ${short(s.estimate.executions)}`));
  if (s.infeasible) list.append(fact("Infeasible", short(s.infeasible)));
  if (s.suppressed) list.append(fact("Suppressed", String(s.suppressed)));
  return list;
}

const CHART = { width: 640, height: 170, left: 52, right: 14, top: 12, bottom: 26 };

/* A curve over time. `series`: {name, class, values}; `marks`: times to be marked. */
function chart(title, times, series, marks) {
  const c = CHART, end = times[times.length - 1] || 1;
  const top = Math.max(...series.flatMap((s) => s.values), 1);
  const x = (t) => c.left + (t / end) * (c.width - c.left - c.right);
  const y = (v) => c.height - c.bottom - (v / top) * (c.height - c.top - c.bottom);
  const art = svg("svg", { class: "chart", viewBox: `0 0 ${c.width} ${c.height}`, role: "img", "aria-label": `${title}: up to ${short(top)} in ${duration(end)}` });
  const text = (at, value, anchor) => {
    const t = svg("text", { ...at, "text-anchor": anchor });
    t.textContent = value;
    art.append(t);
  };
  for (const part of [0, 0.5, 1]) {
    art.append(svg("line", { class: "grid", x1: c.left, x2: c.width - c.right, y1: y(top * part), y2: y(top * part) }));
    text({ x: c.left - 6, y: y(top * part) + 4 }, short(top * part), "end");
    text({ x: x(end * part), y: c.height - 8 }, part ? duration(end * part) : "0", part === 1 ? "end" : part ? "middle" : "start");
  }
  for (const s of series) {
    const d = times.map((t, i) => `${i ? "L" : "M"}${x(t).toFixed(1)} ${y(s.values[i]).toFixed(1)}`).join("");
    if (s.area) art.append(svg("path", { class: "area", d: `${d}L${x(end)} ${y(0)}L${x(times[0])} ${y(0)}Z` }));
    art.append(svg("path", { class: `curve ${s.class}`, d }));
  }
  for (const t of marks) art.append(svg("circle", { class: "found", cx: x(t), cy: y(0), r: 4.5 }));
  return el("figure", {}, el("figcaption", {}, title, marks.length ? el("span", { class: "legend found" }, "finding") : null), art);
}

function curves(s) {
  const samples = [[0, 0, 0, 0], ...(s.samples || [])].filter((a, i, all) => i === 0 || a[0] > all[i - 1][0]);
  if (samples.length < 4) return null;
  const times = samples.map((a) => a[0]);
  const marks = samples.filter((a, i) => i > 0 && a[2] > samples[i - 1][2]).map((a) => a[0]);
  const series = [{ class: "executions", values: samples.map((a) => a[1]), area: true }];
  const counted = s.class_count && samples[samples.length - 1].length > 3;
  const rate = samples.map((a, i) => { const b = samples[Math.max(0, i - 1)]; return i ? Math.max(0, (a[1] - b[1]) / (a[0] - b[0])) : 0; });
  rate[0] = rate[1];
  return el("div", { class: "charts" }, chart("Executions", times, series, marks),
    chart("Executions per second", times, [{ class: "rate", values: rate }], []),
    counted ? chart(s.class_count.by === "at-least" ? "Happens-before classes, at least" : "Happens-before classes", times,
      [{ class: "classes", values: samples.map((a) => a[3] || 0) }], []) : null);
}

function phases(s) {
  const used = (s.phases || []).filter((p) => p.executions || p.findings);
  if (used.length < 2) return null;
  return el("table", { class: "phases" }, el("thead", {}, el("tr", {}, ["Part of the search", "Executions", "Findings"].map((h) => el("th", { scope: "col" }, h)))),
    el("tbody", {}, used.map((p) => el("tr", {}, el("th", { scope: "row" }, p.strategy), el("td", {}, short(p.executions)), el("td", {}, String(p.findings))))));
}

/* The roles of threads that a strategy uses: where each thread is by its chain of reads and writes, and a table. */
function roles(s) {
  const r = s.roles;
  if (!r || !r.threads.length) return null;
  const c = { width: 420, height: 300, left: 46, right: 16, top: 14, bottom: 40 };
  const x = (v) => c.left + v * (c.width - c.left - c.right), y = (v) => c.height - c.bottom - v * (c.height - c.top - c.bottom);
  const art = svg("svg", { class: "chart roles", viewBox: `0 0 ${c.width} ${c.height}`, role: "img", "aria-label": `${plural(r.threads.length, "thread")} in ${plural(r.roles, "role")}` });
  const text = (at, value, anchor) => {
    const t = svg("text", { ...at, "text-anchor": anchor });
    t.textContent = value;
    art.append(t);
  };
  for (const v of [0, 0.5, 1]) {
    art.append(svg("line", { class: "grid", x1: x(0), x2: x(1), y1: y(v), y2: y(v) }), svg("line", { class: "grid", x1: x(v), x2: x(v), y1: y(0), y2: y(1) }));
    text({ x: c.left - 6, y: y(v) + 4 }, String(v), "end");
    text({ x: x(v), y: c.height - 24 }, String(v), "middle");
  }
  text({ x: x(0.5), y: c.height - 6 }, "a write follows a read", "middle");
  text({ x: 12, y: y(0.5), transform: `rotate(-90 12 ${y(0.5)})` }, "a read follows a write", "middle");
  for (const [i, p] of (r.centres || []).entries())
    art.append(svg("circle", { class: "centre", cx: x(p.read_write), cy: y(p.write_read), r: 13, style: `stroke:var(--t${i % 8})` }));
  const at = new Map();
  for (const t of r.threads) {
    const key = `${t.chain.read_write} ${t.chain.write_read}`;
    at.set(key, [...(at.get(key) || []), t]);
  }
  for (const all of at.values()) {
    const t = all[0], cx = x(t.chain.read_write), cy = y(t.chain.write_read);
    art.append(svg("circle", { class: "thread", cx, cy, r: 5, style: `fill:var(--t${(t.role - 1) % 8})` }));
    text({ x: cx > c.width - 90 ? cx - 9 : cx + 9, y: cy - 8 }, all.map((a) => a.thread || "?").join(" "), cx > c.width - 90 ? "end" : "start");
  }
  const part = (v) => v.toFixed(2);
  const table = el("table", { class: "phases" }, el("thead", {}, el("tr", {}, ["Thread", "Function", "Role", "Reads", "Writes", "r\u2192r", "r\u2192w", "w\u2192r", "w\u2192w"].map((h) => el("th", { scope: "col" }, h)))),
    el("tbody", {}, r.threads.map((t) => el("tr", {}, el("th", { scope: "row" }, t.thread || "?"), el("td", {}, t.function || ""), el("td", {}, String(t.role)), el("td", {}, short(t.reads)), el("td", {}, short(t.writes)),
      ...[t.chain.read_read, t.chain.read_write, t.chain.write_read, t.chain.write_write].map((v) => el("td", {}, part(v)))))));
  return el("div", { class: "roles" }, el("figure", {}, el("figcaption", {}, `Roles of threads: ${r.roles}`), art), table,
    el("p", { class: "hint" }, `Mined from the reads and writes of one execution. Distance of threads from the centre of their role ${part(r.homogeneity)}, between centres ${part(r.separation)}; agreement with the functions where threads begin ${Math.round(100 * r.agreement)} %.`));
}

function targets(s) {
  const all = Object.entries(s.targets || {});
  if (!all.length) return null;
  return el("table", { class: "phases" }, el("thead", {}, el("tr", {}, ["Target reached", "Executions"].map((h) => el("th", { scope: "col" }, h)))),
    el("tbody", {}, all.map(([name, n]) => el("tr", {}, el("th", { scope: "row" }, name), el("td", {}, short(n))))));
}

/* Explains the number of classes where they were not counted one by one. */
function classesHint(s) {
  const by = s.class_count ? s.class_count.by : null;
  const text = {
    counted: null,
    executions: "Every execution is a happens-before class of its own: no two of them differ only in the order of operations that do not conflict.",
    "at-least": "Every execution of the systematic part is a happens-before class of its own. Sampled executions may repeat these classes or each other, and are not counted. --classes counts all of them, at some cost.",
  }[by];
  if (by === null && "class_count" in s) return el("p", { class: "hint" }, "Happens-before classes were not counted, and executions of this strategy may repeat a class. --classes counts them, at some cost.");
  return text ? el("p", { class: "hint" }, text) : null;
}

/* Why the search is not complete, and what to do about it. */
function reasons(s) {
  if (!s.inexact || !s.inexact.length) return null;
  const where = (r) => r.where ? [" (", el("code", {}, `${r.where.file}:${r.where.line}`), ")"] : [];
  return el("div", { class: "reasons" }, el("h3", {}, "Not complete, because"),
    el("ul", {}, s.inexact.map((r) => el("li", {}, r.text, ...where(r), el("small", {}, r.advice)))));
}

/* What is no finding, but worth a look. */
function remarks(s) {
  if (!s.remarks || !s.remarks.length) return null;
  return el("div", { class: "reasons" }, el("h3", {}, "Remarks"),
    el("ul", {}, s.remarks.map((r) => { const [first, ...rest] = r.text.split("\n"); return el("li", {}, ...prose(first), ...rest.map((line) => el("div", {}, ...prose(line)))); })));
}

function overview(s) {
  const verdict = { bug: s.findings ? `${plural(s.findings.length, "bug")} found` : "bugs found", clean: "nothing found", bounded: "nothing found so far" }[s.verdict] || "";
  return el("section", { class: "card overview", "aria-label": "Search" },
    el("div", { class: "head-line" }, el("span", { class: `verdict ${s.verdict}` }, verdict), el("h2", {}, s.command.join(" "))),
    el("p", { class: "facts" }, coverage(s), s.error ? ` ${s.error}` : ""), reasons(s), remarks(s), facts(s), curves(s), classesHint(s), phases(s), guarded(() => roles(s)), targets(s), guarded(() => exercised(s)));
}
