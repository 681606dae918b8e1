"""What a client asks of a configuration, and how its trace tells what it was answered (FWD-004)."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from fencepost.fault_injection.workload.operations import Fields, outcome_of
from fencepost.spec.config_store import FOLDERS, ConfigEntity, EntityKind
from fencepost.spec.vocabulary import ErrorCode, Outcome

ALTER_CONFIGS = "AlterConfigs"
"""Of a line about any change of the configuration; the path tells what is changed."""
DESCRIBE_CONFIGS = "DescribeConfigs"
CONFIG_ACTIONS = frozenset({ALTER_CONFIGS, DESCRIBE_CONFIGS})
ENTRIES = ("color", "size")
"""Names that mean nothing to brokers."""
ENTRIES_METHOD = "IncrementalAlterConfigs"
QUOTAS_METHOD = "AlterClientQuotas"
CREATE_ACLS, DELETE_ACLS = "CreateAcls", "DeleteAcls"
MUTATION_RATE = "controller_mutation_rate"
TOKENS = "/" + "/".join(FOLDERS[EntityKind.TOKEN])
"""Below it each delegation token has its znode."""
TOKEN_ENTRIES = ("expires_ms", "issued_ms", "max_ms", "owner", "renewers")
IN_NEW_VERSION = 0.5
"""Share of a client's changes that are for the controller alone."""
DESCRIBES = 0.35
"""Share of a client's requests about a configuration that only read it."""
_GRANTED = frozenset({"", ErrorCode.NONE})


class ConfigChange(NamedTuple):
    """Entries of one entity are to have other values, or to be gone: one request (FWD-002)."""

    method: str
    entity: ConfigEntity
    entries: Mapping[str, str]
    is_for_controller: bool = False
    """In the newer version, which the controller alone takes; brokers forward the older one."""

    @property
    def operation(self) -> str:
        """What becomes of each entry, as the wire says it."""
        return "delete" if self.method == DELETE_ACLS else "set"


def asked_config(entity: ConfigEntity, entries: Mapping[str, str]) -> Fields:
    """What the invocation tells; without entries the entity is described."""
    values = [f"{name}={value}" for name, value in entries.items()]
    return {"path": entity.path} | ({"values": values} if values else {})


def answered_config(action: str, response: Any) -> Fields:  # noqa: ANN401 - of the wire or core
    """What the completion tells besides what was asked; None: there was no answer in time."""
    told = _ended(action, response)
    if action == DESCRIBE_CONFIGS and told["outcome"] is Outcome.OK:
        found = [f"{e.name}={e.value}" for one in response.entities for e in one.entries]
        told |= {"values": found, "broker_id": response.broker_id}
    return told


def _ended(action: str, response: Any) -> Fields:  # noqa: ANN401 - as above
    code = _refusal(response) if response is not None else ErrorCode.REQUEST_TIMED_OUT
    if code in _GRANTED:
        return {"outcome": Outcome.OK}
    is_read = action == DESCRIBE_CONFIGS
    outcome = Outcome.DEFINITE_ERROR if is_read else outcome_of(str(code))
    return {"outcome": outcome, "error_code": str(code)}


def _refusal(response: Any) -> str:  # noqa: ANN401 - as above
    """Of the whole, else of the one entity that was asked for; empty, or NONE: there is none."""
    of_entities = [one.error_code for one in getattr(response, "results", ())]
    return next((str(e) for e in (response.error_code, *of_entities) if e not in _GRANTED), "")


def token_path(token_id: str) -> str:
    """Where the token stands."""
    return ConfigEntity(EntityKind.TOKEN, (token_id,)).path


def asked_token(owner: str) -> Fields:
    """What the invocation of a request for a token tells: its owner, and no token yet."""
    return {"path": TOKENS, "values": [f"owner={owner}"]}


def asked_of_token(token_id: str, *, is_to_go: bool = False) -> Fields:
    """What that of a request about a token tells; one that is to go loses all its entries."""
    asked: Fields = {"path": token_path(token_id)}
    return asked | ({"values": [f"{name}=" for name in TOKEN_ENTRIES]} if is_to_go else {})


def answered_token(
    action: str,
    asked: Fields,
    response: Any,  # noqa: ANN401 - of the wire or of the core
) -> Fields:
    """What the completion tells besides what was `asked`, and of the secret nothing.

    The token that was made, its entries where it is described, and when it is over now where it is
    to live on.
    """
    told = _ended(action, response)
    if told["outcome"] is not Outcome.OK:
        return told
    if action == DESCRIBE_CONFIGS:
        found = [one for one in response.tokens if token_path(one.token_id) == asked["path"]]
        told["values"] = [entry for one in found for entry in _entries(one)]
    elif asked["path"] == TOKENS:
        told["path"] = token_path(response.token_id)
    elif "values" not in asked:
        told["values"] = [f"expires_ms={response.expires_ms}"]
    return told


def _entries(token: Any) -> list[str]:  # noqa: ANN401 - as above
    told = {name: getattr(token, name) for name in TOKEN_ENTRIES}
    told["renewers"] = ",".join(token.renewers)
    return [f"{name}={value}" for name, value in told.items()]
