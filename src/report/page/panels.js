/* panels.js: the panels beside the lanes: the source with each thread's current line, and the values. */

const TOKEN = /(\/\/.*|\/\*.*?(?:\*\/|$))|("(?:\\.|[^"\\])*"?|'(?:\\.|[^'\\])*'?)|(^\s*#\s*\w+)|\b(auto|bool|break|case|catch|char|class|const|constexpr|continue|default|delete|do|double|else|enum|extern|false|float|for|goto|if|inline|int|long|mutable|namespace|new|noexcept|nullptr|operator|private|protected|public|return|short|signed|sizeof|static|struct|switch|template|this|throw|true|try|typedef|typename|union|unsigned|using|virtual|void|volatile|while|_Atomic|_Alignas|_Bool|_Thread_local)\b|\b(0[xX][0-9a-fA-F]+|\d[\d.]*)\w*\b/g;
const TOKEN_CLASS = [null, "comment", "string", "directive", "keyword", "figure"];

/* A line of C or C++ as spans. `inside`: it begins in a comment; returns whether it ends in one. */
function addCode(to, line, inside) {
  let rest = line;
  if (inside) {
    const end = line.indexOf("*/");
    to.append(el("span", { class: "comment" }, end < 0 ? line : line.slice(0, end + 2)));
    if (end < 0) return true;
    rest = line.slice(end + 2);
  }
  let at = 0, open = false;
  for (const m of rest.matchAll(TOKEN)) {
    const kind = m.slice(1).findIndex((g) => g !== undefined) + 1;
    if (m.index > at) to.append(rest.slice(at, m.index));
    to.append(el("span", { class: TOKEN_CLASS[kind] }, m[0]));
    at = m.index + m[0].length;
    open = m[0].startsWith("/*") && (m[0].length < 4 || !m[0].endsWith("*/"));
  }
  if (at < rest.length) to.append(rest.slice(at));
  return open;
}

/* A source file: its element, and line numbers to the elements of lines. */
function codeOf(source) {
  const lines = new Map(), box = el("div", { class: "code" });
  const pieces = DATA.sources[source] && DATA.sources[source][1];
  (pieces || []).forEach(([first, text], k) => {
    if (k > 0 || first > 1) box.append(el("div", { class: "gap" }, "\u22ef"));
    let inside = false;
    const all = text.split("\n");
    if (all[all.length - 1] === "") all.pop();
    all.forEach((line, i) => {
      const code = el("span", { class: "text" });
      inside = addCode(code, line.replace(/\r$/, ""), inside);
      if (line.length === 0) code.append(" ");
      const row = el("div", { class: "line" }, el("span", { class: "badges" }), el("span", { class: "at" }, String(first + i)), code);
      lines.set(first + i, row);
      box.append(row);
    });
  });
  if (!pieces) box.append(el("p", { class: "hint" }, "The source file could not be read when this page was generated."));
  else if (DATA.sources[source][0])
    box.prepend(el("p", { class: "hint warn" }, "This file has changed since the search: lines may have moved."));
  markCovered(source, lines);
  return { box, lines };
}

class Source {
  constructor(run, entry) {
    this.run = run;
    this.entry = entry;
    this.files = new Map(); /* entry of DATA.sources to {element, line numbers to elements} */
    this.title = el("h3", {}, "Source");
    this.others = el("div", { class: "others" });
    this.text = el("div", { class: "source", tabindex: "0", role: "region", "aria-label": "Source code" });
    this.box = el("section", { class: "panel source-panel" }, el("div", { class: "panel-head" }, this.title, this.others), this.text);
    this.badged = [];
    const begin = run.steps.find((s) => s.place && s.place.file);
    this.first = begin ? { ...begin.place, line: 0 } : null;
  }

  file(source) {
    if (!this.files.has(source)) this.files.set(source, codeOf(source));
    return this.files.get(source);
  }

  show(step) {
    const s = this.run.steps[step], places = this.run.placesAt(step);
    const place = (s.place && s.place.file && s.place) || places[s.thread] || places.find(Boolean) || this.first;
    if (s.place && s.place.file) places[s.thread] = s.place;
    this.showPlace(place, places, s.thread);
  }

