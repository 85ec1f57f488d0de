"""Origin and accuracy of a unit, in the unit: Simulation Resource Meta Data.

``extra/org.ssp-standard.ssp-traceability.srmd/resourceMetaData.srmd`` in the form of SSP Traceability 1.0-rc.2
(Modelica Association, 2025) for FMUs: classifications, each a list of keywords and values. Texts are plain, all other
values JSON.

==================  ==================================================================================================
``rtcvt.origin``    unit, model, version and revision of rtcvt, SHA-256 of the unit file
``rtcvt.range``     allowed inputs and parameters, and, of a reduced model, the range of its data: low, high
``rtcvt.check``     the models compared; by scenario and signal the RMS error over the signal's largest value,
                    the allowed error, and the largest error [unit]; how many are within
``rtcvt.reduction`` errors of a reduced model on runs that it has not seen
``rtcvt.bands``     5, 50 and 95 % of a calibration's posterior at operating points
==================  ==================================================================================================

None of these classifications is from a standard; that of the check exists only if the unit was checked.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, SubElement

from rtcvt import __version__
from rtcvt.environment import now
from rtcvt.fmu.description import write_xml
from rtcvt.html import ErrorRow
from rtcvt.model import Model
from rtcvt.recording import revision

FILE = "extra/org.ssp-standard.ssp-traceability.srmd/resourceMetaData.srmd"
SRMD = "http://ssp-standard.org/SSPTraceability1/SimulationResourceMetaData"
STC = "http://ssp-standard.org/SSPTraceability1/SSPTraceabilityCommon"
Evidence = Mapping[str, Mapping[str, Any]]


def evidence(unit: Any, errors: Sequence[ErrorRow] | None) -> dict[str, dict[str, Any]]:
    """Evidence of a unit's accuracy by classification: from its check and from its kind."""
    kind = unit.kind_record
    found: dict[str, dict[str, Any]] = {} if kind.evidence is None else kind.evidence(unit)
    if errors:
        rows = {f"{row.scenario}: {row.name}": {"rms": row.nrms, "allowed": row.limit, "largest": row.peak,
                                               "unit": row.unit} for row in errors}  # fmt: skip
        within = len([row for row in errors if row.holds])
        about = {"compared": "the real-time model with the full model of the same unit, as rtcvt check does",
                 "within": f"{within} of {len(errors)}"}  # fmt: skip
        found["rtcvt.check"] = about | rows
    return found


def write_metadata(root: Path, model: Model, found: Evidence | None = None) -> None:
    """Write the metadata of an unpacked unit.

    Parameters
    ----------
    root : Path
        Its folder.
    model : Model
        Its model.
    found : mapping, optional
        See `evidence`.
    """
    stamp = now().strftime("%Y-%m-%dT%H:%M:%SZ")
    top = Element("srmd:SimulationResourceMetaData", {"xmlns:srmd": SRMD, "xmlns:stc": STC, "version": "1.0.0"},
                  name=f"{model.name}, {model.fidelity} model", description=model.description or model.name,
                  generationTool=f"rtcvt {__version__}", generationDateAndTime=stamp)  # fmt: skip
    ranges = {v.name: [v.minimum, v.maximum] for v in model.variables
              if v.causality != "output" and (v.minimum, v.maximum) != (None, None)}  # fmt: skip
    origin = {"unit": model.name, "model": model.fidelity, "rtcvt": __version__, "revision": revision(),
              "unit file, SHA-256": hashlib.sha256(model.source.encode()).hexdigest()}  # fmt: skip
    all_of_it: dict[str, Mapping[str, Any]] = {"rtcvt.origin": origin, **(found or {})}
    all_of_it["rtcvt.range"] = {**ranges, **all_of_it.get("rtcvt.range", {})}
    for kind, entries in sorted(all_of_it.items()):
        listed = SubElement(top, "stc:Classification", type=kind)
        for keyword, value in entries.items():
            entry = SubElement(listed, "stc:ClassificationEntry", keyword=keyword)
            entry.text = value if isinstance(value, str) else json.dumps(value)
            entry.set("type", "text/plain" if isinstance(value, str) else "application/json")
    path = root / FILE
    path.parent.mkdir(parents=True)
    write_xml(top, path)
