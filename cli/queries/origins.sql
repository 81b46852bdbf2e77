-- Outside texts that started decisions, through whatever calls there were between, the commonest first.
WITH RECURSIVE chain AS (
  SELECT subject AS origin, claim_id, parent_claim_id, target, 1 AS links
  FROM claims WHERE kind = 'cause' AND chain_end IN ('outside', 'tool')
  UNION
  SELECT chain.origin, c.claim_id, c.parent_claim_id, c.target, chain.links + 1
  FROM chain JOIN claims AS c ON c.claim_id = chain.parent_claim_id WHERE chain.links < 50)
SELECT origin, target AS outcome, count(DISTINCT claim_id) AS decisions, max(links) AS longest
FROM chain WHERE parent_claim_id IS NULL
GROUP BY ALL ORDER BY decisions DESC, origin, outcome
