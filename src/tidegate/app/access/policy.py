"""The policy file of a service, read and checked: every mistake with its place."""

from tidegate.access.policy_doc import AccessPolicy, read_policy
from tidegate.bundle.finding import BundleFinding, faults_of, path_text
from tidegate.documents.files import located, read_document
from tidegate.model.errors import UserError
from tidegate.model.problem import Problems


def load_policy(path: str) -> AccessPolicy:
    """The policy in a file; UserError lists all that is wrong with it, by line."""
    document = read_document(path)
    try:
        return read_policy(document.data, "")
    except UserError as error:
        raise located(document, error) from None


def policy_findings(path: str) -> tuple[BundleFinding, ...]:
    """Everything that is wrong with a policy file; UserError if it is no YAML."""
    document, problems = read_document(path), Problems()
    try:
        read_policy(document.data, "")
    except UserError as error:
        problems.errors.extend(error.problems)
    found = []
    for each in faults_of(problems, (), "value"):
        line, column = document.position(each.path)
        found.append(
            BundleFinding(
                file=path,
                line=line,
                column=column,
                severity=each.severity,
                rule=each.rule,
                path=path_text(each.path),
                message=each.message,
                remedy=each.remedy,
            )
        )
    return tuple(found)
