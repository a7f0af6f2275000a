-- section How good the monitor is
-- Does it get better from month to month?
-- Share of jobs that a network fault touched.
-- column fabric: the fabric
-- column month: first day of the month
-- column jobs: jobs heard of
-- column failed_jobs: of those, how many a fault touched
-- column failure_rate: their share
-- column change: relative change from the month before; null = there is none
SELECT fabric, month, jobs, failed_jobs, failure_rate, change
FROM monthly_failure_rate
ORDER BY fabric, month
