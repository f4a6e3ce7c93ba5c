"""The command line of `make bench`, and that a bench is plain text. No figure is measured here."""

import pytest

from tests.bench.__main__ import ROWS, USUAL, main


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

    def test_the_usual_rows_leave_out_the_long_ones(self):
        assert {"acks-each", "profile", "console", "growth", "memory", "memory-hours", "scale"} == set(ROWS) - set(
            USUAL
        )
