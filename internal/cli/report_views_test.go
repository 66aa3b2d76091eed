//go:build browser

package cli

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"image"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"sim/scenarios/result"
)

// viewChecks compare the content of views with the results in directories, indexed by view.
var viewChecks = map[string]func(w *browserTab, dirs []string){
	"summary": checkSummary, "timeline": checkTimeline, "topology": checkTopology, "plan": checkPlan, "fleet": checkFleet,
	"explorer": checkExplorer, "differs": checkDifferences,
}

// quantityPattern matches a number at the beginning of a text, with its unit.
var quantityPattern = regexp.MustCompile(`^([\d,]*\.?\d+)(?: (ns|µs|ms|s|h|d|%|[kMGT]?B/s)(?:\W|$))?`)

// unitFactors convert the units in pages to the units of metrics.
var unitFactors = map[string]float64{
	"": 1, "s": 1, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9, "h": 3600, "d": 86400, "%": 1e-2, "B/s": 1, "kB/s": 1e3, "MB/s": 1e6, "GB/s": 1e9, "TB/s": 1e12,
}

// hasQuantity reports whether a text begins with the value v, to the precision with which it
// is printed.
func hasQuantity(text string, v float64) bool {
	m := quantityPattern.FindStringSubmatch(strings.TrimSpace(text))
	if m == nil {
		return text == "optimal" && math.Abs(v) < 1e-6
	}
	number, err := strconv.ParseFloat(strings.ReplaceAll(m[1], ",", ""), 64)
	unit, known := unitFactors[m[2]]
	_, decimals, _ := strings.Cut(m[1], ".")
	return err == nil && known && math.Abs(number*unit-v) <= 0.501*unit*math.Pow10(-len(decimals))
}

func (w *browserTab) run(dir string) *result.Run {
	w.Helper()
	run, err := result.Read(dir)
	if err != nil {
		w.Fatal(err)
	}
	return run
}

// textOf returns the text of an element of the view.
func (w *browserTab) textOf(selector string) string {
	w.Helper()
	return w.text(fmt.Sprintf(`(document.querySelector(%q) || {textContent: "nothing"}).textContent`, "main "+selector))
}

// checkSummary: each cell of the table has the metric of its policy.
func checkSummary(w *browserTab, dirs []string) {
	rows := w.run(dirs[0]).Document.Rows
	metrics := w.texts(`sim.data.docs[0].table.metrics`)
	cells := eval[[][]string](w, `[...document.querySelector("main table").tBodies[0].rows].map(r => [...r.cells].map(c => c.tagName === "TD" ? c.firstChild.textContent : c.textContent))`)
	if len(cells) != len(rows) {
		w.Fatalf("summary: %d rows, want %d", len(cells), len(rows))
	}
	compared := 0
	for i, row := range rows {
		if !strings.Contains(cells[i][0], row.Policy) {
			w.Errorf("summary: row %d is of %s, not of %s", i, cells[i][0], row.Policy)
		}
		for k, name := range metrics {
			if v, has := row.Metrics[name]; has {
				compared++
				if text := cells[i][k+1]; !hasQuantity(text, v) {
					w.Errorf("summary: %s of %s is %q, want %v", name, row.Policy, text, v)
				}
			}
		}
	}
	if compared < 2*len(rows) {
		w.Errorf("summary: only %d metrics were found in the results", compared)
	}
}

// checkTimeline: the view has the end of the run and the work of each track.
func checkTimeline(w *browserTab, dirs []string) {
	policy := w.text(`document.querySelector("main select").value`)
	run := w.run(dirs[0])
	text := w.textOf(".controls .note")
	if _, end, _ := strings.Cut(text, " to "); !hasQuantity(end, run.Document.Row(policy).Metrics["makespan_s"]) {
		w.Errorf("timeline: %q of %s, want the end at %v s", text, policy, run.Document.Row(policy).Metrics["makespan_s"])
	}
	cells := w.table("Seconds of each track by kind under " + policy)
	for _, p := range run.Detail.Policies {
		for i, track := range p.Tracks {
			if p.Policy == policy && !hasQuantity(cells[i][len(cells[i])-1], float64(len(track.Spans))) {
				w.Errorf("timeline: %q, want %d bars", cells[i], len(track.Spans))
			}
		}
	}
}

