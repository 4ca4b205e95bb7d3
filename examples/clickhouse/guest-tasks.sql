-- Which guest process causes these exits? Of recordings made with `record --guest-tasks`.
SELECT
    host,
    vm,
    label_texts[indexOf(label_names, 'guest-task')] AS task,
    count() AS exits,
    sum(duration_ns) AS total_ns
FROM spans
WHERE analyzer = 'exit-latency'
GROUP BY host, vm, task
ORDER BY total_ns DESC, host, vm, task
SETTINGS enable_optimize_predicate_expression = 1
