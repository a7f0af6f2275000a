-- section Jobs and their training
-- How much of its time did each job train?
-- Steps that count, at the usual step, as a share of the time since the first one; steps that were done again after a
-- restart do not count twice.
-- column job: the job
-- column steps_done: different steps
-- column steps_repeated: steps that were done again
-- column usual_step_s: median step, s
-- column elapsed_s: from the begin of the first step to the end of the last
-- column useful_progress: share of that time, 0 to 1
SELECT
    job, steps_done, steps_repeated, round(usual_step_s, 3) AS usual_step_s, round(elapsed_s, 1) AS elapsed_s,
    round(training_progress.useful_progress, 3) AS useful_progress
FROM training_progress
ORDER BY useful_progress, job
