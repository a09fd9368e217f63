"""Publishers, channels and subscribers, as saas files have them, and what cannot be read."""

from pathlib import Path

import pytest

from tests.command import tidegate
from tests.pipelined import (
    NEW,
    NEWER,
    OLD,
    PIPELINE,
    PROD,
    PROD_EU,
    SAAS,
    STAGE,
    STAGE_EU,
    bundle_files,
    clone_of,
    pipeline_text,
    reading_in,
    saas_text,
)
from tidegate.kinds.promotions.core.channels.model import SkippableGate, SoakRule
from tidegate.kinds.promotions.core.channels.pipeline import EvidenceRule, TrustRule
from tidegate.kinds.promotions.core.channels.sources import PipelineReading
from tidegate.kinds.promotions.files.channels import DAY
from tidegate.model.errors import UserError


def troubles(found: PipelineReading) -> dict[str, tuple[str, ...]]:
    """What keeps each subscriber back."""
    return {each.name: each.troubles for each in found.subscribers}


def test_publishers_channels_and_subscribers_are_read_from_saas_files(tmp_path: Path) -> None:
    """Also from a target in a file of its own; a branch is as new as its newest commit."""
    found = reading_in(tmp_path, bundle_files())
    assert [(each.name, each.ref, each.soak) for each in found.subscribers] == [
        (PROD, OLD, 0),
        (PROD_EU, OLD, 2 * DAY),
    ]
    assert {each.name: each.version for each in found.publishers} == {STAGE: NEW, STAGE_EU: NEW}
    assert found.channels() == {"payments-stage": (STAGE, STAGE_EU)}
    assert [each.version for each in found.blocked] == [NEWER]
    assert [each.version for each in found.hotfixes] == [NEW]
    assert not any(troubles(found).values())
    places = [each.place for each in found.subscribers]
    assert [each.environment for each in places] == ["payments-prod"] * 2
    assert places[0].path == "resourceTemplates[0].targets[2]"
    assert places[1].file == "data/services/payments/production-eu.yml"


def test_the_name_of_a_target_is_what_ids_of_the_existing_manager_are_made_of(
    tmp_path: Path,
) -> None:
    """A target without a name is `default` there."""
    place = reading_in(tmp_path, bundle_files()).publishers[0].place
    assert place.name == STAGE
    assert len(place.uid()) == 40
    assert place.uid() != place.uid(fips=True)


def test_schedule_soak_and_slos_are_read(tmp_path: Path) -> None:
    """An SLO document has a query for each of its SLOs, at the Prometheus of its namespace."""
    more = (
        "      soakDays: 1\n      schedule: '* 8-16 * * 1-4'\n"
        "    slos: [{$ref: /services/payments/slo.yml}]\n"
    )
    found = reading_in(tmp_path, bundle_files(**{SAAS: saas_text(more=more)}))
    one = found.subscribers[0]
    assert (one.soak, one.schedule, one.slos) == (DAY, "* 8-16 * * 1-4", ("payments-slo",))
    (slo,) = found.slos
    assert slo.query == "avg_over_time(up[28d])"
    assert (slo.url, slo.target) == ("https://prometheus.prod-1.example.com", "0.99")


@pytest.mark.parametrize(
    "path, content, said",
    [
        (SAAS, saas_text(ref="main"), "its ref is main, and not a commit of 40 digits"),
        (SAAS, saas_text(more="      soakDays: soon\n"), "soakDays is soon"),
        (
            SAAS,
            saas_text().replace(
                "namespace: {$ref: /services/payments/production.yml}",
                "namespaceSelector: {jsonPathSelectors: {include: ['namespace[*]']}}",
            ),
            "a namespaceSelector is not worked out: write a target",
        ),
        (
            SAAS,
            saas_text(more="    slos: [{$ref: /services/payments/none.yml}]\n"),
            "the SLO document data/services/payments/none.yml does not exist",
        ),
        ("data/services/payments/production.yml", "name: [", "no YAML"),
        ("data/other.yml", "$schema: /app-sre/saas-file-2.yml\npayments-stage: [", "no YAML"),
    ],
)
def test_what_cannot_be_read_is_withheld_and_said(
    tmp_path: Path, path: str, content: str, said: str
) -> None:
    """A broken file that names the channel may have another publisher of it."""
    found = reading_in(tmp_path, bundle_files(**{path: content}))
    assert said in " ".join(found.subscribers[0].troubles)


def test_a_broken_file_that_names_no_channel_of_it_withholds_nothing(tmp_path: Path) -> None:
    """It is said to be unread all the same."""
    broken = "$schema: /app-sre/saas-file-2.yml\nname: ["
    found = reading_in(tmp_path, bundle_files(**{"data/other.yml": broken}))
    assert not any(troubles(found).values())
    assert len(found.unread) == 1