// checkExplorer: the cells have the values of the selected metric.
func checkExplorer(w *browserTab, dirs []string) {
	s, _, _, err := result.ReadSweep(dirs[0])
	if err != nil {
		w.Fatal(err)
	}
	metric := w.text(`document.querySelector("main select").value`)
	cells := w.table("Cells")
	if len(cells) != len(s.Cells) || len(cells) == 0 {
		w.Errorf("explorer: %d cells, want %d", len(cells), len(s.Cells))
	}
	for _, row := range cells {
		n, err := strconv.Atoi(row[0])
		if err != nil || n > len(s.Cells) {
			w.Fatalf("explorer: %q is no cell", row)
		}
		if text := row[2+len(s.Axes)]; !hasQuantity(text, s.Cells[n-1].Metrics[metric]) {
			w.Errorf("explorer: %s of cell %d is %q, want %v", metric, n, text, s.Cells[n-1].Metrics[metric])
		}
	}
}

// checkDifferences: the view has the old and the new values.
func checkDifferences(w *browserTab, dirs []string) {
	names := w.texts(`[...document.querySelectorAll("main tbody span[title]")].map(s => s.title)`)
	compared := 0
	for i, row := range w.table("Differences, failing ones first, then the largest") {
		for side, dir := range dirs {
			if r := w.run(dir).Document.Row(row[1]); r != nil {
				if v, has := r.Metrics[names[i]]; has {
					compared++
					if !hasQuantity(row[2+side], v) {
						w.Errorf("differs: %s of %s is %q, want %v", names[i], row[1], row[2+side], v)
					}
				}
			}
		}
	}
	if compared < 10 {
		w.Errorf("differs: only %d metrics were found in the results", compared)
	}
}

// table returns the cells of a table, which is opened if necessary.
func (w *browserTab) table(label string) [][]string {
	w.Helper()
	return eval[[][]string](w, fmt.Sprintf(`new Promise(done => {
		const closed = [...document.querySelectorAll("main details:not([open])")], table = () => [...document.querySelectorAll("main table")].find(t => t.caption.textContent === %q);
		if (!table()) closed.forEach(d => { d.open = true; });
		setTimeout(() => {
			const t = table();
			done(t ? [...t.tBodies[0].rows].map(r => [...r.cells].map(c => c.textContent)) : []);
			closed.forEach(d => { d.open = false; });
		}, 50);
	})`, label))
}

// checkTopology: the view has the number of used ports, or the load of the most loaded link.
func checkTopology(w *browserTab, dirs []string) {
	run := w.run(dirs[0])
	policy := strings.TrimSpace(w.textOf(".panel h2"))
	m := run.Document.Row(policy).Metrics
	if ports, has := m["ports"]; has {
		if text := w.textOf(".panel .note"); !hasQuantity(text, ports) {
			w.Errorf("topology: %q of %s, want %v ports", text, policy, ports)
		}
		return
	}
	scale := strings.Fields(w.textOf(".legend li"))
	if maxLoad := scale[len(scale)-1]; !hasQuantity(maxLoad, m["max_link_load"]) {
		w.Errorf("topology: the load of links under %s goes to %s, want %v", policy, maxLoad, m["max_link_load"])
	}
	// With keys: select a node, read the loads of its links, and show the path to another node.
	w.do(chromedp.Focus(chromedp.CSS("main canvas")))
	w.press(kb.ArrowRight + kb.Enter + kb.ArrowRight)
	w.waitUntilDrawn()
	if tip := w.text(`document.getElementById("tip").textContent`); !strings.Contains(tip, "messages") || !strings.Contains(tip, "from ") {
		w.Errorf("topology: keys show %q, want what the links of a node carry and the route to it", tip)
	}
	w.press(kb.Escape)
}

// checkPlan: the view has the last slot of the plan, its topologies and its end.
func checkPlan(w *browserTab, dirs []string) {
	policy := w.text(`document.querySelector("main select").value`)
	m := w.run(dirs[0]).Document.Row(policy).Metrics
	before := w.textOf(".frame")
	w.do(chromedp.Focus(chromedp.CSS("main canvas")))
	w.press(kb.End)
	w.waitUntilDrawn()
	text := w.textOf(".frame")
	want := fmt.Sprintf("slot %v of %v on topology %v of %[3]v;", m["slots"], m["slots"], m["reconfigurations"])
	_, end, _ := strings.Cut(text, " to ")
	if text == before || !strings.Contains(text, want) || !hasQuantity(end, m["completion_s"]) || !strings.Contains(text, "56 of 56 chunks") {
		w.Errorf("plan: %q, want %q, all chunks, and the end at %v s", text, want, m["completion_s"])
	}
	w.press(kb.Home)
	play := `document.querySelector("[data-key=play]")`
	w.isTrue(play + `.click() === undefined`)
	if !w.isTrue(`new Promise(done => { const begin = performance.now(), look = () => document.querySelector("main .frame").textContent.includes("slot 2") ? done(true) : performance.now() - begin > 5000 ? done(false) : setTimeout(look, 20); look(); })`) {
		w.Error("plan: it does not play")
	}
	w.isTrue(play + `.click() === undefined`)
}

