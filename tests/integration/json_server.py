"""Who answers requests with JSON, in the place of an exporter: at a unix socket, as it does."""
import contextlib
import http.server
import os
import pathlib
import socket as socket_module
import socketserver
import tempfile
import threading


class JsonServer:
    """answer(path) is the body of each GET, as bytes; FileNotFoundError: what it is made of has been
    cleared away, and nothing is answered. Each connection has a thread of its own. 'socket': where;
    None: in a folder of its own. 'listener': the user who listens there, by the kernel's word; None:
    this one. 'refused': who has left without a request."""

    def __init__(self, answer, socket=None, listener=None):
        self.answer_to = answer
        self.refused = 0
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                outer.respond(self)

            def handle(self):
                asked = self.connection.recv(1, socket_module.MSG_PEEK)
                outer.refused += not asked
                super().handle()

            def log_message(self, *_):
                pass

        self.folder_of_socket = tempfile.TemporaryDirectory()
        self.socket = str(socket or pathlib.Path(self.folder_of_socket.name) / "exporter.sock")
        self.server = socketserver.ThreadingUnixStreamServer(self.socket, Handler,
                                                             bind_and_activate=False)
        self.server.daemon_threads = True
        self.server.server_bind()
        self.listen_as(listener)
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05},
                         daemon=True).start()

    def listen_as(self, user):
        """The kernel tells a client who has made the socket listen."""
        if user is None:
            self.server.server_activate()
            return
        child = os.fork()
        if child == 0:
            try:
                os.setuid(user)
                self.server.server_activate()
                os._exit(0)
            finally:
                os._exit(1)
        assert os.waitpid(child, 0)[1] == 0

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
        self.folder_of_socket.cleanup()
