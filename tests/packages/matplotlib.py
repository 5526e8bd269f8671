# package: matplotlib
# modules: matplotlib numpy
# note: the fonts that come with matplotlib; fonts of the system are not loaded
import matplotlib
import matplotlib.pyplot as plt
import io
import base64

def png(fig, **how):
    out = io.BytesIO()
    fig.savefig(out, format="png", **how)
    plt.close(fig)
    return out.getvalue()

# %% the version, the backend
assert matplotlib.__version__
assert matplotlib.get_backend().lower() == "agg"
# %% a line, saved to memory
fig, ax = plt.subplots()
ax.plot([1, 2, 3], [1, 4, 9], label="squares", marker="o")
ax.set_title("Title"); ax.set_xlabel("x"); ax.set_ylabel("y"); ax.legend(); ax.grid(True)
assert png(fig)[:8] == b"\x89PNG\r\n\x1a\n"
# %% drawing by `plt`, `tight_layout`, `savefig(bbox_inches="tight")`
plt.figure(figsize=(4, 3))
plt.plot([1, 2], [3, 4]); plt.title("t"); plt.xlabel("x"); plt.legend(["a"]); plt.tight_layout()
out = io.BytesIO(); plt.savefig(out, dpi=50, bbox_inches="tight"); plt.close()
base64.b64encode(out.getvalue()).decode()[:10]
# %% bar, histogram, pie, scatter and box charts, several in a figure
fig, axes = plt.subplots(2, 3, figsize=(9, 6))
axes[0, 0].bar(["a", "b"], [1, 2]); axes[0, 1].hist([1, 2, 2, 3], bins=3); axes[0, 2].pie([1, 2], labels=["a", "b"], autopct="%1.1f%%")
axes[1, 0].scatter([1, 2], [3, 4], c=[1, 2], cmap="viridis"); axes[1, 1].boxplot([[1, 2, 3], [2, 3, 4]]); axes[1, 2].barh(["a"], [1])
fig.tight_layout()
png(fig)
# %% images, colour bars, contours
import numpy as np
fig, ax = plt.subplots()
im = ax.imshow(np.random.default_rng(0).random((10, 10)), cmap="coolwarm"); fig.colorbar(im)
png(fig)
fig, ax = plt.subplots(); cs = ax.contourf(*np.meshgrid(range(3), range(3)), np.eye(3)); ax.clabel(ax.contour(np.eye(3)))
png(fig)
# %% areas, error bars, stems, violins, hexagons, arrows, streams
fig, ax = plt.subplots(); ax.fill_between([1, 2], [1, 2]); ax.errorbar([1, 2], [1, 2], yerr=0.1); ax.stem([1, 2]); ax.step([1, 2], [1, 2]); ax.axhline(1); ax.axvspan(1, 2); ax.violinplot([[1, 2, 3]]); ax.stackplot([1, 2], [1, 2]); ax.hexbin([1, 2, 3], [1, 2, 3]); ax.quiver([1], [1], [1], [1]); ax.streamplot(np.arange(3), np.arange(3), np.ones((3, 3)), np.ones((3, 3)))
png(fig)
# %% formulas
fig, ax = plt.subplots(); ax.set_title(r"$\frac{a}{b} + \sqrt{x}$ \alpha"); ax.text(0.5, 0.5, r"$\int_0^1 x^2 dx$"); png(fig)
# %% dates on an axis
import datetime
fig, ax = plt.subplots(); ax.plot([datetime.date(2024, 1, d) for d in range(1, 9)], range(8)); fig.autofmt_xdate()
import matplotlib.dates as mdates
ax.xaxis.set_major_formatter(mdates.DateFormatter("%d %b")); ax.xaxis.set_major_locator(mdates.DayLocator()); png(fig)
# %% SVG, PDF and PostScript
fig, ax = plt.subplots(); ax.plot([1, 2]); o = io.BytesIO(); fig.savefig(o, format="svg"); assert b"<svg" in o.getvalue()
o = io.BytesIO(); fig.savefig(o, format="pdf"); assert o.getvalue()[:4] == b"%PDF"
o = io.BytesIO(); fig.savefig(o, format="ps")
# %% JPEG
fig, ax = plt.subplots(); ax.plot([1, 2]); o = io.BytesIO(); fig.savefig(o, format="jpeg"); assert o.getvalue()[:2] == b"\xff\xd8"
# %% three dimensions
fig = plt.figure(); ax = fig.add_subplot(projection="3d"); ax.plot_surface(*np.meshgrid(np.arange(4.0), np.arange(4.0)), np.ones((4, 4))); ax.scatter([1], [1], [1]); png(fig)
# %% polar axes
fig, ax = plt.subplots(subplot_kw={"projection": "polar"}); ax.plot([0, 1], [1, 2]); png(fig)
# %% logarithmic and twin axes, ticks
fig, ax = plt.subplots(); ax.set_yscale("log"); ax.plot([1, 10, 100]); b = ax.twinx(); b.plot([1, 2, 3]); ax.set_xticks([0, 1], ["a", "b"]); ax.tick_params(axis="x", rotation=45); png(fig)
# %% style sheets
with plt.style.context("ggplot"):
    fig, ax = plt.subplots(); ax.plot([1, 2]); png(fig)
