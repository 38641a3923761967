"""Files for --web.config.file: certificates, by openssl, and the YAML that names them; clients."""
import base64
import ctypes
import http.client
import json
import os
import ssl
import subprocess

from harness import Exporter


class Certificates:
    """Authorities and what they signed, as NAME.pem and NAME.key in a directory."""

    def __init__(self, directory):
        self.directory = directory

    def _openssl(self, *arguments):
        subprocess.run(["openssl", *map(str, arguments)], cwd=self.directory, check=True,
                       stdin=subprocess.DEVNULL, capture_output=True, timeout=60)

    @staticmethod
    def _key(rsa):
        return ("-newkey", "rsa:2048") if rsa else ("-newkey", "ec", "-pkeyopt",
                                                    "ec_paramgen_curve:P-256")

    def authority(self, name):
        self._openssl("req", "-x509", *self._key(False), "-nodes", "-keyout", f"{name}.key", "-out",
                      f"{name}.pem", "-days", "2", "-subj", f"/CN={name}")
        return self.directory / f"{name}.pem"

    def signed(self, name, authority, sans="", usage="clientAuth", rsa=False, days=2):
        """A leaf; sans as in "DNS:a,IP:10.0.0.1"."""
        extensions = [f"extendedKeyUsage={usage}"] + ([f"subjectAltName={sans}"] if sans else [])
        (self.directory / f"{name}.ext").write_text("\n".join(extensions) + "\n")
        self._openssl("req", *self._key(rsa), "-nodes", "-keyout", f"{name}.key", "-out",
                      f"{name}.csr", "-subj", "/CN=" + name.replace("/", "-"))
        self._openssl("x509", "-req", "-in", f"{name}.csr", "-CA", f"{authority}.pem", "-CAkey",
                      f"{authority}.key", "-CAcreateserial", "-days", days, "-extfile",
                      f"{name}.ext", "-out", f"{name}.pem")
        return self.directory / f"{name}.pem"

    def server(self, name, authority, rsa=False):
        return self.signed(name, authority, "DNS:localhost,IP:127.0.0.1", "serverAuth", rsa)


def client(authority, certificate=None, lowest=None, highest=None, ciphers=None):
    """What a client trusts, shows and can do."""
    context = ssl.create_default_context(cafile=str(authority))
    if certificate:
        context.load_cert_chain(str(certificate), str(certificate.with_suffix(".key")))
    if ciphers:
        context.set_ciphers(ciphers)
    if lowest:
        context.minimum_version = lowest
    if highest:
        context.maximum_version = highest
    return context


def bcrypt(password, cost=4):
    crypt = ctypes.CDLL("libcrypt.so.1").crypt
    crypt.restype = ctypes.c_char_p
    return crypt(password.encode(), b"$2y$%02d$" % cost + b"Zzzzzzzzzzzzzzzzzzzzz.").decode()


def basic(user, password):
    return {"Authorization": "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()}


def write(path, config):
    """Whole or not at all, as those who mount secrets do."""
    fresh = path.with_suffix(".new")
    fresh.write_text(config if isinstance(config, str) else json.dumps(config))  # JSON is YAML
    os.rename(fresh, path)


class SecureExporter(Exporter):
    """Asked with TLS, if there is a context, and with these headers."""

    def __init__(self, *flags, context=None, headers=None, **options):
        self.context, self.headers = context, headers or {}
        super().__init__(*flags, **options)

    def connect(self, context=None):
        context = context or self.context
        if context:
            return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=30, context=context)
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)

    def get(self, path, headers=None, method="GET", context=None, body=None):
        connection = self.connect(context)
        try:
            connection.request(method, path, body=body, headers={**self.headers, **(headers or {})})
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()
