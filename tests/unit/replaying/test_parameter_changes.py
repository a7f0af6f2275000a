"""Words of ``--set`` name parameters that exist and values that fit, or are refused in one sentence."""

from __future__ import annotations

import pytest

from skeletonhunter.replaying.parameter_changes import ParameterError, changes
from skeletonhunter.settings import SettingsError, load_settings


def test_words_become_parameters() -> None:
    words = ["localization.window_s=90", "time.lateness_s=3.5"]
    parameters = load_settings(None, {}, changes(words)).parameters
    assert (parameters.localization.window_s, parameters.time.lateness_s) == (90, 3.5)
    assert load_settings(None, {}, changes([])).parameters == load_settings(None, {}).parameters


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["localization"], "--set localization: expected <part>.<parameter>=<value>, such as time.lateness_s=3"),
        (["localization=1"], "--set localization=1: localization has parts, expected one of "),
        (
            ["zeal.x=1"],
            "--set zeal.x=1: there is no parameter 'zeal', expected one of time, ",
        ),
        (["time.zeal=1"], "--set time.zeal=1: time has no parameter 'zeal', expected one of lateness_s, slack_s"),
        (["time.slack_s.x=1"], "--set time.slack_s.x=1: time.slack_s is a parameter, it has no parts"),
        (["time.slack_s=1", "time.slack_s=2"], "--set time.slack_s=2: time.slack_s is set twice"),
    ],
)
def test_a_wrong_name_is_refused(words: list[str], sentence: str) -> None:
    with pytest.raises(ParameterError) as refusal:
        changes(words)
    assert str(refusal.value).startswith(sentence)


@pytest.mark.parametrize(
    ("word", "sentence"),
    [
        ("time.slack_s=soon", "flag for parameters.time.slack_s: Expected `float`, got `str`, got 'soon'"),
        ("time.slack_s=-1", "flag for parameters.time.slack_s: Expected `float` >= 0.0, got '-1'"),
        ("localization.window_s=5", "flag for parameters.localization.window_s: Expected `int` >= 10, got '5'"),
    ],
)
def test_a_wrong_value_is_refused(word: str, sentence: str) -> None:
    with pytest.raises(SettingsError) as refusal:
        load_settings(None, {}, changes([word]))
    assert str(refusal.value) == sentence