plt.style.use("seaborn-v0_8"); plt.style.use("default"); plt.style.available
# %% annotations, patches
from matplotlib.patches import Rectangle, Circle
fig, ax = plt.subplots(); ax.annotate("here", (1, 1), xytext=(0.5, 0.5), arrowprops={"arrowstyle": "->"}); ax.add_patch(Rectangle((0, 0), 1, 1)); ax.add_patch(Circle((0, 0), 1)); png(fig)
# %% gridspec, subplot_mosaic, constrained layout
fig = plt.figure(layout="constrained"); gs = fig.add_gridspec(2, 2); fig.add_subplot(gs[0, :]); png(fig); fig, d = plt.subplot_mosaic("AB;CC"); png(fig)
# %% other fonts
fig, ax = plt.subplots(); ax.set_title("t", family="serif", weight="bold", style="italic"); ax.text(0, 0, "m", family="monospace"); png(fig)
# %% a font that is missing: the default is used
fig, ax = plt.subplots(); ax.set_title("t", family="Helvetica Neue"); png(fig)
# %% Latin, Greek and Cyrillic text
fig, ax = plt.subplots(); ax.set_title("Ünïcödé Ελληνικά привет"); png(fig)
# %% the canvas as an array
fig, ax = plt.subplots(); ax.plot([1]); fig.canvas.draw(); assert np.asarray(fig.canvas.buffer_rgba()).shape[2] == 4; plt.close(fig)
# %% an animation
# error: PermissionError
# why: it is put together in a temporary directory
from matplotlib.animation import FuncAnimation
fig, ax = plt.subplots(); line, = ax.plot([1, 2]); an = FuncAnimation(fig, lambda i: line.set_ydata([i, i]), frames=2)
an.to_jshtml()
# %% matplotlib.use, rcParams
matplotlib.use("Agg"); matplotlib.rcParams["figure.dpi"] = 80; plt.rcParams.update({"font.size": 8})
# %% a `Figure` without `plt`
from matplotlib.figure import Figure
fig = Figure(); ax = fig.subplots(); ax.plot([1, 2]); o = io.BytesIO(); fig.savefig(o, format="png")
# %% colours, colour maps, formatters
import matplotlib.cm as cm, matplotlib.colors as mcolors, matplotlib.ticker as ticker
plt.get_cmap("tab10"); cm.viridis(0.5); mcolors.to_hex("red"); plt.colormaps(); mcolors.LinearSegmentedColormap.from_list("x", ["r", "b"])
fig, ax = plt.subplots(); ax.yaxis.set_major_formatter(ticker.FuncFormatter(lambda v, p: f"{v:.0f}!")); ax.plot([1,2]); png(fig)
# %% tables and broken bars
fig, ax = plt.subplots(); ax.table(cellText=[["1"]], loc="center"); ax.broken_barh([(1, 2)], (0, 1)); png(fig)
