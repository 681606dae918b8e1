"""The delegation tokens in ZooKeeper, as a broker has read them (SEC-003)."""

from fencepost.impl.core.configuration.config_store import ConfigStore
from fencepost.impl.core.rules.security.token_changes import token_entity, token_in
from fencepost.impl.core.rules.security.tokens import DelegationToken


def stored_token(configs: ConfigStore, token_id: str) -> DelegationToken | None:
    """The token of that id; None when there is none."""
    return token_in(token_id, configs.entries(token_entity(token_id)))
