# package: pandas
# modules: pandas jinja2 lxml matplotlib numpy openpyxl
import io
import pandas as pd

df = pd.DataFrame({"city": ["Rome", "Oslo", "Rome"], "n": [1, 2, 3], "x": [0.5, 1.5, 2.5]})

# %% df.style
assert "<style" in df.style.format(precision=1).highlight_max(subset=["n"]).to_html()
df.to_latex()
# %% HTML tables
pd.read_html(io.StringIO("<table><tr><th>a</th></tr><tr><td>1</td></tr></table>"))
# %% XML
assert "<city>Rome</city>" in df.to_xml()
pd.read_xml(io.StringIO(df.to_xml()))
# %% reading an Excel file from memory
import base64

book = base64.b64decode(
    "UEsDBBQAAAAIAL04cl25Fh4k0AAAAL4BAAATAAAAW0NvbnRlbnRfVHlwZXNdLnhtbK2Ru27DMAxFf8XQWkRMM2QobC"
    "9t16ZDfoCV6ViwXhCZ1Pn7yOpj6NQCnQiJh/cQYHu8JuJm8S5wpyaR9ADAZiKPrGOiUDpjzB6lPPMJEpoZTwS77XYP"
    "JgahIBtZM1TfPtGIZyfN81K+2cbQqUyOVfP4Aa6uTmFKzhqU0odLGH5YNp8GXSYrw5NNfFcABX17uFDOdqDmFbO8oC"
    "9xsDh4j3l+i3HWK/YnWxxHa2iI5uzLiOaUCQeeiMQ7Xav2aMMv/BVmqOX+nxf5zv/aA+rZ+htQSwMEFAAAAAgAvThy"
    "XSn/l+KHAAAA7QAAAAsAAABfcmVscy8ucmVsc43POw7CMBAE0KtYPkA2oqBAjisaWsQFFrP+KLHXsh0Rbo/LgCgoRz"
    "N60qgrLdgCp+pDrmKLS6qT9K3lE0A1niLWgTOl3lguEVuPxUFGM6MjOIzjEcrekFrtTXF5TBKluL0y/QOztcHQmc0a"
    "KbUf/teiy1gctUluCzy5zHfmeeioBK3g451+A1BLAwQUAAAACAC9OHJdTwtREowAAADcAAAADwAAAHhsL3dvcmtib2"
    "9rLnhtbI2PMQ6DMAxFrxL5ADXt0AEBU5fOPYELpokgcWQHtccvgrJ3sp/+17PcvEWnp8jkPnFO1oIvJdeI1nuOZCfJ"
    "nNZkFI1UVtQXWlamwTxziTNequqKkUKC3VDrPw4Zx9DzTfolciq7RHmmEiSZD9mga7YL9psuUeQWHuA2vA8tnMFpHd"
    "aFALsGjzoeH3VfUEsDBBQAAAAIAL04cl1lAo3XiwAAAO4AAAAaAAAAeGwvX3JlbHMvd29ya2Jvb2sueG1sLnJlbHON"
    "z00KwjAQBeCrlBygU124kCYrN26lFxjiNAltfsiMqLc3uJAKLlwN7z34YMYLrSghJ/ahcPeIa2KtvEg5ArD1FJH7XC"
    "i1Zc41orRYHRS0CzqC/TAcoG4NZcat2Z2vWqHqpmehf+A8z8HSKdtbpCQ/fLjnurAnkoZidSRafSqG99n1TVVgRvh6"
    "z7wAUEsDBBQAAAAIAL04cl2T6J0+jwAAANUAAAAYAAAAeGwvd29ya3NoZWV0cy9zaGVldDEueG1sTY9LCsMwDESvYn"
    "yAKkmhiyILCr1BTmBStzb1J8gi6fHrZBGyEMyM9BiEa+Fv9c6J+qWYq9FeZL4D1Mm7ZOulzC63zbtwstIsf6DO7Oxr"
    "h1KEoetukGzImnDPnlYsIZdVsdF9S6dNPHqtxOiQY8huFG55qIRCGUEIYTMwtWngQQ8HvamFrgjL+QxOhXB8Qn9QSw"
    "ECFAMUAAAACAC9OHJduRYeJNAAAAC+AQAAEwAAAAAAAAAAAAAAgAEAAAAAW0NvbnRlbnRfVHlwZXNdLnhtbFBLAQIU"
    "AxQAAAAIAL04cl0p/5fihwAAAO0AAAALAAAAAAAAAAAAAACAAQEBAABfcmVscy8ucmVsc1BLAQIUAxQAAAAIAL04cl"
    "1PC1ESjAAAANwAAAAPAAAAAAAAAAAAAACAAbEBAAB4bC93b3JrYm9vay54bWxQSwECFAMUAAAACAC9OHJdZQKN14sA"
    "AADuAAAAGgAAAAAAAAAAAAAAgAFqAgAAeGwvX3JlbHMvd29ya2Jvb2sueG1sLnJlbHNQSwECFAMUAAAACAC9OHJdk+"
    "idPo8AAADVAAAAGAAAAAAAAAAAAAAAgAEtAwAAeGwvd29ya3NoZWV0cy9zaGVldDEueG1sUEsFBgAAAAAFAAUARQEA"
    "APIDAAAAAA=="
)
assert pd.read_excel(io.BytesIO(book))["n"].tolist() == [3]
# %% writing an Excel file
# error: PermissionError
# why: openpyxl writes to a temporary file first; return CSV
df.to_excel(io.BytesIO(), index=False)
# %% charts
ax = df.plot(x="n", y="x", kind="bar")
out = io.BytesIO()
ax.figure.savefig(out)
assert out.getvalue()[:4] == b"\x89PNG"
df["n"].hist(), df.plot.scatter("n", "x"), df.boxplot(), df["city"].value_counts().plot.pie()
# %% functions of numpy on columns
import numpy as np
assert np.log1p(df["n"]).shape == (3,)
assert df[["n", "x"]].to_numpy().sum() == 10.5
np.where(df["n"] > 1, "a", "b")
