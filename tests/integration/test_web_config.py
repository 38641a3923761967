#!/usr/bin/python3
"""--web.config.file with real TLS clients: what is served follows the files, per connection; who may
not come in is refused in the handshake; passwords, headers, the rate limit; files that are wrong."""
import http.client
import os
import pathlib
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import harness
import web_files
from harness import wait_until
from web_files import SecureExporter, basic, bcrypt, client

REPLAY = ("--source=replay", f"--source.replay.file={harness.REPLAYS / 'worked.jsonl'}")
# What a client sees of a handshake that the server ends; in TLS 1.3 that of its own certificate
# comes after the client took it for done.
REFUSED = (ssl.SSLError, ConnectionError, http.client.RemoteDisconnected)
TLS = ssl.TLSVersion


def measure_cpu(pid):
    return time.clock_gettime(~pid << 3 | 2)  # CPUCLOCK_SCHED of another process


class WebConfig(unittest.TestCase):
    def setUp(self):
        self.directory = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.certificates = web_files.Certificates(self.directory)
        self.file = self.directory / "web.yml"

    def write(self, config):
        web_files.write(self.file, config)

    def start(self, *flags, **options):
        return self.enterContext(SecureExporter(*REPLAY, f"--web.config.file={self.file}", *flags,
                                                **options))

    def serve_tls(self, rsa=False, **fields):
        """An exporter with a certificate of 'ca'; self.tls() is for its config files."""
        self.ca = self.certificates.authority("ca")
        self.certificates.server("server", "ca", rsa)
        self.write(self.tls(**fields))
        return self.start(context=client(self.ca))

    @staticmethod
    def tls(**fields):
        return {"tls_server_config": {"cert_file": "server.pem", "key_file": "server.key", **fields}}

    def assert_in(self, exporter, context, path="/-/ready"):
        self.assertEqual(exporter.get(path, context=context)[0], 200)

    def assert_refused(self, exporter, context):
        """Not only does the client get no answer: the request was never seen."""
        with self.assertRaises(REFUSED):
            exporter.get("/", context=context)
        self.assertEqual(exporter.process.poll(), None)


