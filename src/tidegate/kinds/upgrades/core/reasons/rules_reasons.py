"""What is said of organisations that are served by the rules of AUS."""

from tidegate.model.reason import Entry, FactFormat, Gate, Outcome, Reason


class LegacyReason(Reason):
    """What is said where the predecessor's rules decide."""

    ExistingRulesStart = Entry(Gate.RULES, Outcome.PASS, "the rules of AUS ask for it")
    ExistingRulesWait = Entry(
        Gate.RULES,
        Outcome.WAIT,
        "the rules of AUS ask for nothing: {said}",
        (("said", FactFormat.NAME),),
        "those rules ask for something, or its organisation is served by ours",
    )
