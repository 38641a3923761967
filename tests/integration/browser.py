"""A headless Chromium, driven by its DevTools protocol over a pipe: JSON messages ended by NUL."""
import base64
import contextlib
import json
import os
import select
import subprocess
import time

PATIENCE = 60  # seconds, for anything that is waited for


class Browser:
    """One process; tabs come and go. As root it has no sandbox, and sees our own pages only."""

    def __init__(self, program, directory):
        to_browser, self.writer = os.pipe()
        self.reader, from_browser = os.pipe()
        flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                 "--remote-debugging-pipe", "--no-first-run", "--disable-background-networking",
                 f"--user-data-dir={directory}/profile"]

        # The browser reads from descriptor 3 and writes to 4.
        script = f'exec 3<&{to_browser} 4>&{from_browser}; exec "$@"'
        self.process = subprocess.Popen(
            ["bash", "-c", script, "bash", program, *flags, "about:blank"],
            pass_fds=(to_browser, from_browser), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.number, self.rest, self.events = 0, b"", []

    def close(self):
        with contextlib.suppress(OSError):
            self.send("Browser.close")
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.writer)
        os.close(self.reader)

    def send(self, method, session=None, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.writer, data):]
        return self.number

    def receive(self, deadline):
        while b"\0" not in self.rest:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.reader], [], [], left)[0]:
                raise AssertionError("the browser does not answer")
            data = os.read(self.reader, 1 << 16)
            if not data:
                raise AssertionError(f"the browser has ended: {self.process.poll()}")
            self.rest += data
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, session=None, **params):
        number = self.send(method, session, **params)
        deadline = time.monotonic() + PATIENCE
        while True:
            message = self.receive(deadline)
            if message.get("id") == number:
                if "error" in message:
                    raise AssertionError(f"{method}: {message['error']}")
                return message["result"]
            if "method" in message:
                self.events.append(message)

    @contextlib.contextmanager
    def tab(self, width=1280, script=True):
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        tab = Tab(self, session)
        try:
            for domain in ("Page", "Runtime", "Log", "Network"):
                tab.call(f"{domain}.enable")
            tab.call("Emulation.setDeviceMetricsOverride", width=width, height=900,
                     deviceScaleFactor=1, mobile=width < 600)
            tab.call("Emulation.setScriptExecutionDisabled", value=not script)
            yield tab
        finally:
            self.call("Target.closeTarget", targetId=target)


class Tab:
    def __init__(self, browser, session):
        self.browser, self.session = browser, session

    def call(self, method, **params):
        return self.browser.call(method, self.session, **params)

    def open(self, url):
        error = self.call("Page.navigate", url=url).get("errorText")
        assert not error, f"{url}: {error}"
        # Rows are there before the style sheet is, and are wider without it.
        self.wait("document.readyState === 'complete'")

    def run(self, expression):
        """The value of an expression in the page, which also works where its own scripts do not."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in answer:
            raise AssertionError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def wait(self, expression):
        deadline = time.monotonic() + PATIENCE
        while not self.run(expression):
            assert time.monotonic() < deadline, f"never true: {expression}"
            time.sleep(0.05)

    def screenshot(self, path, width):
        """The whole page, at this width."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=900,
                  deviceScaleFactor=1, mobile=width < 600)
        image = self.call("Page.captureScreenshot", captureBeyondViewport=True)["data"]
        path.write_bytes(base64.b64decode(image))

    def complaints(self):
        """What the console says: violations of the policy, errors, exceptions."""
        self.run("0")  # what came before its answer has been received
        found = []
        for event in self.browser.events:
            if event.get("sessionId") != self.session:
                continue
            params = event["params"]
            if event["method"] == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
                found.append(params["entry"]["text"])
            if event["method"] == "Runtime.exceptionThrown":
                found.append(params["exceptionDetails"]["text"])
            if event["method"] == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning"):
                found.append(str(params["args"]))
        return found