class Files(WebConfig):
    def serial(self, exporter):
        connection = exporter.connect()
        connection.connect()
        serial = connection.sock.getpeercert()["serialNumber"]
        connection.close()
        return serial

    def test_certificate_follows_the_file(self):
        exporter = self.serve_tls()
        kept = exporter.connect()
        kept.request("GET", "/-/ready")
        self.assertEqual(kept.getresponse().read(), b"ready\n")
        seen = {self.serial(exporter)}
        for i in range(3):  # faster than the file system's clock ticks
            self.certificates.server("server", "ca", rsa=i == 1)
            seen.add(self.serial(exporter))
        self.assertEqual(len(seen), 4)
        time.sleep(2.5)  # from then on the files are read only when they change
        self.assertIn(self.serial(exporter), seen)
        self.assertIn(self.serial(exporter), seen)
        self.certificates.server("server", "ca")
        self.assertNotIn(self.serial(exporter), seen)
        # Kubernetes changes where a link leads to.
        for version in ("1", "2"):
            (self.directory / version).mkdir()
            self.certificates.server(f"{version}/tls", "ca")
        link = self.directory / "data"
        link.symlink_to("1")
        self.write(self.tls(cert_file="data/tls.pem", key_file="data/tls.key"))
        first = self.serial(exporter)
        (self.directory / "next").symlink_to("2")
        os.rename(self.directory / "next", link)
        self.assertEqual(len(seen | {first, self.serial(exporter)}), 6)
        # A key that is not the certificate's; then one that is.
        self.write(self.tls(cert_file="1/tls.pem", key_file="2/tls.key"))
        self.assert_refused(exporter, exporter.context)
        self.assertIn("certificate and key: The certificate and the given key do not match",
                      exporter.log())
        self.write(self.tls(cert_file="1/tls.pem", key_file="1/tls.key"))
        self.assertEqual(self.serial(exporter), first)
        # What was connected all the while still is.
        kept.request("GET", "/-/ready")
        self.assertEqual(kept.getresponse().read(), b"ready\n")
        kept.close()

    def test_inline(self):
        ca = self.certificates.authority("ca")
        self.certificates.server("server", "ca")
        mine = self.certificates.signed("me", "ca")
        self.write({"tls_server_config": {
            "cert": (self.directory / "server.pem").read_text(),
            "key": (self.directory / "server.key").read_text(), "client_ca": ca.read_text(),
            "client_auth_type": "RequireAndVerifyClientCert"}})
        exporter = self.start(context=client(ca, mine))
        self.assert_refused(exporter, client(ca))

    def test_file_that_goes_wrong(self):
        exporter = self.serve_tls()
        kept = exporter.connect()
        kept.request("GET", "/-/ready")
        self.assertEqual(kept.getresponse().read(), b"ready\n")
        for text, words in (("tls_server_config: {cert_file: a", "line "),
                            ("tls_config: {}", 'unknown key \\"tls_config\\"'),
                            (None, "No such file or directory")):
            self.write(text) if text else self.file.unlink()
            self.assert_refused(exporter, exporter.context)
            kept.request("GET", "/-/ready")
            answer = kept.getresponse()
            self.assertEqual((answer.status, answer.read()), (500, b"500 internal error\n"))
            self.assertIn(words, exporter.log().splitlines()[-1])
        # Without TLS in the file there is no connection, in particular none without TLS.
        self.write({})
        self.assert_refused(exporter, exporter.context)
        self.assertIn("tls_server_config is no longer there", exporter.log())
        plain = http.client.HTTPConnection("127.0.0.1", exporter.port, timeout=10)
        with self.assertRaises((ConnectionError, http.client.HTTPException)):
            plain.request("GET", "/")
            plain.getresponse()
        plain.close()
        lines = exporter.log().count("\n")
        self.assert_refused(exporter, exporter.context)
        self.assertEqual(exporter.log().count("\n"), lines, "said once")
        self.write(self.tls())
        self.assert_in(exporter, exporter.context)
        self.assertIn("is used again", exporter.log())
        kept.request("GET", "/-/ready")
        self.assertEqual(kept.getresponse().status, 200)
        kept.close()

    def test_refused_at_start(self):
        self.certificates.authority("ca")
        self.certificates.server("server", "ca")
        self.certificates.server("other", "ca")
        (self.directory / "empty.pem").write_text("")
        for config, words in (
                ("tls_server_config:\n  cert_fle: a", 'line 2: unknown key "cert_fle"'),
                ({"basic_auth_users": {"alice": "secret"}}, 'the hash of "alice"'),
                (self.tls(cert_file="none.pem"), "none.pem: No such file"),
                (self.tls(cert_file="."), "Invalid argument"),
                (self.tls(key_file="other.key"), "do not match"),
                (self.tls(cert_file="empty.pem"), "certificate and key: "),
                (self.tls(client_auth_type="RequireAndVerifyClientCert",
                          client_ca_file="empty.pem"), "client_ca"),
                (self.tls(max_version="TLS12", cipher_suites=["TLS_AES_128_GCM_SHA256"]),
                 "no cipher suite is left")):
            with self.subTest(words):
                self.write(config)
                result = harness.run_exporter(*REPLAY, "--web.listen-address=127.0.0.1:0",
                                              f"--web.config.file={self.file}")
                self.assertEqual(result.returncode, 2, result.stderr)
                self.assertIn(words, result.stderr.splitlines()[-1])
                self.assertIn(str(self.file), result.stderr.splitlines()[-1])


