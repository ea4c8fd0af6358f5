/* lanes.js: the steps of a run from top to bottom, one lane per thread. Only visible rows exist in the document. */

const ROW = 27, GUTTER = 46, DOT = 12, SPARE = 6;
const LONG = 24, BEGIN = 3, END = 8; /* of so many steps of one thread in a row, the first and the last ones are shown */
const NARROW = 46; /* pixels of a lane, at least */
const TEXT = 190; /* pixels: with less to its right, the text of a row is to the left of its lane */

class Lanes {
  constructor(run, onstep, onfilter) {
    this.run = run;
    this.onstep = onstep;
    this.onfilter = onfilter;
    this.folds = true;
    this.only = null; /* the object whose steps are shown */
    this.hidden = new Set(); /* threads */
    this.pair = null;
    this.current = 0;
    this.accesses = true;
    this.arrows = true;
    this.rows = new Map(); /* number of the row to its element */
    this.head = el("div", { class: "lane-head" });
    this.art = svg("svg", { class: "lane-art", "aria-hidden": "true" });
    this.list = el("div", { class: "lane-list" }, this.art);
    this.box = el("div", {
      class: "lanes", tabindex: "0", role: "listbox", "aria-label": "Steps of all threads. Arrow keys step, Home and End go to the first and last one.",
      onscroll: () => this.later(), onclick: (e) => this.click(e),
    }, this.head, this.list);
    this.lanes = run.threads.filter((t) => run.byThread[t.index].length);
    this.column = new Map(this.lanes.map((t, i) => [t.index, i]));
    for (const t of this.lanes) {
      const name = t.called || t.run || "";
      this.head.append(el("button", { type: "button", class: "lane-name", style: `--c:${colourOf(t)}`, title: `${t.name} ${name}: click to hide or show its steps`, onclick: () => this.toggle(t.index) },
        el("b", {}, t.name), name ? el("span", {}, " " + name) : null));
    }
    this.touching = new Map(); /* step to the edges that begin or end there */
    for (const e of run.edges)
      for (const i of [e.from, e.to]) {
        if (!this.touching.has(i)) this.touching.set(i, []);
        this.touching.get(i).push(e);
      }
    new ResizeObserver(() => { this.measure(); this.draw(true); }).observe(this.box);
    this.filter();
  }

  toggle(thread) {
    if (this.hidden.has(thread)) this.hidden.delete(thread);
    else this.hidden.add(thread);
    if (this.hidden.size === this.lanes.length) this.hidden.clear();
    this.lanes.forEach((t, i) => this.head.children[i].classList.toggle("off", this.hidden.has(t.index)));
    this.filter();
    this.onfilter();
  }

  wanted(s) {
    if (s.mark) return true;
    if (this.hidden.has(s.thread) || (!this.accesses && s.plain)) return false;
    return this.only === null || (s.object === this.only && s.op.object !== "thread");
  }

  /* Leaves out the middle of long stretches of one thread that no arrow leads to or from. */
  folded(order) {
    const steps = this.run.steps, kept = [];
    this.gaps = new Map(); /* step to how many are left out before it */
    for (let i = 0; i < order.length; ) {
      let end = i + 1;
      while (end < order.length && steps[order[end]].thread === steps[order[i]].thread) end++;
      let left = 0;
      for (let k = i; k < end; k++) {
        const s = steps[order[k]], inner = end - i > LONG && k >= i + BEGIN && k < end - END;
        if (inner && !s.mark && !s.note && !this.touching.has(s.index)) { left++; continue; }
        if (left) this.gaps.set(s.index, left);
        left = 0;
        kept.push(s.index);
      }
      i = end;
    }
    return kept;
  }

  filter() {
    const order = this.run.steps.filter((s) => this.wanted(s)).map((s) => s.index);
    this.gaps = new Map();
    this.order = this.folds && this.only === null ? this.folded(order) : order;
    this.measure();
    this.draw(true);
  }

  measure() {
    const width = this.box.clientWidth || 700;
    /* Lanes shrink until all are in sight; the text of a row extends over those to its right. */
    const tail = width < 500 || this.lanes.length < 3 ? 0 : 70;
    this.width = Math.max((width - GUTTER - tail) / Math.max(1, this.lanes.length), NARROW);
    const all = GUTTER + this.width * this.lanes.length;
    this.right = all + tail;
    this.list.style.width = this.head.style.width = `${this.right}px`;
    this.list.style.height = `${this.order.length * ROW}px`;
    this.head.style.gridTemplateColumns = `${GUTTER}px repeat(${this.lanes.length}, ${this.width}px)`;
    this.head.firstChild.style.gridColumn = "2";
  }

