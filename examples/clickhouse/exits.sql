-- Why is this guest slow? Exits by reason, as `hostrace exits` has them.
SELECT
    label AS reason,
    count() AS count,
    sum(duration_ns) AS total_ns,
    min(duration_ns) AS min_ns,
    intDiv(total_ns, count) AS avg_ns,
    max(duration_ns) AS max_ns,
    sum(marked) AS userspace_count,
    quantile(0.5)(duration_ns) AS p50_ns,
    quantile(0.99)(duration_ns) AS p99_ns
FROM spans
WHERE analyzer = 'exit-latency'
GROUP BY reason
ORDER BY total_ns DESC, reason
SETTINGS enable_optimize_predicate_expression = 1
