-- When was it slow? Exits by minute and by power of two of their latency, as `hostrace heatmap exit-latency`.
SELECT
    toDateTime(intDiv(wall_ns, 60000000000) * 60) AS minute,
    toUInt64(exp2(floor(log2(duration_ns + 1)))) AS at_least_ns,
    count() AS exits
FROM spans
WHERE analyzer = 'exit-latency'
GROUP BY minute, at_least_ns
ORDER BY minute, at_least_ns
SETTINGS enable_optimize_predicate_expression = 1
