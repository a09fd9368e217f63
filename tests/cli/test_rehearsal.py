"""`simulate` on a bundle: an image rehearsed by the bundle's own rules, on simulated clusters."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tidegate.cli.main import cli
from tidegate.model.errors import UserError

ROOT = Path(__file__).parents[2]
BUNDLE, BEHAVIOUR = str(ROOT / "examples/app-interface"), str(ROOT / "examples/behaviour.yaml")
PLACE = ("--integration", "terraform-resources", "--environment", "app-interface-production")


def simulate(*args: str) -> Result:
    """The command, on the example."""
    return CliRunner().invoke(cli, ["simulate", BUNDLE, *args, "--behaviour", BEHAVIOUR])


def test_a_dangerous_image_is_caught_in_stage_and_taken_back() -> None:
    """The canary stands its trial, two accounts of stage do not, and twenty never see it."""
    done = simulate(*PLACE, "--image", "superdangerous", "--story", "--why", "app-sre")
    assert (done.exit_code, done.exception) == (0, None)
    story = done.stdout
    assert "ed21267 → superdangerous   canary 1 · stage 4 · the rest 20" in story
    assert "✓ canary  ter-int-dev: 3 clean runs, soaking to" in story
    assert "AccessDenied when calling the AssumeRole operation" in story
    assert "5 of 25 touched, 20 never saw it · rolling back 5" in story
    assert "✓ 25 of 25 on ed21267" in story
    assert "✗ budget   2 failures, 0 allowed in stage" in story


def test_a_good_image_reaches_everybody_in_order() -> None:
    done = simulate(*PLACE, "--image", "good", "-o", "json", "--check")
    assert done.exit_code == 0
    assert json.loads(done.stdout)["summary"] == "Succeeded"


def test_a_rehearsal_is_the_same_each_time() -> None:
    """To the letter: what is taken back has more to differ in than what goes well."""
    args = (*PLACE, "--image", "crashing", "-o", "json")
    one, other = simulate(*args), simulate(*args)
    assert json.loads(one.stdout)["summary"] != "Succeeded"
    assert (one.exit_code, one.stdout) == (other.exit_code, other.stdout)


@pytest.mark.parametrize(
    "args, said",
    [
        (("--image", "x"), "--integration is missing"),
        (("--integration", "terraform-resorces", "--image", "x"), 'did you mean "terraform-res'),
        (("--integration", "slack-usergroups", "--image", "x"), "write --environment"),
        (PLACE, "--image is missing; write --image TAG"),
    ],
)
def test_what_is_missing_is_asked_for(args: tuple[str, ...], said: str) -> None:
    done = simulate(*args)
    if isinstance(done.exception, UserError):
        assert said in str(done.exception)
    else:
        assert done.exit_code == 2
        assert said in done.output


def test_a_rehearsal_that_must_succeed_and_does_not_exits_3() -> None:
    assert simulate(*PLACE, "--image", "crashing", "--check").exit_code == 3
