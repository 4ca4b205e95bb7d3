-- What happened at that moment? All events, of the host and of guests, from 1 ms before the slowest exit to its end.
SELECT
    host,
    vm,
    row,
    time_ns,
    source,
    vcpu,
    comm,
    event,
    arrayStringConcat(arrayMap((name, number, text) -> concat(name, '=', if(text = '', toString(number), text)), field_names, field_numbers, field_texts), ' ') AS fields
FROM events
ALL INNER JOIN
(
    SELECT trace, begin_ns, duration_ns
    FROM spans
    WHERE analyzer = 'exit-latency'
    ORDER BY duration_ns DESC
    LIMIT 1
) AS slowest USING (trace)
WHERE time_ns + 1000000 >= begin_ns AND time_ns <= begin_ns + duration_ns
ORDER BY row
LIMIT 1000
SETTINGS enable_optimize_predicate_expression = 1
