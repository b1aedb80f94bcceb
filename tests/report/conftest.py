from pathlib import Path

import pytest
from telemetry_report import telemetry_report

from caps.report import Report, write_report


@pytest.fixture(scope="session")
def month() -> Report:
    return telemetry_report()


@pytest.fixture(scope="session")
def month_page(month: Report, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    write_report(month, path)
    return path
