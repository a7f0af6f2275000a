"""The dashboard of one job: is it slow, and is it the network?"""

from __future__ import annotations

from skeletonhunter.reference.panels import JOB, Board, Panel, stat

JOB_BOARD = Board(
    uid="skeletonhunter-job",
    title="SkeletonHunter: job",
    description="One job: its steps, what its probes see, its skeleton, and the incidents that touch it.",
    choices=(JOB,),
    panels=(
        stat(
            "State",
            "SELECT argMax(state, (version, t_us)) AS state FROM job_states WHERE job = '$job'",
            unit="string",
        ),
        stat(
            "Skeleton",
            "SELECT concat(argMax(state, (version, t_us)), ', ', toString(round(argMax(confidence, (version, "
            "t_us)), 2)))\n"
            "    AS skeleton\nFROM skeletons FINAL\nWHERE job = '$job'",
            unit="string",
            description="How far the inferred skeleton is trusted, and how sure it is.",
        ),
        stat(
            "Probed pairs",
            "SELECT uniqExact(src, dst) AS pairs FROM probe_results\nWHERE job = '$job' AND $__timeFilter(time)",
        ),
        stat(
            "Incidents that touch it",
            "SELECT count() AS incidents FROM incidents_current\nWHERE has(jobs, '$job') AND $__timeFilter(onset_time)",
        ),
        Panel(
            title="Length of a step",
            look="timeseries",
            width=24,
            height=7,
            unit="s",
            sql="SELECT $__timeInterval(time) AS time, median(step_s) AS median_s, max(step_s) AS longest_s\n"
            "FROM job_progress FINAL\nWHERE job = '$job' AND $__timeFilter(time)\nGROUP BY time\nORDER BY time",
        ),
        Panel(
            title="RTT of $job",
            look="timeseries",
            width=12,
            height=8,
            unit="µs",
            description="Median over all probed pairs, and the pair with the highest median.",
            sql="SELECT $__timeInterval(time) AS time, median(rtt_us) AS median_us, max(rtt_us) AS highest_us\n"
            "FROM pair_rtt\nWHERE job = '$job' AND $__timeFilter(time)\nGROUP BY time\nORDER BY time",
        ),
        Panel(
            title="Loss of $job",
            look="timeseries",
            width=12,
            height=8,
            unit="percentunit",
            description="Share of all probes that got no reply, and the pair with the highest share.",
            sql="SELECT $__timeInterval(time) AS time, sum(lost) / nullIf(sum(sent), 0) AS all_pairs,\n"
            "    max(loss) AS highest\nFROM pair_rtt\nWHERE job = '$job' AND $__timeFilter(time)\n"
            "GROUP BY time\nORDER BY time",
        ),
        Panel(
            title="Pairs of $job that suffer most",
            look="table",
            width=12,
            height=9,
            sql="SELECT src, dst, round(sum(lost) / nullIf(sum(sent), 0), 4) AS loss, round(median(rtt_us), 1) AS "
            "rtt,\n"
            "    round(max(rtt_max_us), 1) AS highest_rtt, sum(not_sent) AS not_sent\n"
            "FROM pair_rtt\nWHERE job = '$job' AND $__timeFilter(time)\nGROUP BY src, dst\n"
            "ORDER BY loss DESC, rtt DESC\nLIMIT 20",
        ),
        Panel(
            title="RTT by rail",
            look="timeseries",
            width=12,
            height=9,
            unit="µs",
            description="A rail that leaves the others is one switch; all together are the spine.",
            sql="SELECT $__timeInterval(time) AS time, concat('rail ', toString(place.rail)) AS rail, "
            "median(rtt_us) AS rtt_us\n"
            "FROM pair_rtt\nINNER JOIN\n(\n    SELECT endpoint, any(rail) AS rail FROM endpoint_map WHERE job = "
            "'$job' GROUP BY endpoint\n"
            ") AS place ON pair_rtt.src = place.endpoint\nWHERE job = '$job' AND $__timeFilter(time)\n"
            "GROUP BY time, rail\nORDER BY time, rail",
        ),
        Panel(
            title="Skeleton over time",
            look="table",
            width=12,
            height=7,
            sql="SELECT time, state, round(confidence, 3) AS confidence, round(coverage, 3) AS coverage, period_s,\n"
            "    tp, pp, dp, ep, reason\nFROM skeletons FINAL\nWHERE job = '$job' AND $__timeFilter(time)\n"
            "ORDER BY version DESC\nLIMIT 50",
        ),
        Panel(
            title="Incidents that touch $job",
            look="table",
            width=12,
            height=7,
            sql="SELECT onset_time, state, kind, issue, component, round(confidence, 2) AS sure, action_kind, "
            "incident\n"
            "FROM incidents_current\nWHERE has(jobs, '$job') AND $__timeFilter(onset_time)\nORDER BY onset_us DESC",
        ),
    ),
)
