package page

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sim/scenarios/compare"
	"sim/scenarios/result"
)

// runOf returns a run of two policies with the given number of spans each; the second
// policy is better.
func runOf(spans int) *result.Run {
	r := &result.Run{Dir: "runs/tiny", Scenario: []byte("name = \"tiny\"\n")}
	r.Document = result.Document{Schema: result.Schema, Scenario: "tiny", Reference: map[string]float64{"makespan_s": 1}}
	for i, policy := range []string{"worse", "better"} {
		end := 3 - float64(i)
		r.Document.Rows = append(r.Document.Rows, result.Row{Policy: policy, Metrics: map[string]float64{"makespan_s": end, "nct": 2 * end}})
		sim := result.Simulation{Policy: policy, MakespanS: end, Tracks: []result.Track{{Name: "</script><b>stage"}}}
		for k := range spans {
			x := uint64(k)*2654435761 + uint64(i) // incompressible digits
			sim.Tracks[0].Spans = append(sim.Tracks[0].Spans, result.Span{Kind: "forward", Label: fmt.Sprint(x), StartS: float64(k), EndS: float64(k) + float64(x%1000003)/1e7})
		}
		r.Detail.Policies = append(r.Detail.Policies, sim)
	}
	return r
}

// written returns a page and its decoded data.
func written(t *testing.T, docs ...Document) (page string, data map[string]any) {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, docs, Style{Series: []LineStyle{{Color: "#000000"}}}); err != nil {
		t.Fatal(err)
	}
	page = b.String()
	_, rest, _ := strings.Cut(page, `id="data">`)
	packed, _, _ := strings.Cut(rest, "</script>")
	raw, err := base64.StdEncoding.DecodeString(packed)
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.NewDecoder(z).Decode(&data); err != nil {
		t.Fatal(err)
	}
	return page, data
}

// TestWrite: the page allows only its own script and style, by their hashes, refers to no
// other resource, is reproducible, and contains the values of the run.
func TestWrite(t *testing.T) {
	page, data := written(t, RunDocument(runOf(3)))
	if again, _ := written(t, RunDocument(runOf(3))); again != page {
		t.Error("two pages of one run differ")
	}
	if !strings.Contains(page, Generator) {
		t.Error("the page does not say what made it")
	}
	policy := regexp.MustCompile(`Content-Security-Policy" content="([^"]*)"`).FindStringSubmatch(page)
	if policy == nil || !strings.HasPrefix(policy[1], "default-src 'none'; script-src 'sha256-") {
		t.Fatalf("content policy %q", policy)
	}
	for _, element := range []string{"script", "style"} {
		open := "<" + element + ">"
		from, to := strings.LastIndex(page, open)+len(open), strings.LastIndex(page, "</"+element+">")
		sum := sha256.Sum256([]byte(page[from:to]))
		if want := "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"; !strings.Contains(policy[1], element+"-src "+want) {
			t.Errorf("the content policy does not allow the page's %s", element)
		}
	}
	if at := regexp.MustCompile(`(src|href)="[^#"]`).FindString(page); at != "" {
		t.Errorf("the page refers to something: %s", at)
	}
	doc := data["docs"].([]any)[0].(map[string]any)
	rows := doc["result"].(map[string]any)["rows"].([]any)
	if got := rows[1].(map[string]any)["metrics"].(map[string]any)["makespan_s"]; got != 2.0 {
		t.Errorf("the better policy takes %v s in the page, 2 s in the run", got)
	}
	if m := data["metrics"].(map[string]any)["makespan_s"].(map[string]any); m["unit"] != "s" || m["better"] != "lower" || m["words"] == "" {
		t.Errorf("the page knows of makespan_s: %v", m)
	}
	if left := data["left_out"].([]any); len(left) > 0 {
		t.Errorf("left out of a small page: %v", left)
	}
}

// TestFit: parts that do not fit are omitted and reported, the best policy's last; the
// run is not changed.
func TestFit(t *testing.T) {
	run := runOf(3000)
	docs := []Document{RunDocument(run)}
	packed, err := compressedJSON(docs, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		share float64
		want  []string
	}{{1, []string{}}, {0.7, []string{"tiny: the timeline of worse"}}, {0.2, []string{"tiny: the timeline of worse", "tiny: the timeline of better"}}} {
		fitting, left, err := fit(docs, int(c.share*float64(len(packed))))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(left, c.want) {
			t.Errorf("of room for %g of it left out are %q, want %q", c.share, left, c.want)
		}
		for i, sim := range fitting[0].Detail.Policies {
			if gone := len(c.want) > i; gone != (sim.Tracks == nil) {
				t.Errorf("of room for %g of it the timeline of %s is gone: %t", c.share, sim.Policy, !gone)
			}
		}
	}
	if docs[0].Detail != &run.Detail || len(run.Detail.Policies[0].Tracks[0].Spans) != 3000 {
		t.Error("what was given was changed")
	}

	// The best policy is also the last one if its row is the first.
	slices.Reverse(run.Document.Rows)
	slices.Reverse(run.Detail.Policies)
	_, left, err := fit([]Document{RunDocument(run)}, len(packed)*7/10)
	if want := []string{"tiny: the timeline of worse"}; err != nil || !slices.Equal(left, want) {
		t.Errorf("with the best policy first left out are %q, want %q: %v", left, want, err)
	}
}

