"""The result of a command, with errors of ours as `main` prints them."""

from click.testing import Result

from tidegate.model.errors import TidegateError, UserError


def printed(result: Result) -> Result:
    """The same result; what was raised is on stderr, with the exit code of the program."""
    error = result.exception
    if isinstance(error, UserError):
        where = f"{error.where}: " if error.where else ""
        _print(result, "".join(f"Error: {where}{each.text()}\n" for each in error.problems))
        result.exit_code = 2
    elif isinstance(error, TidegateError):
        _print(result, f"Error: {error}\n")
        result.exit_code = 1
    return result


def _print(result: Result, text: str) -> None:
    result.stderr_bytes = (result.stderr_bytes or b"") + text.encode()
    result.output_bytes += text.encode()
