-- What was lost? Traces with losses, with notes (for example of a clock that is not verified), or whose upload has not
-- ended.
SELECT
    host,
    trace,
    if(rows = 0, 'incomplete', 'complete') AS upload,
    lost,
    rows,
    notes
FROM
(
    SELECT host, trace, max(is_rows) AS rows, max(is_lost) AS lost, argMax(is_notes, is_rows) AS notes
    FROM
    (
        SELECT host, trace, rows AS is_rows, lost AS is_lost, notes AS is_notes FROM traces
        UNION ALL
        SELECT DISTINCT host, trace, toUInt64(0), toUInt64(0), CAST([], 'Array(String)') FROM chunk_rows
    )
    GROUP BY host, trace
)
WHERE rows = 0 OR lost > 0 OR notes != []
ORDER BY lost DESC, trace
