"""What skeleton inference is tuned by."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

Positive = Annotated[float, Meta(gt=0.0)]
Part = Annotated[float, Meta(ge=0.0, le=1.0)]


class JobOverride(Struct, frozen=True, forbid_unknown_fields=True):
    """What the users of one job want: ``disabled`` = neither infer nor probe; ``edges`` = pairs to probe as well."""

    job: Annotated[str, Meta(min_length=1)]
    disabled: bool = False
    edges: tuple[tuple[str, str], ...] = ()


class SkeletonParameters(Struct, frozen=True, forbid_unknown_fields=True):
    """How much is remembered, how often it is looked at, and when it is believed.

    window_s: seconds of traffic that are remembered; the state of a job grows with this times its RNICs.
    evidence_s: least fresh evidence between two inferences while there is no trusted skeleton.
    review_s: the same once there is one.
    least_s: no skeleton is sought in less traffic than this.
    gap_s: samples further apart than this leave the traffic between them unknown.
    regular: least correlation with the traffic one period later that counts as a training job.
    trust: least confidence of a trusted skeleton.
    stale_s: a skeleton without support for this long is retired.
    line_gbps: rate of an RNIC; what a clock error can misplace is at most this times the error.
    overrides: what users of single jobs want; the topic ``skeleton-overrides`` adds to it.
    """

    window_s: Positive = 900.0
    evidence_s: Positive = 3.0
    review_s: Positive = 30.0
    least_s: Positive = 12.0
    gap_s: Positive = 3.5
    regular: Part = 0.4
    trust: Part = 0.8
    stale_s: Positive = 300.0
    line_gbps: Positive = 200.0
    overrides: tuple[JobOverride, ...] = ()
