-- section How good the monitor is
-- Are the alarms right?
-- What operators said of them (`feedback`), with the denominators; null = nobody has judged yet.
-- column fabric: the fabric
-- column alarms: network faults that were raised
-- column judged: of those, how many operators judged
-- column right: judged right
-- column wrong_component: a fault, but of another component
-- column false_alarms: no fault at all
-- column missed: faults that nobody raised and operators reported
-- column precision: (right + wrong_component) / judged
-- column recall: (right + wrong_component) / (right + wrong_component + missed)
-- column localization_accuracy: right / (right + wrong_component)
SELECT
    fabric, alarms, judged, right, wrong_component, false_alarms, missed, precision, recall, localization_accuracy
FROM alarm_quality
ORDER BY fabric
