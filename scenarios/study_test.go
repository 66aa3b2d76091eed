package scenarios

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"time"

	"github.com/google/go-cmp/cmp"

	"pgregory.net/rapid"

	"sim/scenarios/result"
	"sim/scenarios/schema"
)

// smallStudy is a study with 36 variants: lists, ranges and a group of keys that vary together.
const smallStudy = `
base = "gpt7b"
title = "small"
[policy]
allocators = ["prop-alloc", "sqrt-alloc"]
[sweep]
"workload.microbatches" = [2, 4]
fabric.port_bandwidth = "200Gbps..800Gbps times 2"
seed = "1..3"
[sweep.zip.size]
"workload.gpus" = [16, 32]
"workload.sequence" = [4096, 2048]
[[plot]]
kind = "lines"
x = "port_bandwidth"
y = "nct"
series = "policy"
`

// TestStudy checks the axes and variants of a study. The study that it writes has the same
// variants.
func TestStudy(t *testing.T) {
	st, err := ParseStudy("small.toml", []byte(smallStudy), nil)
	if err != nil {
		t.Fatal(err)
	}

	// Axes in the order of the file.
	var names []string
	for _, a := range st.Axes {
		names = append(names, a.Name+"="+strings.Join(a.Labels, "|"))
	}
	want := []string{
		"workload.microbatches=2|4", "fabric.port_bandwidth=200Gbps|400Gbps|800Gbps", "seed=1|2|3",
		"size=16|32",
	}
	if !slices.Equal(names, want) {
		t.Errorf("got axes %q, want %q", names, want)
	}
	if n := st.Variants(); n != 36 {
		t.Fatalf("got %d variants, want 36", n)
	}

	// The last variant has the last value of each axis.
	s, err := st.Variant(35)
	if err != nil {
		t.Fatal(err)
	}
	if s.Workload.Microbatches != 4 || s.Fabric.PortBandwidth != 8e11 || s.Seed != 3 ||
		s.Workload.GPUs != 32 || s.Workload.Sequence != 2048 || s.Name != "small" {
		t.Errorf("got as the last variant %s, want the last value of each axis", s.TOML())
	}
	if n := st.ResultAxes()[1].Numbers; !slices.Equal(n, []float64{2e11, 4e11, 8e11}) {
		t.Errorf("got bandwidths %v, want 2e11, 4e11 and 8e11", n)
	}

	// The written study has the same variants, possibly in another order of its axes.
	text, err := st.TOML()
	if err != nil {
		t.Fatal(err)
	}
	again, err := ParseStudy("other.toml", text, nil)
	if err != nil {
		t.Fatalf("not read back: %v, in\n%s", err, text)
	}
	for i := range st.Variants() {
		a, err := st.Variant(i)
		if err != nil {
			t.Fatal(err)
		}
		labels := make([]string, len(st.Axes))
		for k, v := range st.AxisIndices(i) {
			labels[k] = st.Axes[k].Labels[v]
		}
		j := 0
		for j = range again.Variants() {
			same := 0
			for k, v := range again.AxisIndices(j) {
				n := slices.IndexFunc(st.Axes, func(a Axis) bool { return a.Name == again.Axes[k].Name })
				if again.Axes[k].Labels[v] == labels[n] {
					same++
				}
			}

			if same == len(labels) {
				break
			}
		}

		b, err := again.Variant(j)
		if err != nil {
			t.Fatal(err)
		}
		if a.Digest() != b.Digest() {
			t.Fatalf("variant %v: want\n%s\ngot, when read back,\n%s", labels, a.TOML(), b.TOML())
		}
	}
}

