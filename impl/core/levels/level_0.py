"""Level 0, `draft_v3`: V3 as written, without a controller epoch, truncating to the high watermark.

Source: `protocol/`, V3 of the design, with the repairs that the specs name (`spec/hazards.toml`).
"""

from fencepost.impl.core.rules.isr import expand_isr, lags_at_ms, shrink_isr
from fencepost.impl.core.rules.rules import Rules

RULES = Rules(
    shrink_isr=shrink_isr,
    expand_isr=expand_isr,
    lags_at_ms=lags_at_ms,
)
