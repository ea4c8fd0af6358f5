/* finding.js: the view of one finding: its story, the stepper, the lanes and the panels beside them. */

class FindingView {
  constructor(entry, ordinal) {
    this.entry = entry;
    this.ordinal = ordinal;
    this.runs = new Map();
    this.run = null;
    this.step = 0;
    this.stage = el("div", { class: "stage" });
    this.box = el("section", { class: "finding", id: `finding-${ordinal}`, "aria-label": `Finding ${ordinal + 1}` },
      this.heading(), this.orders(), this.bar(), this.stage, this.strips(), this.keys(), this.more());
    this.told = this.story();
    this.choose(entry.runs[0].name, null);
  }

  /* ---- fixed parts ---- */

  heading() {
    const f = this.entry.finding, m = f.minimised;
    const facts = [];
    if (m) facts.push(`${plural(m.preemptions, "preemption")}${m.fewest_preemptions ? " (the minimum)" : ""}`, plural(m.switches, "switch").replace(/switchs$/, "switches"));
    const number = f.execution.toLocaleString("en");
    facts.push(f.after_executions ? `found after ${plural(f.after_executions, "execution")}, by ${f.strategy}` : `execution ${number} of ${f.strategy}`, f.replays ? "replays" : f.replays === null ? "seen in one run, not run again" : "did not replay");
    const command = `heddle replay ${this.entry.folder}`;
    return el("div", { class: "card head" },
      el("div", { class: "head-line" }, el("span", { class: "kind" }, f.kind), el("h2", {}, prose(f.title))),
      el("p", { class: "facts" }, facts.join(" \u00b7 ")),
      f.inputs ? el("p", { class: "facts" }, `inputs: ${f.inputs.map((i) => `${i.name} = ${i.value} (${i.thread})`).join(", ")}`) : null,
      f.replays || f.replays === null ? null : el("p", { class: "hint warn" }, f.not_replayed || "Running the schedule again gave another result."),
      el("p", { class: "replay" }, el("code", {}, command), copyButton(command)));
  }

  /* Of a prediction: the observed order beside the predicted one. */
  orders() {
    const p = this.entry.finding.predicted;
    if (!p) return null;
    const rows = p.observed.map((line, i) => el("tr", {}, el("td", {}, prose(line)), el("td", {}, prose(p.predicted[i] || ""))));
    return el("div", { class: "card" }, el("h3", {}, "Predicted from an execution without it"),
      el("table", { class: "orders" }, el("tr", {}, el("th", {}, "observed"), el("th", {}, "predicted")), rows));
  }

  story() {
    const story = this.entry.finding.story;
    if (!story) return null;
    const shown = story.rows.filter((r) => r.number);
    this.storyRows = [];
    let hidden = [];
    const items = [];
    /* Rows that do not explain the failure are folded. */
    const fold = () => {
      if (!hidden.length) return;
      const rows = hidden;
      hidden = [];
      for (const row of rows) row.hidden = true;
      const button = el("button", { type: "button", class: "story-fold", onclick: () => { button.parentNode.remove(); for (const row of rows) row.hidden = false; } }, `${plural(rows.length, "more line")}`);
      items.push(el("li", {}, button), ...rows);
    };
    for (const r of shown) {
      const row = this.storyRow(story, r);
      if (r.hidden) hidden.push(row);
      else { fold(); items.push(row); }
    }
    fold();
    return el("div", { class: "card story", tabindex: "0", role: "region", "aria-label": "What happened" }, el("h3", {}, "What happened"), el("ol", {}, items),
      this.alternative(story), story.remark ? el("p", { class: "hint" }, prose(story.remark)) : null);
  }

