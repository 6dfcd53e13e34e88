"""Bedrock knowledge bases of the local cloud: type VECTOR, on S3 Vectors, with a CUSTOM data source.

Documents take effect late, as on AWS: 0.4 seconds by default, `kb_lag_seconds`
otherwise. Not emulated: requests per second, chunking (a document is one vector),
documents by S3 location or bytes.

For IAM: all of it is checked on `knowledge-base/{id}`, as the emulator does already.
"""

from ministack import app

from local import kb_ingestion, kb_retrieve, persistence, s3vectors

PATCHES = {
    "ministack.app": ("SERVICE_HANDLERS",),
    "ministack.core.iam_evaluator": ("EvalContext", "evaluate", "_gather_role_policies"),
    "ministack.services.bedrock_agent": (
        "_knowledge_bases",
        "_data_sources",
        "_create_kb",
        "_create_ds",
        "_delete_kb",
        "_delete_ds",
    ),
    "ministack.services.iam": ("_roles",),
}


def install() -> None:
    """Put ingestion and Retrieve into the emulator's tables, and the documents into its snapshots."""
    app.SERVICE_HANDLERS["bedrock-agent"] = kb_ingestion.handle
    app.SERVICE_HANDLERS["bedrock-agent-runtime"] = kb_retrieve.handle
    s3vectors.before_reading.append(kb_ingestion.settle)
    persistence.register("knowledge_base_documents", kb_ingestion.CATALOG.dump, kb_ingestion.CATALOG.load)
