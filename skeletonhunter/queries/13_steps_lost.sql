-- section Jobs and their training
-- How many training steps did incidents cost?
-- Against the usual step of each job, as it reported on `job-progress`; nothing is said of jobs that report none.
-- parameter since DateTime('UTC'): begin of the time that is asked about
-- parameter until DateTime('UTC'): end of that time
-- column incident: the incident
-- column job: job that it touched
-- column component: who was blamed
-- column lasted_s: seconds from onset to resolution (or to the last step of the job)
-- column usual_step_s: median step of the hour before; null = the job reported none then
-- column steps_done: steps done while it lasted, in parts
-- column steps_lost: steps less than usual
-- column progress_preserved: share of the usual progress that was still made
SELECT
    incident, job, component, round(lasted_s, 1) AS lasted_s, round(usual_step_s, 3) AS usual_step_s,
    round(steps_done, 2) AS steps_done, round(incident_steps.steps_lost, 2) AS steps_lost,
    round(incident_steps.progress_preserved, 3) AS progress_preserved
FROM incident_steps
WHERE fromUnixTimestamp64Micro(toInt64(onset_us), 'UTC') BETWEEN {since:DateTime('UTC')} AND {until:DateTime('UTC')}
ORDER BY incident_steps.steps_lost DESC NULLS LAST, incident, job
