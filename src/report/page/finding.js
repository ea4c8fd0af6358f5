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
      this.heading(), this.story(), this.orders(), this.bar(), this.strips(), this.stage, this.keys(), this.more());
    this.choose(entry.runs[0].name, null);
  }

  /* ---- fixed parts ---- */

  heading() {
    const f = this.entry.finding, m = f.minimised;
    const facts = [];
    if (m) facts.push(`${plural(m.preemptions, "preemption")}${m.fewest_preemptions ? " (the minimum)" : ""}`, plural(m.switches, "switch").replace(/switchs$/, "switches"));
    facts.push(`execution ${f.execution.toLocaleString("en")} of ${f.strategy}`, f.replays ? "replays" : "did not replay");
    const command = `heddle replay ${this.entry.folder}`;
    return el("div", { class: "card head" },
      el("div", { class: "head-line" }, el("span", { class: "kind" }, f.kind), el("h2", {}, prose(f.title))),
      el("p", { class: "facts" }, facts.join(" \u00b7 ")),
      f.replays ? null : el("p", { class: "hint warn" }, f.not_replayed || "Running the schedule again gave another result."),
      el("p", { class: "replay" }, el("code", {}, command), copyButton(command)));
  }

  /* Of a prediction: the observed order beside the predicted one. */
  orders() {
    const p = this.entry.finding.predicted;
    if (!p) return null;
    const list = (lines) => el("td", { style: "vertical-align: top; padding-right: 2em" }, el("ol", {}, lines.map((line) => el("li", {}, prose(line)))));
    return el("div", { class: "card" }, el("h3", {}, "Predicted from an execution without it"),
      el("table", {}, el("tr", {}, el("th", {}, "observed"), el("th", {}, "predicted")), el("tr", {}, list(p.observed), list(p.predicted))));
  }

  story() {
    const story = this.entry.finding.story;
    if (!story) return null;
    const shown = story.rows.filter((r) => r.number);
    this.storyRows = [];
    const items = shown.map((r) => {
      const name = r.thread.split(" ")[0];
      const index = this.entry.runs[0].threads.findIndex((t) => t[0] === name);
      const order = story.order && (r.number === story.order.before || r.number === story.order.after);
      const button = el("button", { type: "button", class: `story-row mark-${r.mark}`, style: `--c:var(--t${Math.max(0, index) % 8})`, onclick: () => this.goToRow(r) },
        el("span", { class: "number" }, String(r.number)), el("span", { class: "badge" }, r.thread),
        el("span", { class: "what" }, el("code", {}, `${r.line}  ${(r.source || "").trim()}`), r.what ? el("span", { class: "effect" }, r.what) : null),
        order ? el("span", { class: "matters" }, "order matters") : null);
      this.storyRows.push({ row: r, button });
      return el("li", {}, button);
    });
    return el("div", { class: "card story" }, el("h3", {}, "What happened"), el("ol", {}, items),
      story.order ? el("p", { class: "hint" }, `The order of ${story.order.before} and ${story.order.after} matters: swapping them makes it pass (verified).`) : null,
      story.remark ? el("p", { class: "hint" }, prose(story.remark)) : null);
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
      onchange: (e) => { this.lanes[name] = this.options[name] = e.target.checked; this.lanes.filter(); this.lanes.go(this.step); } }), text);
    this.options = { accesses: true, arrows: true };
    return el("div", { class: "card bar" },
      el("div", { class: "tools", role: "group", "aria-label": "Stepping" },
        button("First step (Home)", "\u21e4", () => this.go(0)), button("Previous switch (P)", "\u00ab", () => this.hop(-1)),
        button("Step back (arrow up)", "\u2190", () => this.go(this.step - 1)), button("Step forward (arrow down)", "\u2192", () => this.go(this.step + 1)),
        button("Next switch (N)", "\u00bb", () => this.hop(1)), button("Last step (End)", "\u21e5", () => this.go(Infinity))),
      this.slider, this.now, this.entry.runs.length > 1 ? this.choice : null, check("accesses", "accesses"), check("arrows", "arrows"));
  }

  /* The original and the minimised schedule side by side: which thread ran when. */
  strips() {
    if (this.entry.runs.length < 2) return null;
    const m = this.entry.finding.minimised;
    this.strip = new Map();
    const rows = this.entry.runs.map((r) => {
      const cost = m ? (r.name === "smaller" ? m : m.original) : null;
      const canvas = el("canvas", { class: "strip", height: "14", role: "img", "aria-label": `Which thread runs at each step of the ${r.name === "smaller" ? "minimised" : "original"} schedule` });
      canvas.addEventListener("click", (e) => this.choose(r.name, (e.offsetX / canvas.clientWidth) * r.events.length));
      this.strip.set(r.name, canvas);
      return el("div", { class: "strip-row" }, el("span", { class: "strip-name" }, r.name === "smaller" ? "minimised" : "original"), canvas,
        el("span", { class: "strip-cost" }, cost ? `${plural(cost.preemptions, "preemption")}, ${plural(cost.steps, "step")}` : ""));
    });
    new ResizeObserver(() => this.paint()).observe(rows[0]);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.paint());
    return el("div", { class: "card strips" }, rows);
  }

  paint() {
    const style = getComputedStyle(document.documentElement);
    const colours = Array.from({ length: 8 }, (_, i) => style.getPropertyValue(`--t${i}`).trim());
    const longest = Math.max(...this.entry.runs.map((r) => r.events.length), 1);
    for (const r of this.entry.runs) {
      const canvas = this.strip.get(r.name), scale = window.devicePixelRatio || 1;
      canvas.style.width = "";
      canvas.style.maxWidth = `${Math.max(2, (100 * r.events.length) / longest)}%`;
      const width = canvas.clientWidth, pen = canvas.getContext("2d");
      canvas.width = Math.max(1, width * scale);
      canvas.height = 14 * scale;
      const each = canvas.width / Math.max(1, r.events.length);
      for (let i = 0, begin = 0; i < r.events.length; i++) {
        if (i + 1 < r.events.length && r.events[i + 1][0] === r.events[i][0]) continue;
        pen.fillStyle = colours[r.events[i][0] % 8];
        pen.fillRect(begin * each, 0, Math.max(1, (i + 1 - begin) * each - (each > 4 ? 1 : 0)), canvas.height);
        begin = i + 1;
      }
      if (this.run && this.run.name === r.name) {
        pen.fillStyle = style.getPropertyValue("--ink").trim();
        pen.fillRect(Math.min(this.step * each, canvas.width - 3 * scale), 0, Math.max(2 * scale, 2), canvas.height);
      }
    }
  }

  keys() {
    return el("p", { class: "hint keys" }, el("kbd", {}, "\u2191"), el("kbd", {}, "\u2193"), " step  ", el("kbd", {}, "Home"), el("kbd", {}, "End"), " first, last  ",
      el("kbd", {}, "N"), el("kbd", {}, "P"), " next and previous switch  ", el("span", { class: "legend" }, "happens before"), el("span", { class: "legend sees" }, "sees its value"), el("span", { class: "legend wakes" }, "wakes"));
  }

  more() {
    const parts = [el("details", {}, el("summary", {}, "The finding as text"), el("pre", { tabindex: "0" }, this.entry.text || ""))];
    if (this.entry.output) parts.push(el("details", {}, el("summary", {}, "Output of the program"), el("pre", { tabindex: "0" }, this.entry.output)));
    return el("div", { class: "more" }, parts);
  }

  /* ---- parts that change with the step ---- */

  choose(name, step) {
    if (!this.runs.has(name)) {
      const data = this.entry.runs.find((r) => r.name === name);
      this.runs.set(name, new Run(data, this.entry, name === this.entry.runs[0].name));
    }
    this.run = this.runs.get(name);
    for (const input of this.choice.querySelectorAll("input")) input.checked = input.value === name;
    this.lanes = new Lanes(this.run, (i) => this.go(i));
    Object.assign(this.lanes, this.options);
    this.lanes.filter();
    this.source = new Source(this.run, this.entry);
    this.values = new Values(this.run, this.entry);
    const left = this.run.leftOut ? el("p", { class: "hint warn" }, `The first ${plural(this.run.leftOut, "event")} of this run are left out: \`heddle trace show\` has them.`) : null;
    this.stage.replaceChildren(el("div", { class: "left" }, left, this.lanes.box), el("div", { class: "right" }, this.source.box, this.values.box));
    this.slider.max = String(Math.max(0, this.run.steps.length - 1));
    this.go(step === null ? this.beginning() : Math.floor(step));
  }

  /* The initial step: that of the first shown row of the story, else the first. */
  beginning() {
    const story = this.entry.finding.story;
    const row = this.run.isShown && story && story.rows.find((r) => r.number);
    return (row && this.stepOfRow(row)) || 0;
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
    if (last) last.button.setAttribute("aria-current", "step");
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

  /* Skips hidden accesses. */
  go(step) {
    const last = this.run.steps.length - 1;
    if (last < 0) return;
    let to = Math.max(0, Math.min(last, step));
    if (!this.lanes.accesses) {
      const order = this.lanes.order, k = lastUpTo(order, to);
      to = order[Math.max(0, to > this.step && order[k] <= this.step ? Math.min(k + 1, order.length - 1) : k)];
    }
    this.step = to;
    const s = this.run.steps[to];
    this.slider.value = String(to);
    this.slider.setAttribute("aria-valuetext", this.run.sentence(s));
    this.now.textContent = `${to + 1} / ${last + 1}`;
    this.lanes.go(to);
    this.source.show(to);
    this.values.show(to);
    if (this.strip) this.paint();
    this.pointAtStory();
    document.getElementById("said").textContent = `Step ${to + 1} of ${last + 1}: ${this.run.sentence(s)}`;
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
