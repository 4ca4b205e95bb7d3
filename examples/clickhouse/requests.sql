-- Where does an I/O request spend its time? Virtqueue elements by device and queue, as `hostrace virtio`.
SELECT
    host,
    vm,
    label AS device,
    label_texts[2] AS queue,
    count() AS requests,
    quantile(0.5)(duration_ns) AS p50_ns,
    quantile(0.99)(duration_ns) AS p99_ns,
    max(duration_ns) AS max_ns
FROM spans
WHERE analyzer = 'virtqueue'
GROUP BY host, vm, device, queue
ORDER BY p99_ns DESC
SETTINGS enable_optimize_predicate_expression = 1
