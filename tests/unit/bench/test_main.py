"""The command line of `tenk bench`, and that a bench is plain text. No figure is measured here."""

import pytest
from click.testing import CliRunner

from gateway.bench.main import ROWS, USUAL, main
from gateway.cli.bench import command


class TestCommandLine:
    def test_help_names_every_row(self, capsys):
        """And ends well."""
        with pytest.raises(SystemExit) as ended:
            main(["--help"])
        assert 0 == ended.value.code
        told = capsys.readouterr().out
        assert all(row in told for row in ROWS)

    @pytest.mark.parametrize(
        "arguments", [["no-such-row"], ["loads", "--chats", "0"], ["acks", "--seconds", "-1"], ["--platform", "fax"]]
    )
    def test_what_makes_no_sense_is_refused(self, arguments, capsys):
        """Before anything is started."""
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        assert 2 == ended.value.code
        assert "error: " in capsys.readouterr().err

    def test_the_usual_rows_leave_out_the_long_one(self):
        """`acks-each` is for who asks."""
        assert set(ROWS) == {*USUAL, "acks-each"}

    def test_tenk_bench_hands_its_arguments_on(self):
        """Unknown rows are refused through the command, too."""
        result = CliRunner().invoke(command, ["no-such-row"])
        assert 2 == result.exit_code

    def test_tenk_bench_explains_itself(self):
        """`--help` measures nothing."""
        result = CliRunner().invoke(command, ["--help"])
        assert 0 == result.exit_code
        assert "bench" in result.output