class Clients(WebConfig):
    def test_client_certificates(self):
        exporter = self.serve_tls()
        self.certificates.authority("others")
        shown = {
            "none": None,
            "ours": self.certificates.signed("ours", "ca"),
            "theirs": self.certificates.signed("theirs", "others"),
            "a server's": self.certificates.signed("server_only", "ca", usage="serverAuth"),
            "expired": self.certificates.signed("expired", "ca", days=-1),
        }
        everybody = set(shown)
        for kind, ca, let_in in (
                ("NoClientCert", None, everybody),
                ("RequestClientCert", None, everybody),
                ("RequireAnyClientCert", None, everybody - {"none"}),
                ("RequireClientCert", "ca.pem", everybody - {"none"}),
                ("VerifyClientCertIfGiven", "ca.pem", {"none", "ours"}),
                ("VerifyClientCertIfGiven", None, {"none"}),  # by the system's authorities
                ("RequireAndVerifyClientCert", None, set()),
                ("RequireAndVerifyClientCert", "ca.pem", {"ours"}),
                ("RequireAndVerifyClientCert", "others.pem", {"theirs"})):
            self.write(self.tls(client_auth_type=kind, **({"client_ca_file": ca} if ca else {})))
            for version in (TLS.TLSv1_2, TLS.TLSv1_3):
                for name, certificate in shown.items():
                    with self.subTest(kind=kind, shown=name, version=version):
                        context = client(self.ca, certificate, version, version)
                        if name in let_in:
                            self.assert_in(exporter, context)
                        else:
                            self.assert_refused(exporter, context)
        self.write(self.tls())
        # assert_refused() asks for the landing page.
        asked = exporter.scrape().select("interference_exporter_http_requests_total",
                                         handler="landing")
        self.assertEqual(sum(asked.values()), 0)
        self.assertIn("client certificate refused: none was given", exporter.log())
        self.assertIn("client certificate refused: The certificate is NOT trusted", exporter.log())

    def test_allowed_sans(self):
        exporter = self.serve_tls()
        sans = {"dns": "DNS:other.example,DNS:prometheus.example", "mail": "email:ops@example.org",
                "ip": "IP:10.0.0.1", "uri": "URI:spiffe://cluster/prometheus", "no": ""}
        shown = {name: self.certificates.signed(name, "ca", text) for name, text in sans.items()}
        self.certificates.authority("others")
        shown["wrong authority"] = self.certificates.signed("wrong", "others", sans["dns"])
        for allowed, let_in in ((["prometheus.example"], {"dns"}),
                                (["ops@example.org", "10.0.0.1"], {"mail", "ip"}),
                                (["spiffe://cluster/prometheus"], {"uri"}),
                                (["Prometheus.example", "*.example", "dns"], set()), ([], set())):
            self.write(self.tls(client_auth_type="RequireAndVerifyClientCert",
                                client_ca_file="ca.pem", client_allowed_sans=allowed))
            for name, certificate in shown.items():
                with self.subTest(allowed=allowed, shown=name):
                    context = client(self.ca, certificate)
                    if name in let_in:
                        self.assert_in(exporter, context)
                    else:
                        self.assert_refused(exporter, context)
        # Who is only asked for one is let in by name, too.
        self.write(self.tls(client_auth_type="RequestClientCert",
                            client_allowed_sans=["prometheus.example"]))
        self.assert_in(exporter, client(self.ca, shown["dns"]))
        self.assert_in(exporter, client(self.ca, shown["wrong authority"]))
        self.assert_refused(exporter, client(self.ca, shown["ip"]))
        self.assert_refused(exporter, client(self.ca))


