/* main.js: assembles the page: header, findings, searches, keys, and the address (#finding-2/step-40). */

const views = new Map();
let shown = null;

function header() {
  const commands = [...new Set([...DATA.searches, ...DATA.findings].map((x) => x.command.join(" ")))];
  document.title = `${commands.length === 1 ? commands[0] : "Heddle"}: ${plural(DATA.findings.length, "finding")}`;
  document.getElementById("top").append(
    el("span", { class: "brand" }, weave(), "Heddle"), el("span", { class: "command" }, commands.join("  \u00b7  ")),
    el("span", { class: "version" }, DATA.heddle));
}

/* Threads and a shuttle. */
function weave() {
  const art = svg("svg", { viewBox: "0 0 24 24", width: 24, height: 24, "aria-hidden": "true" });
  [5, 12, 19].forEach((x, i) => art.append(svg("line", { x1: x, x2: x, y1: 2, y2: 22, style: `stroke:var(--t${i});stroke-width:2.5;stroke-linecap:round` })));
  art.append(svg("path", { d: "M2 8C8 8 8 16 12 16S18 8 22 8", style: "fill:none;stroke:currentColor;stroke-width:2.2;stroke-linecap:round" }));
  return art;
}

function show(i, focus) {
  const made = views.get(i) || guarded(() => new FindingView(DATA.findings[i], i));
  const whole = made instanceof FindingView;
  views.set(i, made);
  shown = whole ? made : null;
  document.getElementById("shown").replaceChildren(whole ? made.box : made);
  if (whole) made.go(made.step);
  document.querySelectorAll(".finding-link").forEach((a, k) => {
    if (k === i) a.setAttribute("aria-current", "true");
    else a.removeAttribute("aria-current");
  });
  if (focus && whole) shown.lanes.box.focus({ preventScroll: true });
}

function list() {
  if (!DATA.findings.length) return el("p", { class: "card hint" }, "There are no findings.");
  if (DATA.findings.length === 1) return "";
  const latest = new Set(DATA.searches.flatMap((s) => s.findings.map((f) => `${s.folder}/${f.id}`)));
  const items = DATA.findings.map((entry, i) => {
    const f = entry.finding, p = f.where[0];
    const old = DATA.searches.length && !latest.has(entry.folder);
    return el("li", {}, el("a", { class: "finding-link", href: `#finding-${i + 1}` },
      el("span", { class: "kind" }, f.kind), el("span", { class: "title" }, prose(f.title)),
      el("span", { class: "where" }, p && p.file ? `${baseName(p.file)}:${p.line}` : "", old ? " \u00b7 earlier search" : "")));
  });
  return el("nav", { class: "findings", "aria-label": "Findings" }, el("h2", {}, plural(DATA.findings.length, "finding")), el("ol", {}, items));
}

function follow(focus) {
  const m = /^#finding-(\d+)(?:\/(original|smaller))?(?:\/step-(\d+))?$/.exec(location.hash);
  const i = m ? Number(m[1]) - 1 : 0;
  if (i < 0 || i >= DATA.findings.length) return;
  if (!shown || shown !== views.get(i)) show(i, focus);
  if (shown && m && m[2] && shown.entry.runs.some((r) => r.name === m[2])) shown.choose(m[2], null);
  if (shown && m && m[3]) shown.go(Number(m[3]) - 1);
}

/* The address of what is shown, so that it can be sent. */
let remembering = null;
function remember() {
  clearTimeout(remembering);
  remembering = setTimeout(() => {
    if (!shown) return;
    const other = shown.run.isShown ? "" : `/${shown.run.name}`;
    try { history.replaceState(null, "", `#finding-${shown.ordinal + 1}${other}/step-${shown.step + 1}`); } catch { /* not from disk, in some browsers */ }
  }, 200);
}

/* A damaged folder may only be noticed here: one part that cannot be drawn must not hide the others. */
function guarded(draw) {
  try {
    return draw();
  } catch (error) {
    return el("p", { class: "card hint warn" }, `This part cannot be shown, because its data is damaged: ${error.message}`);
  }
}

header();
const searches = DATA.searches.map((s) => guarded(() => overview(s))), bugs = DATA.findings.length > 0;
document.getElementById("main").append(...(bugs ? [] : searches), guarded(list), el("div", { id: "shown" }), ...(bugs ? searches : []));
if (DATA.findings.length) follow(false);
addEventListener("hashchange", () => follow(true));
addEventListener("keydown", (e) => {
  if (!shown || e.ctrlKey || e.metaKey || e.altKey) return;
  /* Elements that scroll, and controls that use the key, keep it. */
  if (e.target.closest("input, select, textarea, .source, .values, pre")) return;
  if (/^(Home|End|Page|Arrow)/.test(e.key) && e.target.closest("a, summary")) return;
  /* Without a focus, the keys scroll the page until the lanes are in view. */
  const box = shown.lanes.box.getBoundingClientRect();
  if (!e.target.closest(".finding") && (box.top > innerHeight / 2 || box.bottom < innerHeight / 2)) return;
  shown.key(e);
});