  showPlace(place, places, thread) {
    for (const row of this.badged) {
      row.className = "line";
      row.style.removeProperty("--c");
      row.firstChild.replaceChildren();
    }
    this.badged = [];
    this.others.replaceChildren();
    if (!place) {
      this.title.textContent = "Source";
      this.text.replaceChildren(el("p", { class: "hint" }, "No source line is known for this step: build with -g."));
      return;
    }
    this.title.textContent = place.file;
    this.title.title = place.fn ? `${place.file}, in ${place.fn}` : place.file;
    const file = this.file(place.source);
    if (this.text.firstChild !== file.box) this.text.replaceChildren(file.box);
    places.forEach((p, t) => {
      if (!p) return;
      const who = this.run.threads[t], row = p.source === place.source ? file.lines.get(p.line) : null;
      if (row) this.badge(row, who, t === thread);
      else if (p.source !== place.source)
        this.others.append(el("button", { class: "chip", type: "button", style: `--c:${colourOf(who)}`, title: p.file,
          onclick: () => this.showPlace(p, places, t) }, `${who.name} ${baseName(p.file)}:${p.line}`));
    });
    const row = file.lines.get(place.line);
    if (row) this.reveal(row);
  }

  badge(row, thread, now) {
    row.firstChild.append(el("span", { class: "badge", style: `--c:${colourOf(thread)}`, title: `${thread.name} is here` }, thread.name));
    row.classList.add("here");
    if (now || !row.style.getPropertyValue("--c")) row.style.setProperty("--c", colourOf(thread));
    if (now) row.classList.add("now");
    this.badged.push(row);
  }

  reveal(row) {
    const top = row.offsetTop, height = this.text.clientHeight;
    if (top < this.text.scrollTop + 30 || top > this.text.scrollTop + height - 60)
      this.text.scrollTop = Math.max(0, top - height / 2.5);
  }
}

class Values {
  constructor(run, entry, ononly) {
    this.run = run;
    this.ononly = ononly;
    this.involved = new Set(entry.finding.where.map((p) => p.object).filter(Boolean));
    this.body = el("tbody", {});
    this.table = el("table", {}, el("thead", {}, el("tr", {},
      el("th", { scope: "col" }, "Variable"), el("th", { scope: "col" }, "Now"), el("th", { scope: "col" }, "Since"))), this.body);
    this.box = el("section", { class: "panel values-panel" }, el("div", { class: "panel-head" }, el("h3", {}, "Values and locks")),
      el("div", { class: "values", tabindex: "0", role: "region", "aria-label": "Values of variables and locks" }, this.table));
  }

  /* Objects of the finding first, then those with names, most recently used first. */
  rank(v) { return (this.involved.has(v.object.name) ? 2 : 0) + (v.object.named ? 1 : 0); }

  show(step) {
    const all = this.run.valuesAt(step).sort((a, b) => this.rank(b) - this.rank(a) || b.at - a.at).slice(0, 60);
    this.body.replaceChildren(...all.map((v) => {
      const by = this.run.threads[v.by], fresh = v.at === step;
      return el("tr", { class: fresh ? "fresh" : "", style: `--c:${colourOf(by)}` },
        el("th", { scope: "row", class: this.involved.has(v.object.name) ? "involved" : "", title: v.object.address },
          el("button", { type: "button", class: "place", title: "Show only the steps of it", onclick: () => this.ononly(v.number) }, v.object.name)),
        el("td", {}, fresh && v.before !== null && v.before !== v.text ? el("s", {}, v.before) : null, fresh && v.before !== null && v.before !== v.text ? " " : null, el("b", {}, v.text)),
        el("td", { class: "since" }, el("span", { class: "badge", style: `--c:${colourOf(by)}` }, by.name), ` ${this.run.leftOut + v.at + 1}`));
    }));
    if (!all.length) this.body.append(el("tr", {}, el("td", { colspan: "3", class: "hint" }, "No values are known yet.")));
  }
}
