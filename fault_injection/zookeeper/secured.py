"""A ZooKeeper that takes connections by mutual TLS alone, with the TLS of the server itself."""

from pathlib import Path

from fencepost.fault_injection.processes.ports import HOST
from fencepost.fault_injection.processes.supervisor import Supervisor
from fencepost.fault_injection.zookeeper.classes import class_path
from fencepost.fault_injection.zookeeper.configuration import Settings, property_value
from fencepost.fault_injection.zookeeper.server import JARS, ZooKeeperServer, find_jars
from fencepost.fault_injection.zookeeper.status import four_letter_word
from fencepost.spec.wire.tls import CA_FILE, KEY_STORE_FILE

TLS_JARS = (
    "netty-buffer-*.jar",
    "netty-codec-base-*.jar",
    "netty-common-*.jar",
    "netty-handler-[0-9]*.jar",
    "netty-resolver-[0-9]*.jar",
    "netty-transport-[0-9]*.jar",
    "netty-transport-classes-epoll-*.jar",
    "netty-transport-native-unix-common-*.jar",
)
"""What it loads beside the others."""
HANDSHAKE_S = 5.0
"""For the first one Java loads half of its cryptography."""
CIPHERS = ",".join(
    f"TLS_{how}AES_{size}"
    for how in ("", "ECDHE_ECDSA_WITH_")
    for size in ("256_GCM_SHA384", "128_GCM_SHA256")
)
"""Those of TLS 1.3, and of 1.2 those that a broker takes too; Java would also take CBC."""
_CLASSES = "org.apache.zookeeper.server"


class SecuredZooKeeperServer(ZooKeeperServer):
    """One server, which a certificate of its authority opens."""

    def __init__(
        self,
        supervisor: Supervisor,
        directory: Path,
        identity: Path,
        *,
        port: int | None = None,
    ) -> None:
        """`identity` is the folder that `CertificateAuthority.add_zookeeper` makes."""
        super().__init__(supervisor, directory, port=port)
        self._identity = identity

    def configuration_told(self) -> str:
        """As of any server; the server trusts its own certificate too."""
        return four_letter_word(self.endpoint, "conf", HANDSHAKE_S, self._identity)

    def settings(self, port: int) -> Settings:
        """A port for TLS, and none without."""
        return {
            "secureClientPort": port,
            "secureClientPortAddress": HOST,
            "serverCnxnFactory": f"{_CLASSES}.NettyServerCnxnFactory",
            "authProvider.x509": f"{_CLASSES}.auth.X509AuthenticationProvider",
            "ssl.keyStore.location": property_value(str(self._identity / KEY_STORE_FILE)),
            "ssl.trustStore.location": property_value(str(self._identity / CA_FILE)),
            "ssl.clientAuth": "need",
            "ssl.enabledProtocols": "TLSv1.3,TLSv1.2",
            "ssl.ciphersuites": CIPHERS,
        }

    def main_command(self, java: Path, main_class: str) -> list[str]:
        """As of any server, with what TLS needs."""
        del java
        return ["-cp", class_path(find_jars((*JARS, *TLS_JARS))), main_class]