class Handshakes(WebConfig):
    def test_waiting_for_a_handshake_costs_nothing(self):
        """Of clients that connect and are silent, or stop in the middle."""
        exporter = self.serve_tls()
        silent = [socket.create_connection(("127.0.0.1", exporter.port)) for _ in range(8)]
        for peer in silent[::2]:
            peer.sendall(b"\x16\x03\x01")
        self.assert_in(exporter, exporter.context)
        wall, cpu = time.monotonic(), measure_cpu(exporter.pid)
        time.sleep(2)
        wall, cpu = time.monotonic() - wall, measure_cpu(exporter.pid) - cpu
        for peer in silent:
            peer.close()
        self.assertLess(cpu / wall, 0.05)

    def agreed(self, exporter, **options):
        """(version, cipher), or None when there is no agreement."""
        connection = exporter.connect(client(self.ca, **options))
        try:
            connection.connect()
            return connection.sock.version(), connection.sock.cipher()[0]
        except REFUSED:
            return None
        finally:
            connection.close()

    def test_versions(self):
        exporter = self.serve_tls()
        versions = (TLS.TLSv1, TLS.TLSv1_1, TLS.TLSv1_2, TLS.TLSv1_3)
        names = ("TLS10", "TLS11", "TLS12", "TLS13")
        for lowest, highest in ((2, 3), (3, 3), (2, 2), (1, 2), (0, 3), (0, 0)):
            self.write(self.tls(min_version=names[lowest], max_version=names[highest]))
            for i, version in enumerate(versions):
                with self.subTest(min=names[lowest], max=names[highest], client=version):
                    found = self.agreed(exporter, lowest=version, highest=version,
                                        ciphers="ALL:@SECLEVEL=0")
                    self.assertEqual(found is not None, lowest <= i <= highest, found)

    def test_suites(self):
        exporter = self.serve_tls(rsa=True)
        listed = {"TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384": "ECDHE-RSA-AES256-GCM-SHA384",
                  "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-RSA-CHACHA20-POLY1305"}
        every = {*listed.values(), "ECDHE-RSA-AES128-GCM-SHA256", "ECDHE-RSA-AES128-SHA",
                 "ECDHE-RSA-AES256-SHA"}
        never = {"AES128-GCM-SHA256", "ECDHE-RSA-AES128-SHA256", "DHE-RSA-AES128-GCM-SHA256"}
        for config, let_in in (({}, every), ({"cipher_suites": list(listed)}, set(listed.values()))):
            self.write(self.tls(**config))
            for cipher in every | never:
                with self.subTest(config=config, cipher=cipher):
                    found = self.agreed(exporter, highest=TLS.TLSv1_2, ciphers=cipher)
                    self.assertEqual(found, ("TLSv1.2", cipher) if cipher in let_in else None)
            # The list is about TLS up to 1.2.
            self.assertEqual(self.agreed(exporter)[0], "TLSv1.3")
        both = "ECDHE-RSA-CHACHA20-POLY1305:ECDHE-RSA-AES256-GCM-SHA384"
        for server, cipher in ((True, "ECDHE-RSA-AES256-GCM-SHA384"),
                               (False, "ECDHE-RSA-CHACHA20-POLY1305")):
            self.write(self.tls(cipher_suites=list(listed), prefer_server_cipher_suites=server))
            self.assertEqual(self.agreed(exporter, highest=TLS.TLSv1_2, ciphers=both)[1], cipher)
        # Of TLS 1.3 only: nothing is left for 1.2.
        self.write(self.tls(cipher_suites=["TLS_CHACHA20_POLY1305_SHA256"]))
        self.assertIsNone(self.agreed(exporter, highest=TLS.TLSv1_2))
        self.assertEqual(self.agreed(exporter)[0], "TLSv1.3")

    def test_curves(self):
        exporter = self.serve_tls()
        curves = {"CurveP256": "P-256", "CurveP384": "P-384", "CurveP521": "P-521",
                  "X25519": "X25519"}
        for listed in (list(curves), ["CurveP384"], ["X25519", "CurveP256"]):
            self.write(self.tls(curve_preferences=listed))
            for name, curve in curves.items():
                with self.subTest(listed=listed, client=name):
                    result = subprocess.run(
                        ["openssl", "s_client", "-connect", f"127.0.0.1:{exporter.port}", "-CAfile",
                         self.ca, "-groups", curve], stdin=subprocess.DEVNULL, capture_output=True,
                        timeout=30)
                    self.assertEqual(result.returncode == 0, name in listed, result.stdout)