def test_disabled_and_deleted_targets_take_no_part(tmp_path: Path) -> None:
    """Neither as publishers nor as subscribers."""
    text = saas_text().replace("  - name: stage-eu\n", "  - name: stage-eu\n    disable: true\n")
    text = text.replace("  - name: production\n", "  - name: production\n    delete: true\n")
    found = reading_in(tmp_path, bundle_files(**{SAAS: text}))
    assert [each.name for each in found.publishers] == [STAGE]
    assert [each.name for each in found.subscribers] == [PROD_EU]


def test_a_branch_that_does_not_answer_has_no_version(tmp_path: Path) -> None:
    """Then which version its publisher is to have is not known."""
    found = reading_in(tmp_path, bundle_files(), known={})
    assert [each.version for each in found.publishers] == [None, None]


def test_a_publisher_of_another_repository_is_no_evidence(tmp_path: Path) -> None:
    """The existing validation refuses it; here its subscribers wait."""
    other = (
        saas_text()
        .replace("name: saas-payments", "name: saas-other")
        .replace("/payments/api", "/payments/other")
    )
    found = reading_in(tmp_path, bundle_files(**{"data/other.yml": other}))
    assert "another repository" in " ".join(found.subscribers[0].troubles)


def test_a_pipeline_says_what_saas_files_do_not(tmp_path: Path) -> None:
    """Every field, read into types."""
    more = """saasFiles: ["saas-pay*"]
channels: ["payments-*"]
soak: accumulated
timeZone: Europe/Prague
mergeRequests: {batch: 3, labels: [auto], priority: "bot/approved: high"}
evidence: {runs: 3, named: [load-test]}
trust: {promotions: 5, quorum: 2, people: [user:ada, user:bob]}
quarantine: {role: admin}
hotfix: {skips: [soak], owner: user:ada}
"""
    one = reading_in(tmp_path, bundle_files(**{PIPELINE: pipeline_text(more)})).pipeline
    assert one.partition == "channels/payments"
    assert (one.soak_rule, one.zone) == (SoakRule.ACCUMULATED, "Europe/Prague")
    assert (one.batch_max, one.labels, one.priority) == (3, ("auto",), "bot/approved: high")
    assert one.evidence == EvidenceRule(runs=3, named=("load-test",))
    assert one.trust == TrustRule(promotions=5, quorum=2, people=("user:ada", "user:bob"))
    assert (one.quarantine_role, one.hotfix_skips) == ("admin", (SkippableGate.SOAK,))
    assert one.where == PIPELINE


@pytest.mark.parametrize(
    "more, said",
    [
        ("sole: x\n", "sole"),
        ("soak: twice\n", "soak"),
        ("timeZone: Europe/Nowhere\n", "is no time zone"),
        ("mergeRequests: {batch: 0}\n", "0 is less than 1"),
        ("trust: {promotions: 1, quorum: 2, people: [user:ada]}\n", "cannot give 2 approvals"),
        ("quarantine: {role: viewer}\n", "cannot lift anything"),
        ("hotfix: {skips: [evidence], owner: x}\n", "cannot be skipped"),
        ("hotfix: {skips: [soak]}\n", "name the person who answers for it"),
    ],
)
def test_a_pipeline_that_cannot_be_used_is_refused_with_its_line(
    tmp_path: Path, more: str, said: str
) -> None:
    """The file and the line are named."""
    with pytest.raises(UserError) as caught:
        reading_in(tmp_path, bundle_files(**{PIPELINE: pipeline_text(more)}))
    assert said in str(caught.value)
    assert PIPELINE in str(caught.value)


def test_a_pipeline_moves_only_what_it_names(tmp_path: Path) -> None:
    """By saas file and by channel."""
    for more in ("saasFiles: [other]\n", "channels: [other]\n"):
        folder = tmp_path / more[:4]
        folder.mkdir()
        found = reading_in(folder, bundle_files(**{PIPELINE: pipeline_text(more)}))
        assert not found.subscribers
        assert not found.publishers


def test_validate_checks_a_pipeline_with_the_rest_of_the_bundle(tmp_path: Path) -> None:
    """Where it stands, and what to write instead."""
    clone_of(tmp_path, bundle_files(**{PIPELINE: pipeline_text("soak: twice\n")}))
    done = tidegate("validate", str(tmp_path / "clone" / "data"))
    assert "pipelines/payments.yml:4" in done.stdout + done.stderr
    assert '"twice"' in done.stdout + done.stderr