// TestMetricsOf: a page describes the metrics of its runs, sweeps and comparisons, and the wall-clock
// times of any page.
func TestMetricsOf(t *testing.T) {
	values := map[string]float64{"makespan_s": 1}
	for kind, d := range map[string]Document{
		"run":        {Run: &Run{Result: &result.Document{Rows: []result.Row{{Metrics: values}}}}},
		"sweep":      {Sweep: &Sweep{Sweep: &result.Sweep{Cells: []result.Cell{{Metrics: values}}}}},
		"comparison": {Comparison: &Comparison{Comparison: &compare.Comparison{Metrics: []compare.Metric{{Name: "makespan_s"}}}}},
	} {
		metrics := metricsOf([]Document{d})
		for _, name := range []string{"makespan_s", "solve_s"} {
			if got := metrics[name].Unit; got != "s" {
				t.Errorf("%s: %s has unit %q, want seconds", kind, name, got)
			}
		}
	}
}

// TestFormats: views support all formats of metrics.
func TestFormats(t *testing.T) {
	for _, m := range result.Metrics {
		if _, known := formats[m.Format]; !known && m.Format != result.Plain {
			t.Errorf("%s has a format without a name", m.Name)
		}
	}
	script, err := assets.ReadFile("assets/js/01-text.js")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range formats {
		if name != "rate" && name != "amount" && !strings.Contains(string(script), `case "`+name+`":`) {
			t.Errorf("the script does not know format %q", name)
		}
	}
}

// TestAssets: scripts contain no end tags and no inline styles, and are readable source
// files.
func TestAssets(t *testing.T) {
	err := fs.WalkDir(assets, "assets/js", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := assets.ReadFile(path)
		for _, word := range []string{"</script", "style=", "innerHTML", "eval(", "fetch("} {
			if bytes.Contains(text, []byte(word)) {
				t.Errorf("%s has %q", path, word)
			}
		}
		if n := bytes.Count(text, []byte("\n")); n > 300 {
			t.Errorf("%s has %d lines", path, n)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestRelative: the page of a sweep states for each metric whether its values are relative to
// different ideal fabrics, and begins with the iteration time.
func TestRelative(t *testing.T) {
	s := &result.Sweep{Name: "s", Axes: []result.Axis{{Name: "fabric", Keys: []string{"fabric"}, Labels: []string{"a", "b"}}}}
	for i := range 2 {
		s.Cells = append(s.Cells, result.Cell{At: []int{i}, Policy: "p", Key: fmt.Sprint(i),
			Reference: map[string]float64{"makespan_s": 2 + float64(i), "compute_makespan_s": 1},
			Metrics:   map[string]float64{"nct": 1.5, "makespan_s": 4}})
	}
	d, err := SweepDocument("runs/s", s, &result.SweepTimings{}, nil, nil, len(s.Cells))
	if err != nil {
		t.Fatal(err)
	}
	if d.Metric != "makespan_s" || len(d.Relative) != 1 || !strings.Contains(d.Relative["nct"], "nothing is ranked by it") {
		t.Errorf("got metric %s and %v, want makespan_s and a sentence about nct", d.Metric, d.Relative)
	}

	// Runs side by side are marked, too, if their references differ.
	runs := []*result.Run{runOf(1), runOf(1)}
	for i, r := range runs {
		r.Dir = fmt.Sprint("runs/no", i)
		r.Document.Reference = map[string]float64{"makespan_s": 2, "compute_makespan_s": 1}
	}
	_, page := written(t, RunDocument(runs[0]), RunDocument(runs[1]))
	if got := page["relative"].(map[string]any); len(got) != 0 {
		t.Errorf("runs with one reference: got %v, want no sentence", got)
	}
	runs[1].Document.Reference["makespan_s"] = 2.5
	_, page = written(t, RunDocument(runs[0]), RunDocument(runs[1]))
	if got, _ := page["relative"].(map[string]any)["nct"].(string); !strings.Contains(got, "for run=tiny (no1)") {
		t.Errorf("runs with different references: got %q, want a sentence that names them", got)
	}
}
