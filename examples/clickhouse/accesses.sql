-- Which ports, MMIO pages and MSRs does the guest access? As `hostrace ports`, `mmio` and `msrs`.
SELECT
    analyzer,
    label AS dir,
    label_texts[2] AS address,
    label_texts[3] AS size,
    sum(weight) AS count,
    sum(bytes) AS bytes
FROM spans
WHERE analyzer IN ('pio', 'mmio', 'msr')
GROUP BY analyzer, dir, address, size
ORDER BY count DESC, analyzer, dir, address, size
LIMIT 100
SETTINGS enable_optimize_predicate_expression = 1