  /* The order that fails, and beside it the one that passes. */
  alternative(story) {
    if (!story.order) return null;
    const row = (n) => story.rows.find((r) => r.number === n);
    const step = (n) => el("span", { class: "alternative-step" }, `${n} `, el("b", {}, row(n).thread.split(" ")[0]), ` line ${row(n).line}`);
    const { before, after } = story.order;
    return el("div", { class: "alternative" },
      el("p", { class: "fails" }, el("span", { class: "how" }, "fails"), step(before), " \u2192 ", step(after)),
      el("p", { class: "passes" }, el("span", { class: "how" }, "passes"), step(after), " \u2192 ", step(before)),
      el("p", { class: "hint" }, `The order of ${before} and ${after} matters: swapping them makes it pass (verified).`));
  }

  storyRow(story, r) {
    const name = r.thread.split(" ")[0];
    const index = this.entry.runs[0].threads.findIndex((t) => t[0] === name);
    const order = story.order && (r.number === story.order.before || r.number === story.order.after);
    const button = el("button", { type: "button", class: `story-row mark-${r.mark}`, style: `--c:var(--t${Math.max(0, index) % 8})`, onclick: () => this.goToRow(r) },
      el("span", { class: "number" }, String(r.number)), el("span", { class: "badge" }, r.thread),
      el("span", { class: "what" }, el("code", {}, `${r.line}  ${(r.source || "").trim()}`), r.what ? el("span", { class: "effect" }, r.what) : null),
      order ? el("span", { class: "matters" }, "order matters") : null);
    this.storyRows.push({ row: r, button });
    return el("li", {}, button);
  }

  bar() {
    const button = (label, text, go) => el("button", { type: "button", class: "tool", "aria-label": label, title: label, onclick: go }, text);
    this.slider = el("input", { type: "range", min: "0", value: "0", class: "slider", "aria-label": "Step", oninput: () => this.go(Number(this.slider.value)) });
    this.now = el("output", { class: "now-at" });
    this.choice = el("div", { class: "choice", role: "radiogroup", "aria-label": "Schedule" });
    for (const r of this.entry.runs) {
      const input = el("input", { type: "radio", name: `run-${this.ordinal}`, value: r.name, onchange: () => this.choose(r.name, null) });
      this.choice.append(el("label", {}, input, r.name === "smaller" ? "minimised" : "original"));
    }
    const check = (text, name) => el("label", { class: "check" }, el("input", { type: "checkbox", checked: true,
      onchange: (e) => { this.lanes[name] = this.options[name] = e.target.checked; this.lanes.filter(); this.go(this.step); } }), text);
    this.options = { accesses: true, arrows: true, folds: true };
    this.search = el("input", { type: "search", class: "search", placeholder: "search", "aria-label": "Search steps: Enter goes to the next one", onkeydown: (e) => {
      if (e.key === "Enter") { this.find(e.target.value, e.shiftKey ? -1 : 1); e.preventDefault(); }
    } });
    this.filtered = el("button", { type: "button", class: "chip only", hidden: true, title: "Show all steps again", onclick: () => this.only(null) });
    return el("div", { class: "card bar" },
      el("div", { class: "tools", role: "group", "aria-label": "Stepping" },
        button("First step (Home)", "\u21e4", () => this.go(0)), button("Previous switch (P)", "\u00ab", () => this.hop(-1)),
        button("Step back (arrow up)", "\u2190", () => this.go(this.step - 1)), button("Step forward (arrow down)", "\u2192", () => this.go(this.step + 1)),
        button("Next switch (N)", "\u00bb", () => this.hop(1)), button("Last step (End)", "\u21e5", () => this.go(Infinity))),
      this.slider, this.now, this.entry.runs.length > 1 ? this.choice : null, this.search, this.filtered, check("accesses", "accesses"), check("folds", "folds"), check("arrows", "arrows"));
  }

