# SPDX-License-Identifier: GPL-2.0-or-later
"""A page in headless Chromium, driven through --remote-debugging-pipe: JSON messages that end with a NUL byte, to
descriptor 3 of Chromium and from its descriptor 4."""
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

LIMIT = 60  # seconds for anything that the browser does


class Failed(Exception):
    pass


class Replaced(Failed):
    """The document was replaced by another one while it was asked."""


class Browser:
    def __init__(self):
        self.home = tempfile.mkdtemp()
        to_read, self.to = os.pipe()
        self.source, from_write = os.pipe()
        for fd, target in ((to_read, 3), (from_write, 4)):
            os.set_inheritable(fd, True)
        # sh moves the pipes to the descriptors that Chromium expects.
        script = 'exec "$@" 3<&%d 4>&%d' % (to_read, from_write)
        self.log = open(os.path.join(self.home, "log"), "w")
        self.process = subprocess.Popen(
            ["bash", "-c", script, "bash", "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
             "--disable-extensions", "--disable-background-networking", "--remote-debugging-pipe",
             "--user-data-dir=" + self.home, "about:blank"],
            pass_fds=(to_read, from_write), stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
            env=dict(os.environ, HOME=self.home))
        os.close(to_read)
        os.close(from_write)
        self.buffer = b""
        self.number = 0
        self.events = []
        self.session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")

    def close(self):
        self.process.kill()
        self.process.wait()
        self.log.close()
        shutil.rmtree(self.home, ignore_errors=True)

    def receive(self, until):
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.source], [], [], max(0, until - time.time()))
            part = os.read(self.source, 1 << 20) if ready else b""
            if not part:
                raise Failed("Chromium %s: %s" % ("ended" if ready else "does not answer",
                                                  open(self.log.name).read()[-1000:]))
            self.buffer += part
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        until = time.time() + LIMIT
        while True:
            answer = self.receive(until)
            if answer.get("id") == self.number:
                if "error" in answer:
                    text = answer["error"]["message"]
                    replaced = "navigated" in text or "context" in text
                    raise (Replaced if replaced else Failed)("%s: %s" % (method, text))
                return answer["result"]
            self.events.append(answer)

    def run(self, expression):
        """The value of a JavaScript expression."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise Failed("%s: %s" % (expression, result["exceptionDetails"]["exception"].get("description")))
        return result["result"].get("value")

    def wait(self, expression):
        """Until it is true, in this document or in the one that replaces it."""
        until = time.time() + LIMIT
        while not self.is_true(expression):
            if time.time() > until:
                raise Failed("not true after %d seconds: %s" % (LIMIT, expression))
            time.sleep(0.05)

    def is_true(self, expression):
        try:
            return self.run(expression)
        except Replaced:
            return False

    def open(self, path, width=1400, height=900, ready="document.documentElement.dataset.ready === '1'"):
        """From an empty page: of the same file, with another fragment, Chromium would keep the document."""
        self.size(width, height)
        for scheme, place in (("about:", "blank"), ("file:", "//" + os.path.abspath(path))):
            self.events = []
            self.call("Page.navigate", url=scheme + place)
            self.wait("location.protocol === '%s' && document.readyState === 'complete'" % scheme)
        self.wait(ready)

    def size(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)

    def complaints(self):
        """Exceptions, console messages, and requests other than that of the page itself."""
        found = []
        for e in self.events:
            params = e.get("params", {})
            if e.get("method") == "Runtime.exceptionThrown":
                found.append("exception: " + str(params["exceptionDetails"].get("exception", {}).get("description")))
            elif e.get("method") == "Runtime.consoleAPICalled":
                found.append("console: " + json.dumps(params["args"])[:200])
            elif e.get("method") == "Log.entryAdded":
                found.append("log: " + params["entry"]["text"])
            elif e.get("method") == "Network.requestWillBeSent" and params["type"] != "Document":
                found.append("request: " + params["request"]["url"][:200])
        return found

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def drag(self, x0, y0, x1, y1):
        self.mouse("mouseMoved", x0, y0)
        self.mouse("mousePressed", x0, y0, button="left", buttons=1, clickCount=1)
        for i in range(1, 6):
            self.mouse("mouseMoved", x0 + (x1 - x0) * i / 5, y0 + (y1 - y0) * i / 5, button="left", buttons=1)
        self.mouse("mouseReleased", x1, y1, button="left", clickCount=1)

    def click(self, x, y):
        self.drag(x, y, x, y)

    def key(self, key, modifiers=0):
        code = {"Enter": 13, "Escape": 27, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}[key]
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code,
                      modifiers=modifiers, **({"text": "\r"} if key == "Enter" and kind == "keyDown" else {}))

    def box(self, selector):
        """Scrolls to an element, to its top if it is high: [left, top, width, height] in the window."""
        return self.run("""(e => {
            e.scrollIntoView({block: e.offsetHeight > 0.8 * innerHeight ? 'start' : 'center'});
            const r = e.getBoundingClientRect();
            return [r.left, r.top, r.width, r.height];
        })(document.querySelector(%s))""" % json.dumps(selector))
