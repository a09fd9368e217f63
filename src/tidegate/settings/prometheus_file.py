"""The Prometheus servers a worker may ask, as files of the settings list them."""

from pathlib import Path

from tidegate.documents.files import bounded_text
from tidegate.documents.reader import Reader
from tidegate.documents.strict_yaml import read_yaml
from tidegate.model.errors import UserError
from tidegate.model.problem import Problem, Problems
from tidegate.prometheus.server import PrometheusServer, read_server


def read_servers(path: Path) -> list[PrometheusServer]:
    """The servers of one file; UserError lists all that is wrong with it, each with its line."""
    try:
        text = bounded_text(path)
    except (OSError, UnicodeDecodeError) as error:
        what = getattr(error, "strerror", None) or "not UTF-8"
        problem = Problem("", what, "name a file with servers: [{name, url}]")
        raise UserError((problem,), where=str(path)) from None
    document = read_yaml(str(path), text)
    problems = Problems()
    reader = Reader(document.data, "", problems)
    if not reader.has("servers"):
        problems.add("servers", "missing", "write a list of {name, url, tokenFile}")
    servers = [read_server(each) for each in reader.children("servers")]
    reader.close()
    names = [server.name for server in servers]
    for name in sorted({name for name in names if names.count(name) > 1}):
        problems.add("servers", f'"{name}" is listed twice', "keep one of them")
    if problems.errors:
        raise UserError(document.located(problems.errors))
    return servers
