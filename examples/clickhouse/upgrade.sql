-- Did the upgrade make it slower? Exits by reason and kernel of the host. `hostrace diff` tells whether two recordings
-- differ by more than chance.
SELECT
    label AS reason,
    kernel,
    count() AS exits,
    quantile(0.5)(duration_ns) AS p50_ns,
    quantile(0.99)(duration_ns) AS p99_ns
FROM
(
    SELECT trace, label, duration_ns FROM spans WHERE analyzer = 'exit-latency'
) AS exit
ALL INNER JOIN (SELECT trace, kernel FROM traces) AS recording USING (trace)
GROUP BY reason, kernel
ORDER BY reason, kernel
SETTINGS enable_optimize_predicate_expression = 1
