"""What the existing auto-promotions manager (SAPM 2.3.0) decides and writes; frozen.

It follows the existing system text for text, has no verdicts, and gets no new features.
`subscriber.py` decides a version, `batches.py` what is opened and closed, `description.py` reads
merge requests, `names.py` makes ids, titles and hashes. Its peculiarities, on purpose:

- soak is one sum over all channels and publishers: two publishers that ran a version for a day each
  are two days of soak, and a publisher in two channels counts twice
- a hotfix skips the SLOs, and neither soak nor schedule nor blocked versions
- the first publisher of a channel answers for its configuration hash; the hash moves by itself, so
  that a subscriber whose version waits is promoted to a new hash
- a batch may exceed its limit by what its last promotion holds; two open batches with room are not
  joined; a promotion that is in an open merge request in part is offered again as a whole
- of a batch that failed its check, promotions that a non-batchable request holds too are not opened
- a description is searched for `channels: …` and its like anywhere behind the separator, first
  match: a channel whose name contains another key hides that key; `\\r` is part of a value
- a request that is closed for its `is_batchable` still makes its twin a duplicate
"""
