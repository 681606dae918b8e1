"""The delegation tokens in ZooKeeper, as a broker has read them (SEC-003)."""

from fencepost.impl.core.configuration.config_store import ConfigStore
from fencepost.impl.core.rules.security.token_changes import token_entity, token_in
from fencepost.impl.core.rules.security.tokens import DelegationToken
from fencepost.spec.config_store import EntityKind


def stored_tokens(configs: ConfigStore) -> list[DelegationToken]:
    """All of them, by id."""
    ids = [one.names[0] for one in configs.entities(EntityKind.TOKEN)]
    found = (stored_token(configs, token_id) for token_id in ids)
    return [one for one in found if one is not None]


def stored_token(configs: ConfigStore, token_id: str) -> DelegationToken | None:
    """The token of that id; None when there is none."""
    return token_in(token_id, configs.entries(token_entity(token_id)))
