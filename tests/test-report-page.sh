#!/bin/bash
# SPDX-License-Identifier: MIT
# The page of foretrain report in a browser: it draws under its own policy, a name that is markup runs nothing, keys and
# pointer tell values and zoom, and it works on a phone's width. Skipped (77) where there is no chromium.
# Usage: test-report-page.sh FORETRAIN
set -u
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || exit 77
foretrain=$(realpath "$1")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
failed=0

# The page's document once its script has run.
dom() {
  "$browser" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir="$folder/profile" \
    --virtual-time-budget=3000 --window-size="${2:-1280},900" --dump-dom "file://$folder/$1" 2>/dev/null
}

expect() {
  if printf '%s' "$2" | grep -qF -- "$3"; then return; fi
  failed=$((failed + 1))
  printf 'FAILED %s: lacks "%s"\n' "$1" "$3"
}

name='<img src=x onerror=document.body.dataset.bad=1>'
cp "$FORETRAIN_DATA/workloads/llama2-7b.ini" "$name.ini"
mkdir models && cp "$FORETRAIN_DATA/workloads/models/llama-2-7b.json" models/
"$foretrain" report "$name.ini" --set parallel.framework=fsdp2 --set model.layers=4 --db a.db -o page.html -q || exit 1

page=$(dom page.html)
expect "it draws under its policy" "$page" 'data-drawn="1"'
expect "a name is its letters" "$page" '&lt;img src=x onerror'
if printf '%s' "$page" | grep -q 'data-bad'; then
  failed=$((failed + 1))
  echo "FAILED a name ran as script"
fi
expect "keys of the timeline" "$page" 'forward '

# Without the policy a script of the test may press keys and look at pixels.
cat >act.html <<'EOF'
<script>
const canvas = document.querySelector("canvas.timeline"), say = (key, value) => (document.body.dataset[key] = value);
const view = views[0], whole = view.window[1] - view.window[0];
canvas.dispatchEvent(new KeyboardEvent("keydown", {key: "+", bubbles: true}));
say("zoomed", (view.window[1] - view.window[0]) / whole);
canvas.dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowRight"}));
say("moved", view.window[0] > whole / 4);
canvas.dispatchEvent(new KeyboardEvent("keydown", {key: "0"}));
say("back", (view.window[1] - view.window[0]) / whole);
canvas.dispatchEvent(new PointerEvent("pointermove", {clientX: canvas.getBoundingClientRect().left + 600}));
say("told", document.querySelector(".hover").textContent);
const pen = canvas.getContext("2d"), pixels = pen.getImageData(0, 0, canvas.width, canvas.height).data;
const colours = new Set();
for (let i = 0; i < pixels.length; i += 4)
  if (pixels[i + 3] === 255)
    colours.add(pixels.slice(i, i + 3).join(","));
say("forward", colours.has("166,206,227"));
say("backward", colours.has("31,102,173"));
say("wide", document.documentElement.scrollWidth > innerWidth);
</script>
EOF
sed -e '/Content-Security-Policy/d' -e '/^<\/body>$/d' -e '/^<\/html>$/d' page.html | cat - act.html >acted.html
for width in 1280 500; do
  acted=$(dom acted.html $width)
  expect "keys zoom ($width)" "$acted" 'data-zoomed="0.5"'
  expect "keys move ($width)" "$acted" 'data-moved="true"'
  expect "keys go back ($width)" "$acted" 'data-back="1"'
  expect "the pointer tells ($width)" "$acted" 'compute: '
  expect "the pointer tells memory ($width)" "$acted" 'memory: '
  expect "forward is painted ($width)" "$acted" 'data-forward="true"'
  expect "backward is painted ($width)" "$acted" 'data-backward="true"'
  expect "nothing is wider than the screen ($width)" "$acted" 'data-wide="false"'
done
[ $failed -eq 0 ] && echo "all passed"
exit $((failed > 0))
