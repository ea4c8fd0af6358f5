"""A headless Chromium, driven over its debugging pipe: file descriptors 3 and 4, JSON messages that end with NUL."""
import base64
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
TIMEOUT = 60


def find():
    """The path of a browser, or None."""
    return next((p for p in map(shutil.which, NAMES) if p), None)


class Browser:
    """One page. Its console output and all errors are kept in `said`."""

    def __init__(self, width=1280, height=900, dark=False):
        self.said = []
        self.number = 0
        self.buffer = b""
        self.profile = tempfile.mkdtemp(prefix="heddle-browser-")
        to_child, self.to = os.pipe()
        self.out, from_child = os.pipe()
        command = [find(), "--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu",
                   "--disable-dev-shm-usage", "--no-first-run", "--disable-extensions", "--hide-scrollbars",
                   "--disable-background-networking", "--user-data-dir=" + self.profile,
                   "--window-size=%d,%d" % (width, height)]

        def place():
            # Via high numbers, since one of the pipes may already be 3 or 4.
            a, b = os.dup2(to_child, 60), os.dup2(from_child, 61)
            os.dup2(a, 3)
            os.dup2(b, 4)

        self.child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                      stderr=subprocess.DEVNULL, close_fds=False, preexec_fn=place,
                                      start_new_session=True)
        os.close(to_child)
        os.close(from_child)
        self.session = None
        page = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")
        self.size(width, height)
        if dark:
            self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for fd in (self.to, self.out):
            os.close(fd)
        try:
            self.child.wait(5)
        except subprocess.TimeoutExpired:
            os.killpg(self.child.pid, signal.SIGKILL)
            self.child.wait()
        shutil.rmtree(self.profile, ignore_errors=True)

    # ---- the protocol ----

    def message(self, end):
        while b"\0" not in self.buffer:
            if not select.select([self.out], [], [], max(0, end - time.monotonic()))[0]:
                raise RuntimeError("the browser does not answer")
            piece = os.read(self.out, 1 << 20)
            if not piece:
                raise RuntimeError("the browser has ended")
            self.buffer += piece
        text, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(text)

    def event(self, m):
        p = m.get("params", {})
        if m.get("method") == "Runtime.exceptionThrown":
            d = p["exceptionDetails"]
            self.said.append("exception: " + d.get("exception", {}).get("description", d["text"]))
        elif m.get("method") == "Runtime.consoleAPICalled":
            self.said.append(p["type"] + ": " + " ".join(str(a.get("value")) for a in p["args"]))
        elif m.get("method") == "Log.entryAdded":
            self.said.append(p["entry"]["level"] + ": " + p["entry"]["text"])
        elif m.get("method") == "Network.requestWillBeSent" and not p["request"]["url"].startswith("file:"):
            self.said.append("request: " + p["request"]["url"])
        self.loaded |= m.get("method") == "Page.loadEventFired"

    loaded = False

    def call(self, method, **params):
        self.number += 1
        m = {"id": self.number, "method": method, "params": params}
        if self.session:
            m["sessionId"] = self.session
        os.write(self.to, json.dumps(m).encode() + b"\0")
        end = time.monotonic() + TIMEOUT
        while True:
            m = self.message(end)
            if m.get("id") == self.number:
                if "error" in m:
                    raise RuntimeError("%s: %s" % (method, m["error"]["message"]))
                return m["result"]
            self.event(m)

    # ---- what a person does ----

    def size(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                  mobile=width < 600)

    def open(self, path):
        self.loaded = False
        self.call("Page.navigate", url="file://" + path)
        end = time.monotonic() + TIMEOUT
        while not self.loaded:
            self.event(self.message(end))

    def eval(self, expression):
        """The value of an expression in the page, after it has been drawn."""
        r = self.call("Runtime.evaluate", returnByValue=True, awaitPromise=True, expression=(
            "new Promise(r => requestAnimationFrame(() => requestAnimationFrame(() => r(%s))))" % expression))
        if "exceptionDetails" in r:
            raise RuntimeError("%s: %s" % (expression, r["exceptionDetails"]))
        return r["result"].get("value")

    def key(self, name, text=None):
        codes = {"ArrowUp": 38, "ArrowDown": 40, "ArrowLeft": 37, "ArrowRight": 39, "Home": 36, "End": 35, "Tab": 9,
                 "Enter": 13, " ": 32}
        code = codes.get(name, ord(name[0].upper()))
        text = {"Enter": "\r", " ": " "}.get(name, name if len(name) == 1 else None)
        for kind in ("keyDown" if text else "rawKeyDown", "keyUp"):
            extra = {"text": text} if text and kind == "keyDown" else {}
            self.call("Input.dispatchKeyEvent", type=kind, key=name, code=name, windowsVirtualKeyCode=code, **extra)

    def click(self, selector):
        x, y = self.eval("(() => { const e = document.querySelector(%s); e.scrollIntoView({block: 'nearest'}); "
                         "const b = e.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; })()"
                         % json.dumps(selector))
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def screenshot(self, path, whole=True, **how):
        self.eval("0")
        data = self.call("Page.captureScreenshot", **dict({"format": "png", "captureBeyondViewport": whole}, **how))["data"]
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as f:
            f.write(base64.b64decode(data))
