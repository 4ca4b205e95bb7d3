-- Which VMs are slow? Time outside guest mode, without halts, which are idle time.
SELECT
    host,
    vm,
    uniqExact(trace, tid) AS vcpus,
    count() AS exits,
    round(avg(duration_ns) / 1000, 1) AS avg_us,
    quantile(0.99)(duration_ns) / 1000 AS p99_us,
    max(duration_ns) / 1000000 AS max_ms,
    sum(duration_ns) / 1e9 AS seconds_outside
FROM spans
WHERE analyzer = 'exit-latency' AND lower(label) != 'hlt'
GROUP BY host, vm
ORDER BY seconds_outside DESC
LIMIT 20
SETTINGS enable_optimize_predicate_expression = 1