// checkFleet: the view has the failures and repairs of the first pod in the days shown.
func checkFleet(w *browserTab, dirs []string) {
	policy := w.text(`document.querySelector("main select").value`)
	f, err := os.Open(filepath.Join(dirs[0], "events-"+policy+".csv"))
	if err != nil {
		w.Fatal(err)
	}
	defer f.Close()
	lines, err := csv.NewReader(f).ReadAll()
	if err != nil {
		w.Fatal(err)
	}
	var fleet *result.Fleet
	run := w.run(dirs[0])
	for _, p := range run.Detail.Policies {
		if p.Policy == policy {
			fleet = p.Fleet
		}
	}
	want := 0
	for _, l := range lines[1:] {
		if at, err := strconv.ParseFloat(l[0], 64); err == nil && l[1] == "0" && at >= fleet.FromS && at < fleet.UntilS {
			want++
		}
	}
	got := len(w.table("Failures and repairs under " + policy))
	if got != want || want == 0 {
		w.Errorf("fleet: %d failures and repairs are shown, want %d", got, want)
	}
}

// compareScreenshot compares a screenshot of the page with the stored one. Both are averaged
// over cells, so that small differences between versions of a font are ignored.
func (w *browserTab) compareScreenshot(name string) {
	w.Helper()
	shot, err := chromedp.Run(w.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		w.Fatal(err)
	}
	got, err := png.Decode(bytes.NewReader(shot))
	if err != nil {
		w.Fatal(err)
	}
	path := filepath.Join(screenshotDir, name+".png")
	if *update {
		var b bytes.Buffer
		if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&b, got); err != nil {
			w.Fatal(err)
		}
		if err := os.WriteFile(path, b.Bytes(), 0o666); err != nil {
			w.Fatal(err)
		}
		return
	}
	before, err := os.ReadFile(path)
	if err != nil {
		w.Fatal(err)
	}
	want, err := png.Decode(bytes.NewReader(before))
	if err != nil {
		w.Fatal(err)
	}
	if mean, far := imageDifference(averageCells(got), averageCells(want)); mean > maxMeanDifference || far > maxFarShare {
		out := filepath.Join(os.TempDir(), "sim-"+name+".png")
		os.WriteFile(out, shot, 0o666)
		w.Errorf("%s does not look as in %s: it differs by %.2f of 255 in the mean, and much at %.1f %% of its places; see %s, and if it should: -update", name, path, mean, 100*far, out)
	}
}

// screenshotDir is an absolute path, because tests change the working directory.
var screenshotDir, _ = filepath.Abs(filepath.Join("testdata", "browser"))

// Tolerances of screenshots: another version of a font moves lines by a pixel or two.
const (
	cellPixels        = 10   // side of the square over which pixels are averaged
	maxMeanDifference = 2.5  // of 255
	maxFarShare       = 0.03 // maximum share of cells that differ by more than minFarDifference
	minFarDifference  = 40   // of 255
)

// averageCells returns the mean luminance of each cell.
func averageCells(m image.Image) [][]float64 {
	b := m.Bounds()
	rows := make([][]float64, b.Dy()/cellPixels)
	for y := range rows {
		rows[y] = make([]float64, b.Dx()/cellPixels)
		for x := range rows[y] {
			for i := range cellPixels * cellPixels {
				r, g, b, _ := m.At(b.Min.X+x*cellPixels+i%cellPixels, b.Min.Y+y*cellPixels+i/cellPixels).RGBA()
				rows[y][x] += (0.299*float64(r) + 0.587*float64(g) + 0.114*float64(b)) / 257 / (cellPixels * cellPixels)
			}
		}
	}
	return rows
}

// imageDifference returns the mean difference of cells, and the share of cells with a large
// difference.
func imageDifference(a, b [][]float64) (mean, far float64) {
	if len(a) != len(b) || len(a[0]) != len(b[0]) {
		return 255, 1
	}
	n := float64(len(a) * len(a[0]))
	for y := range a {
		for x := range a[y] {
			d := math.Abs(a[y][x] - b[y][x])
			mean += d / n
			if d > minFarDifference {
				far += 1 / n
			}
		}
	}
	return mean, far
}