// TestVariantsAreOverrides checks that each variant of a study equals its base scenario with
// the values of the variant as overrides.
func TestVariantsAreOverrides(t *testing.T) {
	st, err := ParseStudy("small.toml", []byte(smallStudy),
		[]string{"seed=7,9", "workload.preset=consistent"})
	if err != nil {
		t.Fatal(err)
	}
	base := smallStudy[:strings.Index(smallStudy, "[sweep]")]
	for i := range st.Variants() {
		got, err := st.Variant(i)
		if err != nil {
			t.Fatal(err)
		}
		set := []string{"workload.preset=consistent"}
		for k, v := range st.AxisIndices(i) {
			for n, key := range st.Axes[k].Keys {
				set = append(set, fmt.Sprintf("%s=%v", key, st.Axes[k].Values[v][n]))
			}
		}

		want, err := Parse("small.toml", []byte(base), set)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, compareKeys); diff != "" {
			t.Fatalf("%v: got another scenario (-want +got):\n%s", set, diff)
		}
	}

	if st.Variants() != 2*3*2*2 {
		t.Errorf("got %d variants, want %d", st.Variants(), 2*3*2*2)
	}
}

// TestOverridesOfStudies checks overrides of studies. A single value replaces an axis, and
// several values or a range become one.
func TestOverridesOfStudies(t *testing.T) {
	for _, c := range []struct {
		set  string
		want string // labels of the axis, "" if there is no axis
	}{
		{"workload.microbatches=3", ""},
		{"workload.microbatches=3,5,7", "3|5|7"},
		{"workload.microbatches=[3, 5]", "3|5"},
		{"workload.microbatches=2..8 step 3", "2|5|8"},
		{"fabric.port_bandwidth=100Gbps,50GB/s", "100Gbps|50GB/s"},
		{"policy.port_tolerance=0..0.3 step 0.1", "0|0.1|0.2|0.3"},
		{"base=gpt7b,megatron177b", "gpt7b|megatron177b"},
		{`workload.preset="calibrated","consistent"`, "calibrated|consistent"},
		{`title=a,b`, ""},
		{`policy.allocators=["uniform", "delta-fast"]`, ""},
	} {
		st, err := ParseStudy("x.toml",
			[]byte("base = \"gpt7b\"\n[sweep]\nworkload.microbatches = [1, 2]\n"), []string{c.set})
		if err != nil {
			t.Errorf("%s: got error %v, want none", c.set, err)
			continue
		}
		key, _, _ := strings.Cut(c.set, "=")
		got := ""
		for _, a := range st.Axes {
			if a.Name == key {
				got = strings.Join(a.Labels, "|")
			}
		}

		if got != c.want {
			t.Errorf("%s: got axis %q, want %q", c.set, got, c.want)
		}
	}
}

