"""Loading of libgit2 without the machine's certificates, which a process that asks no remote needs not."""

import os

CERTIFICATES = {"SSL_CERT_FILE": os.devnull, "SSL_CERT_DIR": "/"}
"""Places without a certificate. `pygit2` reads those that it finds as it is imported: 12 ms and 2 MB for the 140 of a
usual machine, and an error where there are none. A folder is looked into only if a remote is asked."""


def load_libgit2() -> None:
    """Load it; call this before anything imports `pygit2`, and before there are threads: the environment is changed."""
    kept = {name: os.environ.get(name) for name in CERTIFICATES}
    os.environ.update(CERTIFICATES)
    try:
        import pygit2
    finally:
        for name, value in kept.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
    assert pygit2.LIBGIT2_VERSION
