-- What held the slow exits? Of each exit above 1 ms, the time for which its thread had no CPU, and for which it waited
-- for QEMU's global mutex. `hostrace blame` has more causes, from the recording itself.
SELECT
    host,
    vm,
    reason,
    count() AS exits,
    sum(latency_ns) AS total_ns,
    sum(off_cpu_ns) AS without_cpu_ns,
    sum(mutex_ns) AS mutex_wait_ns
FROM
(
    SELECT
        host,
        vm,
        span,
        any(reason) AS reason,
        any(duration_ns) AS latency_ns,
        sumIf(held_ns, held_by = 'sched-out') AS off_cpu_ns,
        sumIf(held_ns, held_by = 'bql-wait') AS mutex_ns
    FROM
    (
        SELECT
            host,
            trace,
            vm,
            span,
            reason,
            duration_ns,
            held_by,
            greatest(0, toInt64(least(begin_ns + duration_ns, held_end_ns)) - toInt64(greatest(begin_ns, held_begin_ns))) AS held_ns
        FROM
        (
            SELECT host, trace, vm, tid, span, label AS reason, begin_ns, duration_ns
            FROM spans
            WHERE analyzer = 'exit-latency' AND duration_ns > 1000000
        ) AS exit
        ALL LEFT JOIN
        (
            SELECT host, trace, tid, analyzer AS held_by, begin_ns AS held_begin_ns, begin_ns + duration_ns AS held_end_ns
            FROM spans
            WHERE analyzer IN ('sched-out', 'bql-wait')
        ) AS held USING (host, trace, tid)
    )
    GROUP BY host, trace, vm, span
)
GROUP BY host, vm, reason
ORDER BY total_ns DESC
SETTINGS enable_optimize_predicate_expression = 1
