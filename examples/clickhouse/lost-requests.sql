-- Does a device lose requests? Elements that were popped and have not come back when the recording ends; `hostrace leaks`
-- says of each why, and knows resets and migration.
SELECT
    host,
    vm,
    hex(toUInt64(vdev)) AS device,
    queue,
    count() AS open,
    round(max(end_ns - popped_ns) / 1e9, 3) AS oldest_s
FROM
(
    SELECT
        host,
        trace,
        vm,
        field_numbers[indexOf(field_names, 'vdev')] AS vdev,
        field_numbers[indexOf(field_names, 'queue')] AS queue,
        field_numbers[indexOf(field_names, 'elem')] AS elem,
        argMax(event, row) AS last,
        max(time_ns) AS popped_ns
    FROM events
    WHERE event IN ('virtqueue_pop', 'virtqueue_fill', 'virtqueue_detach', 'virtqueue_unpop')
    GROUP BY host, trace, vm, vdev, queue, elem
) AS element
ALL INNER JOIN (SELECT trace, end_ns FROM traces) AS recording USING (trace)
WHERE last = 'virtqueue_pop'
GROUP BY host, vm, vdev, queue
ORDER BY open DESC, host, vm, device, queue
SETTINGS enable_optimize_predicate_expression = 1