// TestStudyDiagnostics checks the diagnostics of invalid studies.
func TestStudyDiagnostics(t *testing.T) {
	for _, c := range []struct {
		name, text string
		set        []string
		want       string
	}{
		{"unknown key", "[sweep]\n\"fabric.port_bandwith\" = [\"1Gbps\"]\n", nil,
			`x.toml:3: sweep.fabric.port_bandwith: unknown key`},
		{"empty list", "[sweep]\nseed = []\n", nil,
			`x.toml:3: sweep.seed: is an empty list; list at least one value`},
		{"one value", "[sweep]\nseed = 3\n", nil,
			`x.toml:3: sweep.seed: is the number 3; write a list of values, or a range such as "1..8"`},
		{"bad value", "[sweep]\nfabric.port_bandwidth = [\"400Gbps\", \"4 apples\"]\n", nil,
			`x.toml:3: sweep.fabric.port_bandwidth:`},
		{"unlike lengths", "[sweep.zip.a]\nseed = [1, 2]\nworkload.tp = [1, 2, 4]\n", nil,
			"x.toml:2: sweep.zip.a: zips 2 values of seed with 3 of workload.tp; give all keys of a group as many values"},
		{"twice", "[sweep]\nseed = [1, 2, 1]\n", nil, `x.toml:3: sweep.seed: lists "1" twice; list it once`},
		{"varied twice", "[sweep]\nseed = [1]\n[sweep.zip.a]\nseed = [1]\n", nil, `seed is varied twice`},
		{"backwards", "[sweep]\nseed = \"8..1\"\n", nil, `"8..1" runs backwards`},
		{"endless", "[sweep]\nseed = {from = 1, to = 8, factor = 1}\n", nil, `never arrives`},
		{"units", "[sweep]\nfabric.port_bandwidth = \"1Gbps..2Tbps times 2\"\n", nil, `mixes units`},
		{"unknown base", "[sweep]\nbase = [\"gpt7b\", \"gpt8b\"]\n", nil,
			`x.toml:3: sweep.base: base "gpt8b" no such file; did you mean`},
		{"no table", "sweep = 3\n", nil, `x.toml:2: sweep: is the number 3; write it as a table: [sweep]`},
		{"plot key", "[[plot]]\nkinds = \"bars\"\n", nil,
			`x.toml:3: plot.0.kinds: unknown key; did you mean kind?`},
		{"plot kind", `[[plot]]
kind = "pie"
x = "policy"
y = "nct"
`, nil, `x.toml:3: plot.0.kind: "pie" is not known`},
		{"plot type", "[[plot]]\nkind = 3\n", nil,
			`x.toml:3: plot.0.kind: is the number 3; write a text in quotes`},
		{"set", "", []string{"workload.tp=2,x"}, `workload.tp`},
		{"empty set", "", []string{"seed=1,,2"}, `--set: seed: "1,,2" has an empty place`},
		{"zip set", "[sweep.zip.a]\nseed = [1, 2]\nworkload.microbatches = [1, 2]\n",
			[]string{"seed=4"}, `is varied together with other keys`},
	} {
		text := "base = \"gpt7b\"\n" + c.text
		if strings.Contains(c.text, "base = [") || strings.Contains(c.text, "sweep = 3") {
			text = "\n" + c.text
		}
		st, err := ParseStudy("x.toml", []byte(text), c.set)
		for i := 0; err == nil && i < st.Variants(); i++ {
			_, err = st.Variant(i)
		}
		checkError(t, err, c.want, c.name)
	}
}

// TestPlotKeys checks that the keys of a plot have the same names in studies and in results.
func TestPlotKeys(t *testing.T) {
	plotType := reflect.TypeFor[result.Plot]()
	for i := range plotType.NumField() {
		tag := plotType.Field(i).Tag
		if name, _, _ := strings.Cut(tag.Get("json"), ","); name != tag.Get("key") {
			t.Errorf("%s is %q in studies and %q in results, want equal names",
				plotType.Field(i).Name, tag.Get("key"), name)
		}
	}
}

