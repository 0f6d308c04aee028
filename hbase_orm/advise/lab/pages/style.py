"""The style sheet of a page: light and dark, for phones, screens and paper."""

from __future__ import annotations

from typing import Final

STYLE: Final = """
:root {
  color-scheme: light dark;
  --page: #fbfbfc; --card: #ffffff; --ink: #1b1f24; --soft: #57606a; --line: #d5dae0;
  --bar: #2f77bd; --mark: #b3541e; --good: #1a6b3c;
  --l0: #eef0f3; --l1: #dbe8f5; --l2: #b8d4ee; --l3: #85b5e1; --l4: #4a8dcb; --l5: #1f5f9e;
  --l6: #e39a4f; --l7: #b8351f;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #14171b; --card: #1b1f25; --ink: #e6e9ed; --soft: #9aa4af; --line: #363d46;
    --bar: #5aa2e6; --mark: #f0975a; --good: #6cc893;
    --l0: #242a31; --l1: #1c344c; --l2: #1e4a72; --l3: #25659d; --l4: #4189ca; --l5: #86baea;
    --l6: #e8a45c; --l7: #e2543a;
  }
}
@media print {
  :root {
    color-scheme: light;
    --page: #ffffff; --card: #ffffff; --ink: #000000; --soft: #444444; --line: #bbbbbb;
    --bar: #2f77bd; --mark: #b3541e; --good: #1a6b3c;
    --l0: #eef0f3; --l1: #dbe8f5; --l2: #b8d4ee; --l3: #85b5e1; --l4: #4a8dcb; --l5: #1f5f9e;
    --l6: #e39a4f; --l7: #b8351f;
  }
  * { -webkit-print-color-adjust: exact; print-color-adjust: exact; }
  body { font-size: 10pt; }
}
* { box-sizing: border-box; }
body {
  margin: 0; background: var(--page); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif;
}
main { max-width: 1120px; margin: 0 auto; padding: 20px 16px 48px; }
h1 { font-size: 1.6rem; line-height: 1.2; margin: 0 0 6px; }
h2 { font-size: 1.2rem; margin: 36px 0 8px; overflow-wrap: anywhere; }
h3 { font-size: 1rem; margin: 18px 0 4px; overflow-wrap: anywhere; }
p { margin: 0 0 8px; max-width: 72ch; }
.soft { color: var(--soft); }
.verdict {
  background: var(--card); border: 1px solid var(--line); border-left: 5px solid var(--good);
  border-radius: 6px; padding: 14px 16px; margin: 16px 0;
}
.verdict p:first-child { font-size: 1.15rem; font-weight: 600; }
.verdict p:last-child { margin-bottom: 0; }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 330px), 1fr));
  gap: 14px; align-items: start; }
figure { margin: 0; background: var(--card); border: 1px solid var(--line); border-radius: 6px;
  padding: 10px; break-inside: avoid; min-width: 0; }
figcaption { font-size: .9rem; font-weight: 600; margin-bottom: 4px; overflow-wrap: anywhere; }
svg { display: block; width: 100%; height: auto; max-width: 620px; }
svg text { font: 11px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; fill: var(--soft); }
svg text.value { fill: var(--ink); }
svg .axis { stroke: var(--line); fill: none; }
svg .even { stroke: var(--mark); stroke-dasharray: 4 3; fill: none; stroke-width: 1.5; }
svg .split { stroke: var(--ink); stroke-width: 1.4; fill: none; }
svg .wanted { stroke: var(--mark); stroke-width: 2.5; fill: none; }
svg .bar { fill: var(--bar); }
svg .empty { fill: none; stroke: var(--mark); stroke-width: 1.2; }
.l0 { fill: var(--l0); } .l1 { fill: var(--l1); } .l2 { fill: var(--l2); } .l3 { fill: var(--l3); }
.l4 { fill: var(--l4); } .l5 { fill: var(--l5); } .l6 { fill: var(--l6); } .l7 { fill: var(--l7); }
.legend { display: flex; flex-wrap: wrap; gap: 2px 12px; font-size: .8rem; color: var(--soft);
  margin-top: 4px; }
.legend span { display: inline-flex; align-items: center; gap: 5px; }
.legend svg { width: 14px; height: 14px; flex: none; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .88rem; font-variant-numeric: tabular-nums;
  min-width: 100%; }
th, td { text-align: right; padding: 5px 10px; border-bottom: 1px solid var(--line);
  white-space: nowrap; }
th { color: var(--soft); font-weight: 600; vertical-align: bottom; white-space: normal; }
th:first-child, td:first-child, th:nth-child(2), td:nth-child(2) { text-align: left; }
tr.better td { font-weight: 600; }
code { font: .9em ui-monospace, SFMono-Regular, Menlo, Consolas, monospace;
  overflow-wrap: anywhere; }
ul { margin: 6px 0 0; padding-left: 20px; }
@media print {
  .scroll { overflow: visible; }
  table { font-size: 7.5pt; }
  th, td { padding: 3px 5px; white-space: normal; }
  h2, h3 { break-after: avoid; }
}
""".strip()
"""The text of the style sheet."""