  /* Goes to the next step with this text in its operation, its object or its place. */
  find(text, direction) {
    const n = this.run.steps.length, wanted = text.trim().toLowerCase();
    this.search.classList.remove("missing");
    if (!wanted) return;
    for (let k = 1; k <= n; k++) {
      const s = this.run.steps[(((this.step + direction * k) % n) + n) % n];
      if (!this.run.sentence(s).toLowerCase().includes(wanted)) continue;
      this.only(null);
      this.go(s.index);
      return;
    }
    this.search.classList.add("missing");
  }

  /* Shows only the steps of one variable or lock, by the number of its object; null: all. */
  only(object) {
    this.lanes.only = object;
    this.filtered.hidden = object === null;
    if (object !== null) this.filtered.textContent = `only ${this.run.objects[object - 1].name} \u00d7`;
    this.lanes.filter();
    this.go(this.step);
  }

  /* The original and the minimised schedule side by side: which thread ran when. */
  strips() {
    const m = this.entry.finding.minimised, several = this.entry.runs.length > 1;
    this.strip = new Map();
    this.zoom = { from: 0, to: 1 };
    const rows = this.entry.runs.map((r) => {
      const cost = m ? (r.name === "smaller" ? m : m.original) : null;
      const canvas = el("canvas", { class: "strip", height: "14", role: "img", "aria-label": `Which thread runs at each step of the ${r.name === "smaller" ? "minimised" : "original"} schedule` });
      canvas.addEventListener("click", (e) => this.choose(r.name, this.stripAt(canvas, e.offsetX) * r.events.length));
      canvas.addEventListener("wheel", (e) => { this.zoomBy(this.stripAt(canvas, e.offsetX), e.deltaY < 0 ? 0.7 : 1 / 0.7); e.preventDefault(); }, { passive: false });
      canvas.addEventListener("dblclick", () => { this.zoom = { from: 0, to: 1 }; this.paint(); });
      canvas.title = "Click: go there. Wheel: zoom. Double click: all.";
      this.strip.set(r.name, canvas);
      return el("div", { class: "strip-row" }, el("span", { class: "strip-name" }, !several ? "all steps" : r.name === "smaller" ? "minimised" : "original"), canvas,
        el("span", { class: "strip-cost" }, cost ? `${plural(cost.preemptions, "preemption")}, ${plural(cost.steps, "step")}` : ""));
    });
    new ResizeObserver(() => this.paint()).observe(rows[0]);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.paint());
    return el("div", { class: "card strips" }, rows);
  }

  /* The part of the run, from 0 to 1, at a place of a strip. */
  stripAt(canvas, x) { return this.zoom.from + (x / canvas.clientWidth) * (this.zoom.to - this.zoom.from); }

  zoomBy(at, factor) {
    const { from, to } = this.zoom, width = Math.min(1, Math.max(1e-5, (to - from) * factor));
    const left = Math.min(1 - width, Math.max(0, at - (at - from) * (width / (to - from))));
    this.zoom = { from: left, to: left + width };
    this.paint();
  }

  paint() {
    const style = getComputedStyle(document.documentElement);
    const colours = Array.from({ length: 8 }, (_, i) => style.getPropertyValue(`--t${i}`).trim());
    const longest = Math.max(...this.entry.runs.map((r) => r.events.length), 1), whole = this.zoom.to - this.zoom.from === 1;
    for (const r of this.entry.runs) {
      const canvas = this.strip.get(r.name), scale = window.devicePixelRatio || 1;
      canvas.style.maxWidth = whole ? `${Math.max(2, (100 * r.events.length) / longest)}%` : "";
      const width = canvas.clientWidth, pen = canvas.getContext("2d");
      canvas.width = Math.max(1, width * scale);
      canvas.height = 14 * scale;
      const n = r.events.length, first = Math.floor(this.zoom.from * n), last = Math.min(n, Math.ceil(this.zoom.to * n));
      const each = canvas.width / Math.max(1, (this.zoom.to - this.zoom.from) * n), x = (i) => (i - this.zoom.from * n) * each;
      for (let i = first, begin = first; i < last; i++) {
        if (i + 1 < last && r.events[i + 1][0] === r.events[i][0]) continue;
        pen.fillStyle = colours[r.events[i][0] % 8];
        pen.fillRect(x(begin), 0, Math.max(1, (i + 1 - begin) * each - (each > 4 ? 1 : 0)), canvas.height);
        begin = i + 1;
      }
      if (this.run && this.run.name === r.name) {
        pen.fillStyle = style.getPropertyValue("--ink").trim();
        pen.fillRect(Math.min(x(this.step), canvas.width - 3 * scale), 0, Math.max(2 * scale, 2), canvas.height);
      }
    }
  }

  keys() {
    return el("p", { class: "hint keys" }, el("kbd", {}, "\u2191"), el("kbd", {}, "\u2193"), " step  ", el("kbd", {}, "Home"), el("kbd", {}, "End"), " first, last  ",
      el("kbd", {}, "N"), el("kbd", {}, "P"), " next and previous switch  ", el("span", { class: "legend" }, "happens before"), el("span", { class: "legend sees" }, "sees its value"), el("span", { class: "legend wakes" }, "wakes"));
  }

  more() {
    const parts = [this.stacks(), el("details", {}, el("summary", {}, "The finding as text"), el("pre", { tabindex: "0" }, this.entry.text || ""))];
    if (this.entry.output) parts.push(el("details", {}, el("summary", {}, "Output of the program"), el("pre", { tabindex: "0" }, this.entry.output)));
    return el("div", { class: "more" }, parts.filter(Boolean));
  }

  /* The call stacks that the finding has: of the threads that fail, wait, or made the other access. */
  stacks() {
    const places = this.entry.finding.where.filter((p) => p.stack && p.stack.length);
    const one = (p) => el("div", {}, el("h3", {}, `${p.thread} ${p.role === "previous" ? "before" : p.role}`),
      el("pre", {}, p.stack.map((f) => `${f.function || "?"}  ${f.file ? `${f.file}:${f.line}` : ""}`).join("\n")));
    return places.length ? el("details", { class: "stacks" }, el("summary", {}, "Call stacks at the failure"), places.map(one)) : null;
  }

  /* ---- parts that change with the step ---- */

  choose(name, step) {
    if (!this.runs.has(name)) {
      const data = this.entry.runs.find((r) => r.name === name);
      this.runs.set(name, new Run(data, this.entry, name === this.entry.runs[0].name));
    }
    this.run = this.runs.get(name);
    for (const input of this.choice.querySelectorAll("input")) input.checked = input.value === name;
    this.filtered.hidden = true;
    this.lanes = new Lanes(this.run, (i) => this.go(i), () => this.go(this.step));
    Object.assign(this.lanes, this.options);
    this.lanes.filter();
    this.source = new Source(this.run, this.entry);
    this.values = new Values(this.run, this.entry, (object) => this.only(object));
    this.lanes.pair = this.pair();
    const left = this.run.leftOut ? el("p", { class: "hint warn" }, `The first ${plural(this.run.leftOut, "event")} of this run are left out: \`heddle trace show\` has them.`) : null;
    this.stage.replaceChildren(this.told || "", el("div", { class: "left" }, left, this.lanes.box), el("div", { class: "right" }, this.source.box, this.values.box));
    this.slider.max = String(Math.max(0, this.run.steps.length - 1));
    this.go(step === null ? this.beginning() : Math.floor(step));
  }

  /* The initial step: the one that fails, else the last. */
  beginning() {
    const fails = this.run.steps.findIndex((s) => s.mark === "fails");
    return fails >= 0 ? fails : Math.max(0, this.run.steps.length - 1);
  }

  /* The two steps whose order matters. */
  pair() {
    const story = this.run.isShown && this.entry.finding.story;
    if (!story || !story.order) return null;
    const at = (n) => {
      const row = story.rows.find((r) => r.number === n), step = row.last_event - 1 - this.run.leftOut;
      return this.run.steps[step] ? step : this.stepOfRow(row);
    };
    return { from: at(story.order.before), to: at(story.order.after) };
  }

  stepOfRow(row) {
    const rows = this.entry.finding.story.rows;
    let at = -1;
    for (const r of rows) {
      const thread = this.run.threadNamed(r.thread.split(" ")[0]);
      const same = (s) => thread && s.thread === thread.index && s.place && s.place.line === r.line && s.index > at;
      const found = this.run.steps.findIndex(r.mark === "step" ? same : (s) => same(s) && (s.mark === r.mark || s.end));
      if (found >= 0) at = found;
      if (r === row) return found >= 0 ? found : Math.max(0, at);
    }
    return 0;
  }

  /* Marks the last row of the story that has been reached. */
  pointAtStory() {
    if (!this.storyRows || !this.storyRows.length) return;
    if (this.run.isShown && this.storyRows[0].step === undefined) for (const t of this.storyRows) t.step = this.stepOfRow(t.row);
    let last = null;
    for (const t of this.storyRows) {
      t.button.removeAttribute("aria-current");
      if (this.run.isShown && t.step <= this.step && (!last || t.step >= last.step)) last = t;
    }
    if (!last) return;
    last.button.setAttribute("aria-current", "step");
    const top = last.button.offsetTop, box = this.told; /* without scrolling the page */
    if (top < box.scrollTop || top + last.button.offsetHeight > box.scrollTop + box.clientHeight)
      box.scrollTop = Math.max(0, top - box.clientHeight / 2);
  }

  goToRow(row) {
    if (!this.run.isShown) this.choose(this.entry.runs[0].name, null);
    this.go(this.stepOfRow(row));
  }

  hop(direction) {
    const steps = this.run.steps;
    let i = this.step + direction;
    while (i > 0 && i < steps.length - 1 && steps[i].thread === steps[i - 1].thread) i += direction;
    this.go(i);
  }

  /* Skips steps that are hidden. */
  go(step) {
    const last = this.run.steps.length - 1;
    if (last < 0) return;
    const order = this.lanes.order, was = this.step, k = lastUpTo(order, Math.max(0, Math.min(last, step)));
    const to = order[Math.max(0, step > was && order[k] <= was ? Math.min(k + 1, order.length - 1) : k)];
    this.step = to;
    const s = this.run.steps[to];
    this.slider.value = String(to);
    this.slider.setAttribute("aria-valuetext", this.run.sentence(s));
    this.now.textContent = this.run.position(s);
    this.lanes.go(to);
    this.source.show(to);
    this.values.show(to);
    if (this.strip) this.paint();
    this.pointAtStory();
    if (shown === this) remember();
    document.getElementById("said").textContent = `Event ${this.run.position(s).replace("/", "of")}: ${this.run.sentence(s)}`;
  }

  key(e) {
    const page = Math.max(1, Math.floor(this.lanes.box.clientHeight / ROW) - 3);
    const moves = {
      ArrowDown: 1, ArrowRight: 1, j: 1, ArrowUp: -1, ArrowLeft: -1, k: -1, PageDown: page, PageUp: -page,
    };
    if (e.key in moves) this.go(this.step + moves[e.key]);
    else if (e.key === "Home") this.go(0);
    else if (e.key === "End") this.go(Infinity);
    else if (e.key === "n") this.hop(1);
    else if (e.key === "p") this.hop(-1);
    else return;
    e.preventDefault();
  }
}

/* Pages opened from disk may have no clipboard; then the text is selected. */
function copyButton(text) {
  const button = el("button", { type: "button", class: "tool copy", "aria-label": `Copy: ${text}`, onclick: async () => {
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "copied";
    } catch {
      getSelection().selectAllChildren(button.previousSibling);
      button.textContent = "selected";
    }
    setTimeout(() => { button.textContent = "copy"; }, 1500);
  } }, "copy");
  return button;
}
