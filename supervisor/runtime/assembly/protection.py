"""The protection of records, made of the configuration."""

from collections.abc import Callable, Mapping
from pathlib import Path

from host.durable import REAL_DISK, Disk
from monitors.masking import Masker
from monitors.secret_patterns import names_secret
from supervisor.config.model import Config
from supervisor.config.paths import StatePaths
from supervisor.protocol import records
from supervisor.runtime.clock import Clock
from supervisor.runtime.protection.keys import ProtectionKey, load_key, named_key, opened_ring, read_note
from supervisor.runtime.protection.protector import Protector
from supervisor.runtime.protection.seals import SEALED, UNSEALED, RecordSeals
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
    masks, encrypts = config.audit.store == "masked", config.audit.encrypt
    if not masks and not encrypts and not (places.state / FOLDER).is_dir() and not read_note(places.state).slots:
        return Protector()
    key = load_key(places.state, config.audit.key, environ, clock, disk, encrypts=encrypts)
    vault = Vault(places.state, key.of("vault"), key.of("owners"), disk)
    vault.load()
    seals = RecordSeals(key.data, seals=encrypts) if key.data else UNSEALED
    return Protector(make_masker(config, environ, key) if masks else None, vault, key.of("outputs"), seals)


def make_opener(config: Config, state: Path, environ: Mapping[str, str], clock: Clock) -> Callable[[bytes], bytes]:
    """Return what gives lines of a journal in the clear; the key is asked for at the first that is sealed. Blocks.

    What it returns raises `RecordError` for a sealed line that is damaged.
    """
    found: list[RecordSeals] = []

    def opened(line: bytes) -> bytes:
        if SEALED not in line:
            return line
        records.check(line.removesuffix(b"\n"))  # what is damaged is told so, and not as a wrong key
        if not found:
            note = read_note(state)
            key = named_key(config.audit.key, environ, clock) if config.audit.key and note.slots else None
            found.append(RecordSeals(opened_ring(state, note, key).data) if key is not None else UNSEALED)
        return found[0].opened(line)

    return opened