class Requests(WebConfig):
    def test_passwords(self):
        self.write({"basic_auth_users": {"alice": bcrypt("secret"), "bob": bcrypt("colon: yes")}})
        exporter = self.start(headers=basic("alice", "secret"))
        self.assertIn("without TLS", exporter.log())
        for headers, status in (({"Authorization": ""}, 401), (basic("alice", "Secret"), 401),
                                (basic("alice", ""), 401), (basic("nobody", "secret"), 401),
                                (basic("nobody", "fakepassword"), 401),
                                (basic("bob", "colon: yes"), 200),
                                ({"Authorization": "Bearer secret"}, 401),
                                ({"Authorization": "Basic ?"}, 401), ({}, 200)):
            for path in ("/metrics", "/", "/nowhere", "/-/healthy", "/api/v1/status"):
                with self.subTest(headers=headers, path=path):
                    answer = exporter.get(path, headers)
                    expected = 404 if status == 200 and path == "/nowhere" else status
                    self.assertEqual(answer[0], expected)
                    self.assertEqual(answer[1]["WWW-Authenticate"],
                                     "Basic" if status == 401 else None)
        self.assertEqual(exporter.get("/metrics", method="HEAD")[::2], (200, b""))
        self.assertEqual(exporter.get("/metrics", method="POST", body=b"x" * 100)[0], 405)
        self.assertEqual(exporter.get("/metrics", basic("alice", "no"), "POST", body=b"x")[0], 401)
        # Users follow the file.
        self.write({"basic_auth_users": {"alice": bcrypt("changed"), "eve": bcrypt("secret")}})
        self.assertEqual(exporter.get("/metrics")[0], 401)
        self.assertEqual(exporter.get("/metrics", basic("alice", "changed"))[0], 200)
        self.assertEqual(exporter.get("/metrics", basic("eve", "secret"))[0], 200)
        # A hash that went wrong lets its user out, and nobody else.
        self.write({"basic_auth_users": {"alice": "none", "eve": bcrypt("secret")}})
        self.assertEqual(exporter.get("/metrics", basic("alice", "changed"))[0], 401)
        self.assertEqual(exporter.get("/metrics", basic("eve", "secret"))[0], 200)
        self.write({})
        self.assertEqual(exporter.get("/metrics", {"Authorization": ""})[0], 200)

    def test_who_is_known_does_not_wait(self):
        """While a wrong password is checked, which takes long here, the server serves; more of them
        from one address are turned away."""
        self.write({"basic_auth_users": {"alice": bcrypt("secret", 4),
                                         "slow": bcrypt("secret", 14)}})
        exporter = self.start(headers=basic("alice", "secret"))
        answers = []

        def attack(i):
            answers.append(exporter.get("/metrics", basic("slow", f"wrong {i}"))[0])

        threads = [threading.Thread(target=attack, args=(i,)) for i in range(6)]
        for thread in threads:
            thread.start()
        for _ in range(20):
            self.assertEqual(exporter.get("/metrics")[0], 200)
        self.assertNotIn(401, answers, "the first check still runs")
        for thread in threads:
            thread.join()
        self.assertEqual(set(answers), {401, 503})
        self.assertGreaterEqual(answers.count(401), 2)

    def test_end_while_passwords_are_checked(self):
        self.write({"basic_auth_users": {"slow": bcrypt("secret", 13)}})
        exporter = self.start(ready=False)
        wait_until(lambda: "TLS off" in exporter.log(), 20, "it serves")

        def ask():
            try:
                exporter.get("/metrics", basic("slow", "wrong"))
            except REFUSED:
                pass

        wait_until(lambda: self.connects(exporter), 20, "it listens")
        threads = [threading.Thread(target=ask) for _ in range(5)]
        for thread in threads:
            thread.start()
        wait_until(lambda: exporter.get("/metrics", {"Authorization": ""})[0] == 401, 10, "it asks")
        code, _ = exporter.stop(signal.SIGTERM)
        self.assertEqual(code, 0, exporter.log())
        for thread in threads:
            thread.join()

    @staticmethod
    def connects(exporter):
        try:
            return exporter.get("/", {"Authorization": ""})[0]
        except OSError:
            return None

    def test_rate_limit_and_headers(self):
        headers = {"Strict-Transport-Security": "max-age=31536000", "X-Frame-Options": "deny",
                   "X-Content-Type-Options": "nosniff", "X-XSS-Protection": "",
                   "Content-Security-Policy": "default-src 'self'"}
        config = {"rate_limit": {"interval": "1h", "burst": 5},
                  "http_server_config": {"headers": headers},
                  "basic_auth_users": {"alice": bcrypt("secret")}}
        self.write(config)
        exporter = self.start(headers=basic("alice", "secret"), ready=False)
        self.assertIn("rate limit", wait_until(
            lambda: "the recording has ended" in exporter.log() and exporter.log(), 20, "all is served"))
        first = wait_until(lambda: self.connects(exporter), 20, "it listens", 0.2)
        self.assertEqual(first, 401)  # this one is counted, too
        for path in ("/metrics", "/-/ready", "/nowhere", "/api/v1/status"):
            answer = exporter.get(path)
            self.assertEqual(answer[0], 404 if path == "/nowhere" else 200)
            for name, value in headers.items():
                self.assertEqual(answer[1].get_all(name), [value] if value else None, name)
        for _ in range(3):
            status, found, body = exporter.get("/metrics")
            self.assertEqual((status, body[:3]), (429, b"429"))
            self.assertIsNone(found["X-Frame-Options"])
        # The limit is that of the start; a wrong file comes before it.
        self.write({})
        self.assertEqual(exporter.get("/metrics")[0], 429)
        self.write("[")
        self.assertEqual(exporter.get("/metrics")[0], 500)


