#!/usr/bin/env python3
"""Makes the page of a folder of traces and ratio tables: index.html, figures, tables and results.

Usage: report.py OUTPUT --bundled DATA | --captures FOLDER
DATA is the folder data/ of a build.  What was evaluated before is taken from OUTPUT/results.
"""
import argparse
import os
import sys
from pathlib import Path

import evaluate
import stages
import tables
from page import Page

HERE = Path(__file__).resolve().parent
BUNDLED = {
    "measured": "the ratios, on real activations of the five models: 4 KB chunks of every class "
    "of saved tensors, and the ratio of every saved tensor, from one iteration after a short "
    "training (tests/data). The image models saw photographs, GPT-2 the text of a dictionary. BF16 "
    "is FP32 rounded to nearest, ties to even.",
    "recorded": "every operator of one training iteration at the paper's batch sizes, on PyTorch's "
    "device <code>meta</code>, which has shapes but no data.",
    "training": "Our models were trained for a short time on other data: photographs and the text "
    "of a dictionary instead of ImageNet checkpoints and WikiText-2.",
}
CAPTURES = {
    "measured": "the ratios, on all saved tensors of the five models, captured on the CPU over "
    "three consecutive iterations with optimizer steps, at a small batch size, after a short "
    "training. The image models saw photographs, GPT-2 text: eight pieces of it in a sequence, one "
    "of each eighth. Captured tensors stand for those of "
    "the recorded iteration by producing operator and output slot; what has no counterpart counts "
    "as incompressible. BF16 is FP32 rounded to nearest, ties to even.",
    "recorded": BUNDLED["recorded"] + " ViT-B/16 drops whole paths in training, as timm does with "
    "a <code>drop_path_rate</code>. The paper does not say so, but its counts do: the two paths of "
    "11 of the 12 layers take five operators and save one factor an image each, so that 189 "
    "tensors and 1,800 operators become 211 and 1,910. Table III counts these factors, which are "
    "tiny, as elementwise.",
    "training": "Our models were trained for a short time on other data: photographs and text that "
    "packages ship instead of ImageNet checkpoints and WikiText-2.",
}
QUICK = ("This is the quick form, of bundled data: <code>make reproduce QUICK=1</code>, or "
         "<code>make demo</code>, takes a minute. <code>make reproduce</code> records and trains "
         "the models, captures their activations over three iterations, and makes this page of "
         "them.")
FULL = ("<code>make reproduce</code> made this page: traces, training, captures, ratio tables and "
        "simulations. What was made is kept in its folder, and made again only where it is missing "
        "or has changed. <code>make reproduce QUICK=1</code> makes it of bundled data.")


def sources():
    """What the results depend on beside the data: the program and this evaluation."""
    return [evaluate.PROGRAM, HERE / "evaluate.py", HERE / "tables.py"]


def about(source, quick, search):
    """What the page tells of its making."""
    made = dict(BUNDLED if source.bundled else CAPTURES, version=evaluate.version(),
                command=QUICK if quick else FULL,
                search=f"{search:,} plans looked at for each" if search else "about a second for "
                "each")
    shares = source.matched_shares()
    if shares:
        low, high = (100 * f(shares) for f in (min, max))
        made["measured"] += f" Of the saved bytes {low:.1f} to {high:.1f} % have a counterpart."
    return made


def build(output, source, quick, plans=None):
    """Writes everything; returns the path of the page."""
    search = (2000 if quick else 0) if plans is None else plans
    output.mkdir(parents=True, exist_ok=True)
    told = about(source, quick, search)
    source.check()
    key = [stages.digest([*sources(), *source.files()]), search]
    results = evaluate.evaluate(evaluate.Evaluation(source, output / "work", search),
                                stages.Stages(output / "results", key))
    page = Page(results, told)
    text = page.html()
    for figure in page.figures:
        stages.write(output / "figures" / f"{figure.name}.svg", figure.svg())
    for table in page.tables:
        stages.write(output / "tables" / f"{table.name}.csv", table.csv())
    stages.write(output / "index.html", text)
    return output / "index.html"


def source_of(options):
    """Bundled captures of whole iterations, where there are, stand before the sample."""
    if options.captures:
        return tables.Source(options.captures, False)
    captured = tables.Source(options.bundled / "captured", False)
    if all(map(captured.captured, tables.MODELS)):
        return captured
    return tables.Source(options.bundled, True)


def count(text):
    value = int(text)
    if value < 0:
        raise argparse.ArgumentTypeError("must be 0 or more")
    return value


def main():
    parser = argparse.ArgumentParser(description="Make the page of the paper's evaluation.")
    parser.add_argument("output", type=Path)
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--bundled", type=Path, metavar="DATA")
    which.add_argument("--captures", type=Path, metavar="FOLDER")
    parser.add_argument("--plans", type=count, metavar="N", help="plans that policy best looks at "
                        "(bundled: 2000, captures: about a second's worth)")
    options = parser.parse_args()
    source = source_of(options)
    missing = [str(path) for path in source.files() if not path.is_file()]
    missing += [f"a ratio table of {model}" for model in tables.MODELS if not source.tables(model)]
    if missing:
        sys.exit(f"planezip: {source.folder}: lacks {', '.join(missing)}; run make, or "
                 "reproduce/run")
    try:
        path = build(options.output, source, options.bundled is not None, options.plans)
    except tables.Failure as failure:
        sys.exit(str(failure))
    except OSError as error:
        sys.exit(f"planezip: {error.filename or options.output}: {error.strerror}; "
                 "give a folder that can be written")
    print(os.path.relpath(path) if path.is_relative_to(Path.cwd()) else path)


if __name__ == "__main__":
    main()
