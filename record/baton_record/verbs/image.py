# SPDX-License-Identifier: Apache-2.0
"""`baton image`: one picture of a topic, in the terminal or as a PNG."""

from __future__ import annotations

import sys
from pathlib import Path

import click
from baton_cli import live
from baton_cli.examples import examples
from baton_cli.option_numbers import Seconds
from rich.console import Console

from .. import image_terminal


@examples(
    "baton image /camera/image",
    "baton image /camera/depth -o depth.png",
)
@click.command()
@live.domain_options
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="FILE.png", help="Write a PNG instead.")
@click.option(
    "--as",
    "form",
    type=click.Choice(image_terminal.FORMS),
    help="How the terminal shows it. Default: the best form that it has.",
)
@click.option("--timeout", type=Seconds(min=0), metavar="S", help="Seconds to wait; default: for ever.")
@click.argument("topic", shell_complete=live.complete_topics)
def command(
    domain: int | None,
    search: tuple[Path, ...],
    output: Path | None,
    form: str | None,
    timeout: float | None,
    topic: str,
) -> None:
    """Show the next picture of TOPIC.

    TOPIC: of type sensor_msgs/Image or sensor_msgs/CompressedImage (JPEG, PNG). Depth in floats is scaled from its least to its greatest value.
    A PNG keeps 16 bits. A file that exists is replaced.
    """
    live.load()
    from ..image_pixels import COMPRESSED, IMAGE, ImageError, library, picture_of, with_eight_bits

    if output is not None and output.suffix.lower() != ".png":
        raise click.UsageError(f"{output} is no PNG: -o FILE.png")
    if output is None and form is None and not sys.stdout.isatty():
        raise click.UsageError("the output is no terminal: -o FILE.png, or --as blocks")
    try:
        library("Image")  # raises now if Pillow is missing, not at the first message
        node = live.join(domain, search)
        kind = live.type_of(node, topic, timeout)
        if kind not in (IMAGE, COMPRESSED):
            raise ImageError(f"{live.absolute(topic)} has messages of {kind}, not of {IMAGE} or {COMPRESSED}")
        subscription = live.subscribe(node, topic, kind, 1, timeout)
        picture = None
        unchanged = live.Unchanged()
        while picture is None:
            message = subscription.take(timeout)
            if message is None:
                raise ImageError(f"no message on {live.absolute(topic)} within {timeout:g} s")
            with unchanged:
                picture = picture_of(message)
            del message
        if output is not None:
            picture.save(output, "PNG")
        else:
            # NO_COLOR is meant for text; a picture keeps its colours.
            console = Console(force_terminal=True, no_color=False)
            image_terminal.show(with_eight_bits(picture), form or image_terminal.ask(), console)
    except (ImageError, OSError) as error:
        raise click.ClickException(live.harmless(str(error))) from None