// TestEmbeddedStudies checks that the built-in studies are valid. It checks each value of each
// axis with the first value of all other axes, and the last variant. With -long it checks all
// variants.
func TestEmbeddedStudies(t *testing.T) {
	t.Parallel()
	for _, name := range EmbeddedStudies() {
		st, err := LoadStudy(name, nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if len(st.Plots) == 0 || st.Title == "" {
			t.Errorf("%s has no figure or no title, want both", name)
		}
		for i := range st.Variants() {
			others := len(st.Axes) // number of axes that do not have their first value
			for _, v := range st.AxisIndices(i) {
				if v == 0 {
					others--
				}
			}

			if others > 1 && i < st.Variants()-1 && !*longTests {
				continue
			}
			if _, err := st.Variant(i); err != nil {
				t.Errorf("%s, variant %d: got error %v, want none", name, i, err)
			}
		}
	}
}

// TestStudyIsNoRun checks that a study is rejected as a scenario, with the command that runs
// it.
func TestStudyIsNoRun(t *testing.T) {
	_, err := Parse("x.toml", []byte("base = \"gpt7b\"\n[sweep]\nseed = [1, 2]\n"), nil)
	checkError(t, err, "x.toml:2: sweep: makes this a study of many runs; sim sweep runs it", "a study")
}

// TestBase checks scenarios with a base. A scenario that changes nothing equals its base, and
// diagnostics have the line of the scenario's own key.
func TestBase(t *testing.T) {
	plain, err := Load("gpt7b", nil)
	if err != nil {
		t.Fatal(err)
	}
	same, err := Parse("gpt7b.toml", []byte("base = \"gpt7b\"\n"), nil)
	if err != nil || same.Digest() != plain.Digest() {
		t.Errorf("got another digest or error %v, want the digest of the base", err)
	}
	_, err = Parse("x.toml", []byte("base = \"gpt7b\"\nworkload.sequence = 0\n"), nil)
	if err == nil || !strings.HasPrefix(err.Error(), "x.toml:2: workload.sequence:") {
		t.Errorf("got error %v, want one that starts with x.toml:2: workload.sequence:", err)
	}

	// The number of GPUs conflicts with keys of the base.
	_, err = Parse("x.toml", []byte("base = \"gpt7b\"\nworkload.gpus = 15\n"), nil)
	checkError(t, err, "gpus", "15 GPUs")
}

// TestRangeOfOneValue checks that a range of one value has one variant, for negative, zero and
// positive values in each form.
func TestRangeOfOneValue(t *testing.T) {
	for _, sweep := range []string{
		"\"trials.slow_replica_index\" = \"-1..-1\"\nreplay.slow_replica = [2.0]",
		"trials.slow_replica = [2.0]\n\"trials.slow_replica_index\" = {from = -1, to = -1}",
		"seed = \"0..0\"", "seed = {from = 7, to = 7}",
	} {
		st, err := ParseStudy("x.toml", []byte("base = \"robustness\"\n[sweep]\n"+sweep+"\n"), nil)
		if err != nil || st.Variants() != 1 {
			t.Errorf("%s: got study %v and error %v, want one variant", sweep, st, err)
		}
	}
}

// TestLargeStudies checks that studies that are too large are rejected before their values are
// listed.
func TestLargeStudies(t *testing.T) {
	for _, c := range []struct{ want, sweep string }{
		{"x.toml:1: sweep: makes 1e+12 variants of the scenario; vary fewer keys or values, for at most 1000000", "workload.sequence = \"1..1000000\"\nworkload.microbatch = \"1..1000000\"\n"},
		{"x.toml:2: sweep.seed: is a range of more than 1000000 values; write fewer",
			"seed = \"1..1e300\"\n"},
		{"x.toml:2: sweep.seed: is a range of more than 1000000 values; write fewer",
			"seed = {from = 1, to = 2000000}\n"},
		{"x.toml:2: sweep.seed: lists \"1e+20\" twice", "seed = [1e20, 1e20]\n"},
	} {
		start := time.Now()
		_, err := ParseStudy("x.toml", []byte("[sweep]\n"+c.sweep+"[workload]\n"), nil)
		if err == nil || !strings.HasPrefix(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got %v, want %q", c.sweep, err, c.want)
		}
		if elapsed := time.Since(start); elapsed > time.Second {
			t.Errorf("%s: rejected after %v, want at most 1 s", c.sweep, elapsed)
		}
	}

	st, err := ParseStudy("x.toml", []byte("base = \"gpt7b\"\n[sweep]\nseed = \"1e20..1e20\"\n"), nil)
	if err == nil {
		t.Errorf("a seed of 1e20: got study %v, want an error", st)
	}
}

// TestRanges checks that ranges in steps include both ends and have no rounding errors.
// Reference: integers divided by 10.
func TestRanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		low := rapid.IntRange(-1000, 1000).Draw(t, "low")
		step := rapid.IntRange(1, 50).Draw(t, "step")
		n := rapid.IntRange(0, 40).Draw(t, "n")
		tenth := func(v int) string { return fmt.Sprintf("%.1f", float64(v)/10) }
		values, w := parseRange(fmt.Sprintf("%s..%s step %s", tenth(low), tenth(low+n*step), tenth(step)))
		if w != nil {
			t.Fatal(w)
		}
		if values.n != n+1 {
			t.Fatalf("got %d values, want %d", values.n, n+1)
		}
		for i := range values.n {
			v := values.at(i)
			want := strings.TrimSuffix(tenth(low+i*step), ".0")
			if strings.TrimSuffix(schema.Literal(v.(float64)), ".0") != want {
				t.Fatalf("value %d is %v, want %s", i, v, want)
			}
		}
	})
}
