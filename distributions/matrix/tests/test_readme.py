"""The settings in the README."""

import re
import tomllib
from pathlib import Path

from tenk_matrix.config import MatrixAccount

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


def test_the_settings_of_the_readme_are_valid():
    (block,) = re.findall(r"```toml\n(.*?)```", README, re.DOTALL)
    given = tomllib.loads(block)["channels"]["matrix"]["main"]
    account = MatrixAccount.model_validate(given | {"access_token": "secret"})
    assert "https://matrix.example.org" == account.api_base
    assert "secret" not in repr(account)


def test_the_readme_explains_each_setting():
    own = set(MatrixAccount.model_fields) - {"name", "tenant", "pacing"}
    assert own == {
        name for row in re.findall(r"^\| (`.*?) \|", README, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)
    }