  x(thread) { return GUTTER + this.column.get(thread) * this.width + DOT; }
  rowOf(step) { return lastUpTo(this.order, step); }

  later() {
    if (this.asked) return;
    this.asked = true;
    requestAnimationFrame(() => { this.asked = false; this.draw(false); });
  }

  click(e) {
    const row = e.target.closest(".row");
    if (row) this.onstep(Number(row.dataset.step));
  }

  /* Goes to a step with as little scrolling as possible. */
  go(step) {
    this.current = step;
    const row = Math.max(0, this.rowOf(step)), head = this.head.offsetHeight;
    const top = row * ROW, room = this.box.clientHeight - head;
    if (top < this.box.scrollTop + ROW) this.box.scrollTop = Math.max(0, top - 2 * ROW);
    else if (top > this.box.scrollTop + room - 2 * ROW) this.box.scrollTop = top - room + 3 * ROW;
    const x = this.x(this.run.steps[step].thread) - DOT;
    if (x < this.box.scrollLeft + GUTTER) this.box.scrollLeft = x - GUTTER;
    else if (x + this.width > this.box.scrollLeft + this.box.clientWidth)
      this.box.scrollLeft = x + this.width - this.box.clientWidth;
    this.draw(false);
    this.mark();
    this.box.setAttribute("aria-activedescendant", `step-${step}`);
  }

  /* Where the text of a row is, whose lane is there. */
  beside(x) {
    const after = this.right - x - 2 * DOT, before = x - GUTTER - DOT;
    return after < TEXT && before > after ? `right:${this.right - x + DOT}px;max-width:${before}px` : `left:${x + DOT}px;max-width:${after}px`;
  }

  row(k) {
    const s = this.run.steps[this.order[k]];
    const [verb, object, rest] = this.run.words(s);
    const classes = ["row", s.plain ? "plain" : "", s.mark ? `mark-${s.mark}` : "", s.failed ? "failed" : ""];
    return el("div", {
      class: classes.filter(Boolean).join(" "), role: "option", id: `step-${s.index}`, "data-step": s.index,
      "aria-posinset": k + 1, "aria-setsize": this.order.length, "aria-label": this.run.sentence(s),
      style: `top:${k * ROW}px;--c:${colourOf(this.run.threads[s.thread])}`,
    },
      el("span", { class: "number" }, s.number === null ? "" : String(s.number)),
      this.gaps.has(s.index) ? el("span", { class: "gap-before" }, `${plural(this.gaps.get(s.index), "step")} folded`) : null,
      el("span", { class: "cell", title: this.run.sentence(s), style: this.beside(this.x(s.thread)) },
        el("span", { class: "verb" }, verb), object ? el("code", {}, object) : null, rest ? el("span", { class: "rest" }, rest) : null));
  }

  draw(again) {
    const height = this.box.clientHeight || 600;
    const first = Math.max(0, Math.floor(this.box.scrollTop / ROW) - SPARE);
    const last = Math.min(this.order.length, Math.ceil((this.box.scrollTop + height) / ROW) + SPARE);
    if (!again && first === this.first && last === this.last) return;
    this.first = first;
    this.last = last;
    for (const [k, row] of this.rows) {
      if (!again && k >= first && k < last) continue;
      row.remove();
      this.rows.delete(k);
    }
    const fresh = document.createDocumentFragment();
    for (let k = first; k < last; k++) {
      if (this.rows.has(k)) continue;
      const row = this.row(k);
      this.rows.set(k, row);
      fresh.append(row);
    }
    this.list.append(fresh);
    this.mark();
  }

  /* Highlights the current step without rebuilding the rows. */
  mark() {
    for (const [k, row] of this.rows) {
      const step = this.order[k];
      row.classList.toggle("later", step > this.current);
      if (step === this.current) row.setAttribute("aria-selected", "true");
      else row.removeAttribute("aria-selected");
    }
    this.drawArt(this.first, this.last);
  }

  y(step) { return (this.rowOf(step) - this.first + 0.5) * ROW; }

