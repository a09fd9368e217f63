"""What is said of organisations that are served by the existing service's rules."""

from tidegate.model.reason import Entry, Gate, Kind, Outcome, Reason

RULES_REASONS: dict[Reason, Entry] = {
    Reason.ExistingRulesStart: Entry(
        Gate.RULES, Outcome.PASS, "the existing service's rules ask for it"
    ),
    Reason.ExistingRulesWait: Entry(
        Gate.RULES,
        Outcome.WAIT,
        "the existing service's rules ask for nothing: {said}",
        (("said", Kind.NAME),),
        "those rules ask for something, or its organisation is served by ours",
    ),
}
