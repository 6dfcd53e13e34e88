"""`unsay-admin redrive`: what was given up is tried again, once what was wrong has been mended."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.console import Console

from unsay_core.adapters.messaging import redriven
from unsay_core.admin.stack import DEFAULT_STACK, Stack

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient
    from mypy_boto3_sqs.type_defs import MessageTypeDef

console = Console(stderr=True)
QUEUES = {
    "extract": ("ExtractDeadLettersUrl", "ExtractQueueUrl"),
    "jobs": ("JobsDeadLettersUrl", "JobsQueueUrl"),
    "index": ("IndexDeadLettersUrl", "IndexQueueUrl"),
}
AT_ONCE = 10
HIDDEN = 60  # seconds in which a letter that was not sent comes back


def redrive_command(
    work: Annotated[Literal["extract", "jobs", "index"], typer.Argument(help="Whose dead letters.")],
    stack: Annotated[str, typer.Option(help="Name of the CloudFormation stack.")] = DEFAULT_STACK,
) -> None:
    """Send dead letters again, and let what failed be tried anew: unsay-admin redrive extract."""
    found = Stack.named(stack)
    dead, queue = (found.outputs[name] for name in QUEUES[work])
    sent = redrive(found.queues(), dead, queue)
    console.print(f"{sent} dead letters of {work} were sent again", highlight=False)


def redrive(sqs: SQSClient, dead: str, queue: str) -> int:
    """Send every letter to the queue, and then remove it; how many. One may be sent twice, none is lost.

    A letter that comes back meanwhile stays where it is: what was wrong with it has not been mended. No more
    are looked at than there were at first, or many that come back would be looked at for ever.
    """
    sent: set[str] = set()
    left = _waiting(sqs, dead)
    while left > 0 and (letters := _letters(sqs, dead)):
        left -= len(letters)
        for letter in letters:
            again = redriven(letter["Body"])
            if again in sent:
                continue
            sqs.send_message(QueueUrl=queue, MessageBody=again, **_order(letter))
            sqs.delete_message(QueueUrl=dead, ReceiptHandle=letter["ReceiptHandle"])
            sent.add(again)
    return len(sent)


def _waiting(sqs: SQSClient, dead: str) -> int:
    """As the queue counts them, which for letters that lie there for a minute is exact."""
    answer = sqs.get_queue_attributes(QueueUrl=dead, AttributeNames=["ApproximateNumberOfMessages"])
    return int(answer["Attributes"]["ApproximateNumberOfMessages"])


def _letters(sqs: SQSClient, dead: str) -> list[MessageTypeDef]:
    return sqs.receive_message(
        QueueUrl=dead,
        MaxNumberOfMessages=AT_ONCE,
        VisibilityTimeout=HIDDEN,
        WaitTimeSeconds=1,
        MessageSystemAttributeNames=["MessageGroupId"],
    ).get("Messages", [])


def _order(letter: MessageTypeDef) -> Any:
    """The place of a letter in a queue that keeps an order: behind what its memory still waits for."""
    group = letter.get("Attributes", {}).get("MessageGroupId")
    return {"MessageGroupId": group, "MessageDeduplicationId": letter["MessageId"]} if group else {}
