"""What --web.config.file costs: handshakes and passwords, as CPU of the exporter."""
import pathlib
import tempfile
import time

import harness
import measure
import web_files
from measure import Row, Samples

REPLAY = ("--source=replay", f"--source.replay.file={harness.REPLAYS / 'idle.jsonl'}",
          "--source.replay.speed=max")
PAGE = "/-/ready"


def _cpu_us(exporter, action, scale):
    """Of each call, among some that are counted together: the clock's reading costs, too."""
    each = 1 if scale.smoke else 20
    samples = Samples()
    for _ in range(scale.repeats):
        before = measure.cpu_seconds(exporter.pid)
        for _ in range(each):
            action()
        samples.append((measure.cpu_seconds(exporter.pid) - before) / each * 1e6)
    return samples


def _serve(directory, config, context=None, headers=None):
    file = directory / "web.yml"
    web_files.write(file, config)
    return web_files.SecureExporter(*REPLAY, f"--web.config.file={file}", context=context,
                                    headers=headers)


def _connections(directory, scale):
    certificates = web_files.Certificates(directory)
    ca = certificates.authority("ca")
    certificates.server("ecdsa", "ca")
    certificates.server("rsa", "ca", rsa=True)
    mine = certificates.signed("mine", "ca")

    def measured(fields, context=None, kept=False):
        config = {"tls_server_config": fields} if fields else {}
        with _serve(directory, config, context) as exporter:
            connection = exporter.connect()

            def ask_again():
                connection.request("GET", PAGE)
                connection.getresponse().read()

            ask_again()
            # Files that changed within two seconds are read each time.
            time.sleep(0 if scale.smoke else 2.5)
            found = _cpu_us(exporter, ask_again if kept else lambda: exporter.get(PAGE), scale)
            connection.close()
            return found

    def tls(name, **more):
        return {"cert_file": f"{name}.pem", "key_file": f"{name}.key", **more}

    def row(what, samples, note=""):
        return Row(f"web-config: {what}", "reported", samples.show("us"), "reported", note)

    trusting = web_files.client(ca)
    return [
        row("a connection and a request without TLS", measured(None)),
        row("the same with TLS, ECDSA P-256", measured(tls("ecdsa"), trusting)),
        row("the same with TLS, RSA 2048", measured(tls("rsa"), trusting)),
        row("the same with TLS, ECDSA P-256, client certificate verified",
            measured(tls("ecdsa", client_ca_file="ca.pem",
                         client_auth_type="RequireAndVerifyClientCert"),
                     web_files.client(ca, mine))),
        row("a request on a connection that is kept, without TLS", measured(None, kept=True)),
        row("the same with TLS", measured(tls("ecdsa"), trusting, kept=True)),
    ]


def _passwords(directory, scale):
    config = {"basic_auth_users": {"prometheus": web_files.bcrypt("secret", 10)}}
    with _serve(directory, config, headers=web_files.basic("prometheus", "secret")) as exporter:
        wrong = iter(range(10**6))
        time.sleep(0 if scale.smoke else 2.5)

        def first():
            headers = web_files.basic("prometheus", f"wrong {next(wrong)}")
            assert exporter.get(PAGE, headers)[0] == 401

        fresh = _cpu_us(exporter, first, scale)
        known = _cpu_us(exporter, lambda: exporter.get(PAGE), scale)
    return [Row("web-config: a password, bcrypt at cost 10", "reported",
                f"first {fresh.median() / 1e3:.1f} ms, then {known.show('us')}", "reported",
                "with the connection, without TLS; the first on a thread of its own")]


def rows(scale):
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        measure.say("web-config: connections")
        found = _connections(directory, scale)
        measure.say("web-config: passwords")
        return found + _passwords(directory, scale)
