"""Who answers requests with JSON, in the place of an exporter."""
import contextlib
import http.server
import threading


class JsonServer:
    """answer(path) is the body of each GET, as bytes; FileNotFoundError: what it is made of has been
    cleared away, and nothing is answered. Each connection has a thread of its own."""

    def __init__(self, answer):
        self.answer_to = answer
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                outer.respond(self)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05},
                         daemon=True).start()

    def respond(self, handler):
        try:
            body = self.answer_to(handler.path)
        except FileNotFoundError:
            return
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        with contextlib.suppress(OSError):
            handler.wfile.write(body)

    def close(self):
        self.server.shutdown()
        self.server.server_close()
