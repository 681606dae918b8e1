"""What steps change of the configuration."""

import pytest

from fencepost.fault_injection.stories.steps.config_step import (
    AlterConfigStep,
    AlterQuotaStep,
    ChangeStep,
    CreateAclsStep,
    DeleteAclsStep,
    TokenStep,
    change_of,
)
from fencepost.fault_injection.stories.steps.verbs import VERBS
from fencepost.fault_injection.workload.config_operations import asked_config

READ = "ALLOW Read * User:ann"


@pytest.mark.parametrize(
    ("step", "method", "path", "values"),
    [
        (
            AlterConfigStep(alter_config="t", entries={"color": "red"}),
            "IncrementalAlterConfigs",
            "/config/topics/t",
            ["color=red"],
        ),
        (
            AlterQuotaStep(alter_quota="ann", rate=5),
            "AlterClientQuotas",
            "/config/users/ann",
            ["controller_mutation_rate=5"],
        ),
        (
            AlterQuotaStep(alter_quota="ann", client="app", rate=5),
            "AlterClientQuotas",
            "/config/users/ann/clients/app",
            ["controller_mutation_rate=5"],
        ),
        (
            AlterQuotaStep(alter_quota="", rate=5),
            "AlterClientQuotas",
            "/config/users/<default>",
            ["controller_mutation_rate=5"],
        ),
        (
            AlterQuotaStep(alter_quota=None, client="app", rate=5),
            "AlterClientQuotas",
            "/config/clients/app",
            ["controller_mutation_rate=5"],
        ),
        (
            CreateAclsStep(create_acls="t", acls=(READ,)),
            "CreateAcls",
            "/kafka-acl/literal/Topic/t",
            [f"{READ}="],
        ),
        (
            DeleteAclsStep(delete_acls="t", acls=(READ,)),
            "DeleteAcls",
            "/kafka-acl/literal/Topic/t",
            [f"{READ}="],
        ),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_step_is_one_request_about_one_entity(
    step: ChangeStep, method: str, path: str, values: list[str]
) -> None:
    change = change_of(step)

    assert change.method == method
    assert asked_config(change.entity, change.entries) == {"path": path, "values": values}
    assert change.operation == ("delete" if isinstance(step, DeleteAclsStep) else "set")


def test_every_step_has_its_verb() -> None:
    of_configuration = {"alter_config", "alter_quota", "create_acls", "delete_acls"}
    of_tokens = {"create_token", "renew_token", "expire_token", "describe_token"}
    found = {verb for verb, one in VERBS.items() if issubclass(one, ChangeStep)}

    assert found == of_configuration | of_tokens
    assert {verb for verb, one in VERBS.items() if issubclass(one, TokenStep)} == of_tokens
