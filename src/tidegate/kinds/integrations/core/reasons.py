"""The reasons of integrations: what becomes of each object of a cluster, and why."""

from tidegate.model.reason import Entry, FactFormat, Gate, Outcome, Reason

_C, _N = FactFormat.COUNT, FactFormat.NAME
_PASS, _WAIT, _STOP = Outcome.PASS, Outcome.WAIT, Outcome.STOP


class ObjectReason(Reason):
    """Why an object is created, changed or removed, or stays as it is."""

    ObjectMissing = Entry(Gate.OBJECT, _PASS, "not there yet")
    ObjectAsDeclared = Entry(Gate.OBJECT, _PASS, "as declared")
    ObjectDiffers = Entry(Gate.OBJECT, _PASS, "declared otherwise")
    FieldsDiffer = Entry(Gate.OBJECT, _PASS, "declared otherwise: {fields}", (("fields", _N),))
    ObjectDrifted = Entry(Gate.OBJECT, _PASS, "changed since it was applied")
    FieldsDrifted = Entry(Gate.OBJECT, _PASS, "changed since: {fields}", (("fields", _N),))
    StartsAsOthers = Entry(
        Gate.OBJECT,
        _PASS,
        "wants {wanted}; starts with {runs} as the others run, until its rollout",
        (("wanted", _N), ("runs", _N)),
    )
    ImageStays = Entry(
        Gate.OBJECT,
        _PASS,
        "wants {wanted}; keeps {runs} until its rollout moves it",
        (("wanted", _N), ("runs", _N)),
    )
    ImageLeftToRollout = Entry(
        Gate.OBJECT,
        _WAIT,
        "wants {wanted}; keeps {runs} until its rollout moves it",
        (("wanted", _N), ("runs", _N)),
        "its rollout moves it",
    )
    KeyOwnedTwice = Entry(
        Gate.OBJECT,
        _WAIT,
        "{why}: {remedy}",
        (("why", _N), ("remedy", _N)),
        "{remedy}",
    )
    ObjectsUnread = Entry(
        Gate.READING, _WAIT, "{error}", (("error", _N),), "the cluster can be read"
    )
    NoDefaultImage = Entry(
        Gate.OBJECT,
        _STOP,
        "{why}",
        (("why", _N),),
        "write imageRef, or fix where the image of the manager is written",
    )
    LeftToHand = Entry(
        Gate.ORDER,
        _STOP,
        "left to `tidegate apply`: the rules of {integration} say byHand",
        (("integration", _N),),
        "`tidegate apply`",
    )
    LeftToWaves = Entry(
        Gate.ORDER,
        _WAIT,
        "its rollout creates it, in the turn of {group}",
        (("group", _N),),
        "its rollout reaches {group}",
    )
    EarlierGroupDiffers = Entry(
        Gate.ORDER,
        _WAIT,
        "{group} goes first: {shard} {how}",
        (("group", _N), ("shard", _N), ("how", _N)),
        "{shard} runs as declared",
    )
    EarlierGroupSettles = Entry(
        Gate.ORDER,
        _WAIT,
        "{group} has it, and is given time",
        (("group", _N),),
        "that time is over",
    )
    ChangesUnderWay = Entry(
        Gate.SLOTS,
        _WAIT,
        "{count} under way; at most {most} at once",
        (("count", _C), ("most", _C)),
        "one of them runs as declared",
    )
    ChangedAgain = Entry(
        Gate.OBJECT,
        _WAIT,
        "applied {count} times within an hour and changed again each time",
        (("count", _C),),
        "what changes it stops, or the wait is over",
    )
    ObjectAdopted = Entry(Gate.OWNER, _PASS, "it is there, and not Tidegate's")
    NotOurs = Entry(
        Gate.OWNER,
        _STOP,
        "it is there, and not Tidegate's; --adopt takes it over",
        opens="`tidegate apply --adopt`",
    )
    PartOfAnother = Entry(
        Gate.OWNER,
        _STOP,
        "it is part of {owner}, so unchanged",
        (("owner", _N),),
        "leave it out of the bundle, or remove {owner}",
    )
    FieldsTaken = Entry(Gate.OWNER, _PASS, "{fields}", (("fields", _N),))
    FieldsOwned = Entry(
        Gate.OWNER,
        _STOP,
        "{fields}; leave it out of the bundle, or take it with --adopt",
        (("fields", _N),),
        "leave it out of the bundle, or take it with `--adopt`",
    )
    ReleasedByHand = Entry(Gate.OWNER, _PASS, "given back as it is")
    ServerRefused = Entry(
        Gate.OBJECT, _STOP, "{error}", (("error", _N),), "fix what the server names"
    )
    ServerFailed = Entry(
        Gate.OBJECT, _WAIT, "{error}", (("error", _N),), "apply again when the server answers"
    )
    DeclaredNoMore = Entry(Gate.REMOVAL, _PASS, "declared no more")
    AlreadyGone = Entry(Gate.REMOVAL, _PASS, "it was gone already")
    BundleUnsound = Entry(
        Gate.REMOVAL,
        _STOP,
        "the bundle has errors, so nothing is removed",
        opens="fix what `tidegate validate` shows",
    )
    ClusterPartlyRead = Entry(
        Gate.REMOVAL,
        _WAIT,
        "not everything could be read: {gap}",
        (("gap", _N),),
        "the cluster can be read",
    )
    InventoryEmptied = Entry(
        Gate.REMOVAL,
        _STOP,
        "{integration} has no shard left: fill its inventory, or drop it there",
        (("integration", _N),),
        "fill the inventory of {integration}, or drop it there",
    )
    NothingDeclared = Entry(
        Gate.REMOVAL,
        _STOP,
        "the bundle declares no integration",
        opens="`--allow-mass-delete`, if that is meant",
    )
    MassDeletion = Entry(
        Gate.REMOVAL,
        _STOP,
        "{removing} of {managed} at once; at most {most} without --allow-mass-delete",
        (("removing", _C), ("managed", _C), ("most", _C)),
        "`--allow-mass-delete`",
    )
    RemovedLast = Entry(
        Gate.REMOVAL,
        _WAIT,
        "what takes its place goes first",
        opens="what takes its place is there",
    )
    RemovalWithheld = Entry(
        Gate.REMOVAL,
        _WAIT,
        "something else here went wrong, so nothing is removed",
        opens="apply again when the rest succeeds",
    )