@unittest.skipUnless(os.geteuid() == 0, "needs root, for a network of its own")
class Elsewhere(WebConfig):
    """A client at an address that is not loopback, in a network namespace with one."""

    def status(self, path, *arguments):
        result = subprocess.run(
            ["nsenter", f"--net=/proc/{self.process.pid}/ns/net", "curl", "-sS", "--max-time", "10",
             "--output", "/dev/null", "--write-out", "%{http_code}", "--cacert", self.ca,
             "--resolve", "localhost:10066:192.0.2.7", *arguments, f"https://localhost:10066{path}"],
            capture_output=True, text=True, timeout=30)
        return int(result.stdout or 0)

    def test_who_has_shown_who_it_is(self):
        """... may read the documents of tenants: by a password, or where every client shows a
        certificate that is verified, not one that is only asked for."""
        self.ca = self.certificates.authority("ca")
        self.certificates.server("server", "ca")
        mine = self.certificates.signed("mine", "ca")
        shown = ("--cert", str(mine), "--key", str(mine.with_suffix(".key")))
        ca = {"client_ca_file": "ca.pem"}
        users = {"basic_auth_users": {"alice": bcrypt("secret")}}
        system = self.tls(client_auth_type="RequireAndVerifyClientCert")
        self.write(system)
        self.process = harness.start(
            ["unshare", "--net", "--mount", "bash", "-c",
             'ip link set lo up && ip addr add 192.0.2.7/32 dev lo && '
             'mount --bind "$0" /etc/ssl/certs/ca-certificates.crt && exec "$@"', self.ca,
             harness.EXPORTER, *REPLAY, "--web.listen-address=:10066",
             f"--web.config.file={self.file}"], stderr=subprocess.DEVNULL)
        self.addCleanup(harness.stop, self.process)
        wait_until(lambda: self.status("/-/ready", *shown) == 200, 20, "ready")
        for config, arguments, status in (
                (system, shown, 403),
                (self.tls(), (), 403),
                (self.tls(client_auth_type="RequireAnyClientCert"), shown, 403),
                (self.tls(client_auth_type="RequestClientCert"), shown, 403),
                (self.tls(client_auth_type="VerifyClientCertIfGiven", **ca), (), 403),
                (self.tls(client_auth_type="VerifyClientCertIfGiven", **ca), shown, 403),
                (self.tls(client_auth_type="RequireAndVerifyClientCert", **ca), shown, 200),
                ({**self.tls(), **users}, ("-u", "alice:secret"), 200),
                ({**self.tls(), **users}, ("-u", "alice:wrong"), 401)):
            with self.subTest(config=config, arguments=arguments):
                self.write(config)
                self.assertEqual(self.status("/api/v1/containers", *arguments), status)


class OwnSocket(WebConfig):
    def ask(self, path, user=None):
        """The status, as this user sees it."""
        program = ("import http.client, os, socket, sys\n"
                   "if sys.argv[2]: os.setuid(int(sys.argv[2]))\n"
                   "connection = http.client.HTTPConnection('exporter')\n"
                   "connection.sock = socket.socket(socket.AF_UNIX)\n"
                   "connection.sock.connect(sys.argv[1])\n"
                   "connection.request('GET', '/api/v1/containers')\n"
                   "print(connection.getresponse().status)")
        result = subprocess.run([sys.executable, "-c", program, path, str(user or "")],
                                capture_output=True, text=True, timeout=60, check=False)
        return result.stdout.strip() or result.stderr.splitlines()[-1].split(":")[0]

    def test_programs_of_our_own_user(self):
        """As the governor asks: without TLS, without a password. Others get in if the socket's mode lets
        them, and no further."""
        path = str(self.directory / "exporter.sock")
        self.certificates.authority("ca")
        self.certificates.server("server", "ca")
        users = {"basic_auth_users": {"alice": bcrypt("secret")}}
        for config, refused in ((users, "401"), ({**self.tls(client_ca_file="ca.pem",
                                                            client_auth_type="RequireAndVerifyClientCert"),
                                                 **users}, "403")):
            self.write(config)
            with harness.Exporter(*REPLAY, f"--web.config.file={self.file}",
                                  f"--web.listen-address=unix:{path}", ready=False):
                wait_until(lambda: self.ask(path) == "200", 20, "served without TLS or a password")
                if os.geteuid() != 0:
                    continue
                self.assertEqual(self.ask(path, 65534), "PermissionError")
                self.directory.chmod(0o755)
                os.chmod(path, 0o666)
                self.assertEqual(self.ask(path, 65534), refused)
                self.directory.chmod(0o700)


class Client(WebConfig):
    def test_curl(self):
        """The commands of deploy/security.md."""
        exporter = self.serve_tls(client_ca_file="ca.pem",
                                  client_auth_type="VerifyClientCertIfGiven")
        result = subprocess.run(["curl", "-sS", "--cacert", self.ca,
                                 f"https://localhost:{exporter.port}/-/healthy"],
                                capture_output=True, text=True, timeout=30)
        self.assertEqual((result.returncode, result.stdout), (0, "healthy\n"), result.stderr)


if __name__ == "__main__":
    harness.need_command("openssl", "curl", "ip", "unshare", "nsenter")
    harness.main()