  drawArt(first, last) {
    const parts = [], steps = this.run.steps;
    this.art.style.top = `${first * ROW}px`;
    this.art.setAttribute("width", GUTTER + this.width * this.lanes.length);
    this.art.setAttribute("height", Math.max(0, last - first) * ROW);
    for (const t of this.lanes) {
      const list = this.run.byThread[t.index];
      const from = this.rowOf(list[0]), to = this.rowOf(list[list.length - 1]);
      if (to < first || from >= last) continue;
      parts.push(svg("line", { class: "life", x1: this.x(t.index), x2: this.x(t.index), style: `stroke:${colourOf(t)}`,
        y1: (Math.max(from, first) - first + 0.5) * ROW, y2: (Math.min(to, last) - first + 0.5) * ROW }));
    }
    const edges = new Set();
    for (let k = first; k < last; k++) {
      const s = steps[this.order[k]], next = steps[this.order[k + 1]];
      if (next && next.thread === s.thread)
        parts.push(svg("line", { class: "runs" + (next.index > this.current ? " later" : ""), x1: this.x(s.thread), x2: this.x(s.thread),
          y1: (k - first + 0.5) * ROW, y2: (k - first + 1.5) * ROW, style: `stroke:${colourOf(this.run.threads[s.thread])}` }));
      else if (next)
        parts.push(svg("path", { class: "hop" + (next.index > this.current ? " later" : ""), d: this.arrow(this.x(s.thread), (k - first + 0.5) * ROW, this.x(next.thread), (k - first + 1.5) * ROW, 0) }));
      if (this.arrows) for (const e of this.touching.get(s.index) || []) edges.add(e);
    }
    for (const e of edges) {
      const now = e.from === this.current || e.to === this.current;
      /* Most arrows for values read are of no interest. */
      if (e.kind === "sees" && !now && !steps[e.to].mark) continue;
      const x1 = this.x(steps[e.from].thread), x2 = this.x(steps[e.to].thread), y2 = this.y(e.to);
      const kind = ` ${e.kind}${now ? " now" : e.to > this.current ? " later" : ""}`;
      parts.push(svg("path", { class: `arrow${kind}`, d: this.arrow(x1, this.y(e.from), x2, y2, 5) }));
      parts.push(svg("path", { class: `tip${kind}`, d: `M${x2 - 4} ${y2 - 11}L${x2} ${y2 - 5}L${x2 + 4} ${y2 - 11}Z` }));
    }
    if (this.pair && this.arrows) this.drawPair(parts, first, last);
    for (let k = first; k < last; k++) {
      const s = steps[this.order[k]], t = this.run.threads[s.thread];
      parts.push(svg("circle", { class: `dot${s.plain ? " plain" : ""}${s.mark ? ` mark-${s.mark}` : ""}${s.index > this.current ? " later" : ""}`,
        cx: this.x(s.thread), cy: (k - first + 0.5) * ROW, r: s.index === this.current ? 6.5 : s.plain ? 3 : 4.5, style: `--c:${colourOf(t)}` }));
    }
    this.art.replaceChildren(...parts);
  }

  /* The order that matters. */
  drawPair(parts, first, last) {
    const { from, to } = this.pair, rows = [this.rowOf(from), this.rowOf(to)];
    if (rows[1] < first || rows[0] >= last || from === to) return;
    const x1 = this.x(this.run.steps[from].thread), x2 = this.x(this.run.steps[to].thread), y2 = this.y(to);
    parts.push(svg("path", { class: "arrow pair", d: this.arrow(x1, this.y(from), x2, y2, 9) }));
    parts.push(svg("path", { class: "tip pair", d: `M${x2 - 5} ${y2 - 12}L${x2} ${y2 - 5}L${x2 + 5} ${y2 - 12}Z` }));
  }

  /* Down beside its own lane, across between two rows, and into the dot from above: it crosses no text. */
  arrow(x1, y1, x2, y2, aside) {
    const right = x2 > x1 ? 1 : -1, side = x1 + right * aside, across = y2 - ROW / 2;
    const leave = aside ? `Q${side} ${y1 + 3} ${side} ${y1 + 8}` : "";
    return `M${x1} ${y1}${leave}V${across - 4}Q${side} ${across} ${side + right * 4} ${across}H${x2 - right * 4}Q${x2} ${across} ${x2} ${across + 4}V${y2 - 6}`;
  }
}
