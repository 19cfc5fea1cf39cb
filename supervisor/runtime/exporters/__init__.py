"""The audit record on its way to other systems.

delivery  delivery of the journal to other systems as it is written
http      records to an HTTP server, as lines of JSON
otlp      records to an OpenTelemetry collector
syslog    records to syslog
"""

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import cast

from monitors.contract.errors import UsageError
from supervisor.config.model import Config
from supervisor.config.sections.exporters import ExporterSettings
from supervisor.protocol.export import Exporter
from supervisor.runtime.assembly.plugins import EXPORTERS, load

__all__ = ["make_exporters"]

BUILT_IN: Mapping[str, str] = {
    "syslog": "SyslogExporter",
    "otlp": "OtlpExporter",
    "http": "HttpExporter",
}
"""The exporters by what the configuration calls them; so are their modules called. One is imported if it is named: few
daemons have any, and the clients of HTTP and sockets took 0.4 MB."""


def make_exporters(config: Config) -> list[Exporter]:
    """Make all exporters that the configuration names, those of plugins last. Blocks: it runs plugins.

    Raises:
        UsageError: Two have one name, or a plugin cannot be loaded or made.
    """
    made = list(_made(config))
    names = [each.name for each in made]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(
                f"{names.count(name)} exporters are named {name!r}, and their positions are kept by name; nothing was started.",
                way_out="Give each a name of its own, in audit.exporters or in the plugin.",
            )
    return made


def _made(config: Config) -> Iterator[Exporter]:
    for wanted in config.audit.exporters:
        module = import_module(f"{__name__}.{wanted.type}")
        make = cast("Callable[[ExporterSettings], Exporter]", getattr(module, BUILT_IN[wanted.type]))
        yield make(wanted)
    for plugin in load(EXPORTERS, config.plugins.exporters):
        yield plugin.make()
