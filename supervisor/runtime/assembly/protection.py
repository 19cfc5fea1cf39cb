"""The protection of records, made of the configuration."""

from collections.abc import Mapping

from host.durable import REAL_DISK, Disk
from monitors.masking import Masker
from monitors.secret_patterns import names_secret
from supervisor.config.model import Config
from supervisor.config.paths import StatePaths
from supervisor.runtime.clock import Clock
from supervisor.runtime.protection.keys import ProtectionKey, load_key
from supervisor.runtime.protection.protector import Protector
from supervisor.runtime.protection.vault import FOLDER, Vault

LEAST_OF_A_VARIABLE = 12
"""Characters of a variable's value from which on it is taken for a secret: shorter ones are often words."""


def make_masker(config: Config, environ: Mapping[str, str], key: ProtectionKey) -> Masker:
    """Return what masks records: by the known shapes, one's own patterns, and the values of secret variables."""
    given = {**environ, **config.agent.environment}
    values = [value for name, value in given.items() if names_secret(name) and len(value) >= LEAST_OF_A_VARIABLE]
    return Masker(key.of("marks"), config.audit.patterns, values, config.audit.unmasked)


def make_protector(
    config: Config, places: StatePaths, environ: Mapping[str, str], clock: Clock, disk: Disk = REAL_DISK
) -> Protector:
    """Return what protects the records of a state directory. Blocks.

    Raises:
        ProtectionKeyError: The key is lost, or another. Nothing was changed.
        CredentialError: The key cannot be had from where the configuration says.
        OSError: A file cannot be read or written.
    """
    masks = config.audit.store == "masked"
    if not masks and not (places.state / FOLDER).is_dir():
        return Protector()
    key = load_key(places.state, config.audit.key, environ, clock, disk)
    vault = Vault(places.state, key.of("vault"), key.of("owners"), disk)
    vault.load()
    return Protector(make_masker(config, environ, key) if masks else None, vault, key.of("outputs"))
