package compare

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	_ "sim/internal/testseed"

	"sim/internal/text"
	"sim/scenarios/result"
)

// benchRow is a row of a text in the benchmark format: a name and its metrics.
type benchRow struct {
	name    string
	metrics map[string]float64
}

func benchText(rows []benchRow) string {
	var b strings.Builder
	b.WriteString("scenario: s\nUnit up_per_s better=higher assume=exact\nUnit nct better=lower assume=exact\n" +
		"Unit makespan_s better=lower assume=exact\nUnit gap better=lower assume=exact\nUnit bound_x assume=exact\n")
	for _, r := range rows {
		fmt.Fprintf(&b, "BenchmarkSim/%s 1", r.name)
		for _, m := range metricNames {
			if v, ok := r.metrics[m]; ok {
				fmt.Fprintf(&b, " %s %s", text.Exact(v), m)
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

var metricNames = []string{"nct", "makespan_s", "up_per_s", "bound_x", "gap"}

func set(t rapid.TB, name, text string) *Set {
	t.Helper()
	r := newReader(name, nil)
	if err := r.read(strings.NewReader(text), name); err != nil {
		t.Fatal(err)
	}
	s, err := r.finish()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// drawRows draws rows of two policies on two axes, at least one.
func drawRows(t *rapid.T) []benchRow {
	value := rapid.OneOf(rapid.SampledFrom([]float64{0, 1, 1, 2, -1}), rapid.Float64Range(1e-6, 1e6))
	var rows []benchRow
	for _, policy := range []string{"p", "q-8"} { // q-8 ends like GOMAXPROCS
		for _, x := range []string{"1", "2-4"} {
			if len(rows) > 0 && rapid.Bool().Draw(t, "leave out") {
				continue
			}
			metrics := map[string]float64{"makespan_s": value.Draw(t, "makespan")}
			for _, m := range metricNames {
				if rapid.Bool().Draw(t, "has "+m) {
					metrics[m] = value.Draw(t, m)
				}
			}
			rows = append(rows, benchRow{"scenario=s/policy=" + policy + "/x=" + x, metrics})
		}
	}
	return rows
}

func drawOptions(t *rapid.T) Options {
	return Options{
		FailOver:     rapid.SampledFrom([]float64{0, Rounding, 0.1, 0.5}).Draw(t, "fail over"),
		FailOnChange: rapid.Bool().Draw(t, "on change"),
	}
}

// TestItself: a set compared with itself, with rows and parts of names in another order,
// has no differences.
func TestItself(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := drawRows(t)
		var other []benchRow
		for _, r := range rapid.Permutation(rows).Draw(t, "order") {
			parts := rapid.Permutation(strings.Split(r.name, "/")).Draw(t, "parts")
			other = append(other, benchRow{strings.Join(parts, "/"), r.metrics})
		}
		c, err := Compare(set(t, "a", benchText(rows)), set(t, "b", benchText(other)), drawOptions(t))
		if err != nil {
			t.Fatal(err)
		}
		if len(c.Regressions)+len(c.MissingRows)+len(c.NewRows) > 0 || c.Rows != len(rows) {
			t.Fatalf("a side differs from itself: %+v", c)
		}
		for _, d := range c.Differences {
			if d.Mark != Same || d.Fails || *d.Old != *d.New {
				t.Fatalf("%+v", d)
			}
		}
		for _, m := range c.Metrics {
			if m.Differ != 0 || slices.ContainsFunc(m.Means, func(x Mean) bool { return x.Ratio != 1 }) {
				t.Fatalf("%+v", m)
			}
		}
		if !strings.HasPrefix(c.Summary(), "no differences in ") || !c.hasNoDifferences() {
			t.Fatalf("the summary is %q", c.Summary())
		}
	})
}

// TestSwap: exchanging the sets reverses all differences.
func TestSwap(t *testing.T) {
	opposite := map[Mark]Mark{Better: Worse, Worse: Better, Missing: New, New: Missing, Same: Same, Changed: Changed}
	rapid.Check(t, func(t *rapid.T) {
		a, b := set(t, "a", benchText(drawRows(t))), set(t, "b", benchText(drawRows(t)))
		there, err := Compare(a, b, Options{FailOver: Rounding})
		back, err2 := Compare(b, a, Options{FailOver: Rounding})
		if (err == nil) != (err2 == nil) {
			t.Fatalf("one way %v, the other %v", err, err2)
		}
		if err != nil {
			return
		}
		names := func(list []result.Name) string {
			var keys []string
			for _, n := range list {
				keys = append(keys, n.ID())
			}
			slices.Sort(keys)
			return strings.Join(keys, " ")
		}
		if names(there.MissingRows) != names(back.NewRows) || names(there.NewRows) != names(back.MissingRows) {
			t.Fatalf("missing %v and new %v became %v and %v", there.MissingRows, there.NewRows, back.MissingRows, back.NewRows)
		}
		if len(there.Differences) != len(back.Differences) {
			t.Fatalf("%d differences became %d", len(there.Differences), len(back.Differences))
		}
		for _, d := range there.Differences {
			at := slices.IndexFunc(back.Differences, func(e Difference) bool { return e.Metric == d.Metric && e.Row.ID() == d.Row.ID() })
			if at < 0 {
				t.Fatalf("%s of %s was lost", d.Metric, d.Row)
			}
			e := back.Differences[at]
			if e.Mark != opposite[d.Mark] {
				t.Fatalf("%s became %s", d.Mark, e.Mark)
			}
			if (d.Ratio == nil) != (e.Ratio == nil) || d.Ratio != nil && !near(*d.Ratio**e.Ratio, 1) {
				t.Fatalf("%+v became %+v", d, e)
			}
		}
		for i, m := range there.Metrics {
			o := back.Metrics[i]
			if len(m.Means) != len(o.Means) || m.Name != o.Name || m.Differ != o.Differ {
				t.Fatalf("%+v became %+v", m, o)
			}
			if len(m.Means) > 0 && !near(m.Means[0].Ratio*o.Means[0].Ratio, 1) {
				t.Fatalf("mean %g became %g", m.Means[0].Ratio, o.Means[0].Ratio)
			}
		}
	})
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Abs(b) }

// TestJudged: failures agree with a rule evaluated directly on the numbers.
func TestJudged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rowsA, rowsB, o := drawRows(t), drawRows(t), drawOptions(t)
		c, err := Compare(set(t, "a", benchText(rowsA)), set(t, "b", benchText(rowsB)), o)
		if err != nil {
			return // no common row
		}
		want := 0
		for _, a := range rowsA {
			at := slices.IndexFunc(rowsB, func(b benchRow) bool { return b.name == a.name })
			if at < 0 {
				want++
				continue
			}
			for _, m := range metricNames {
				old, had := a.metrics[m]
				now, has := rowsB[at].metrics[m]
				limit := o.FailOver * math.Abs(old)
				switch {
				case had && !has:
					want++
				case !had || !has || math.Abs(now-old) <= limit:
				case o.FailOnChange:
					want++
				case m == "nct" || m == "makespan_s":
					if now > old {
						want++
					}
				}
			}
		}
		if len(c.Regressions) != want {
			t.Fatalf("got %d regressions, want %d: %v", len(c.Regressions), want, c.Regressions)
		}
	})
}

// TestMissingRow: removing any row is a regression.
func TestMissingRow(t *testing.T) {
	var rows []benchRow
	for _, p := range []string{"a", "b", "c"} {
		rows = append(rows, benchRow{"scenario=s/policy=" + p, map[string]float64{"nct": 1}})
	}
	whole := set(t, "old", benchText(rows))
	for i := range rows {
		part := slices.Delete(slices.Clone(rows), i, i+1)
		c, err := Compare(whole, set(t, "new", benchText(part)), Options{Metrics: []string{"nct"}})
		must(t, err)
		if len(c.Regressions) != 1 || c.Regressions[0].String() != "s "+[]string{"a", "b", "c"}[i]+": the row is missing" {
			t.Errorf("without row %d: %v", i, c.Regressions)
		}
		if c, err = Compare(set(t, "old", benchText(part)), whole, Options{FailOnChange: true}); err != nil || len(c.Regressions) != 0 || len(c.NewRows) != 1 {
			t.Errorf("a new row: %+v, %v", c, err)
		}
	}
}

// TestLimit: a change of exactly the limit is allowed.
func TestLimit(t *testing.T) {
	for _, c := range []struct {
		old, now, limit float64
		fails           bool
	}{
		{200, 201, 0.005, false},
		{200, 201.001, 0.005, true},
		{3, 3 * 1.005, 0.005, false},
		{0.1, 0.1 * 1.1, 0.1, false},
		{1, math.Nextafter(1, 2), 0, true},
		{1, math.Nextafter(1, 2), Rounding, false},
		{1, 1, 0, false},
		{0, 1e-12, 0.5, true}, // no share of nothing is allowed
		{0, 0, 0, false},
		{-2, -1, 0.4, true},
		{2, 1, 0, false},
	} {
		row := func(v float64) string {
			return benchText([]benchRow{{"scenario=s/policy=p", map[string]float64{"nct": v}}})
		}
		got, err := Compare(set(t, "a", row(c.old)), set(t, "b", row(c.now)), Options{FailOver: c.limit})
		must(t, err)
		if fails := len(got.Regressions) > 0; fails != c.fails {
			t.Errorf("%g to %g with %g allowed: fails is %v, want %v", c.old, c.now, c.limit, fails, c.fails)
		}
	}
}

// TestChosen: the metrics that may fail, for all options.
func TestChosen(t *testing.T) {
	row := func(nct, makespan, up, bound float64) *Set {
		return set(t, fmt.Sprint("side ", nct), benchText([]benchRow{{"scenario=s/policy=p",
			map[string]float64{"nct": nct, "makespan_s": makespan, "up_per_s": up, "bound_x": bound}}}))
	}
	previous, current := row(1, 1, 1, 1), row(2, 2, 0.5, 2)
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{}, "nct makespan_s"},
		{Options{Metrics: []string{"up_per_s"}}, "up_per_s"},
		{Options{Metrics: []string{"all"}}, "nct makespan_s up_per_s"},
		{Options{FailOnChange: true}, "nct makespan_s bound_x up_per_s"},
		{Options{FailOnChange: true, Metrics: []string{"bound_x"}}, "bound_x"},
		{Options{FailOver: 2}, ""},
	} {
		got, err := Compare(previous, current, c.o)
		must(t, err)
		var fails []string
		for _, r := range got.Regressions {
			fails = append(fails, r.Metric)
		}
		if strings.Join(fails, " ") != c.want {
			t.Errorf("%+v: %q fail, want %q", c.o, fails, c.want)
		}
	}
	for want, o := range map[string]Options{
		`neither side 1 nor side 2 has a metric "x"`: {Metrics: []string{"x"}},
		"bound_x is neither better lower nor better": {Metrics: []string{"bound_x"}},
		"side 1 and side 2 have no wall-clock times": {Wall: true},
	} {
		_, err := Compare(previous, current, o)
		var input *InputError
		if !errors.As(err, &input) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", o, err, want)
		}
	}
}

// TestChosenOfOthers: all metrics may fail if none of the default ones is present.
func TestChosenOfOthers(t *testing.T) {
	side := func(v float64) *Set {
		return set(t, "x", benchText([]benchRow{{"scenario=s/policy=p", map[string]float64{"up_per_s": v}}}))
	}
	c, err := Compare(side(2), side(1), Options{})
	must(t, err)
	if len(c.Regressions) != 1 {
		t.Errorf("got %v", c.Regressions)
	}
}

// TestDropped: a missing metric fails, unless other metrics were chosen.
func TestDropped(t *testing.T) {
	const text = "BenchmarkSim/scenario=s/policy=p 1 1 nct %s evaluations\n"
	previous := set(t, "a", fmt.Sprintf(text, "3"))
	current := set(t, "b", fmt.Sprintf(text, "NaN"))
	c, err := Compare(previous, current, Options{})
	must(t, err)
	if len(c.Regressions) != 1 || c.Regressions[0].String() != "s p: evaluations is missing or undefined, it was 3" {
		t.Errorf("got %v", c.Regressions)
	}
	if c, err = Compare(previous, current, Options{Metrics: []string{"nct"}}); err != nil || len(c.Regressions) != 0 {
		t.Errorf("got %v, %v", c.Regressions, err)
	}
	if c, err = Compare(current, previous, Options{}); err != nil || len(c.Regressions) != 0 || c.Differences[1].Mark != New {
		t.Errorf("got %+v, %v", c, err)
	}
}

// TestUnlike: sets that do not match are rejected.
func TestUnlike(t *testing.T) {
	for _, c := range []struct{ a, b, want string }{
		{"BenchmarkSim/scenario=s/policy=p 1 1 nct\n", "BenchmarkSim/scenario=r/policy=p 1 1 nct\n",
			"a and b have no row in common: a has scenario s under policy p, b has scenario r under policy p; compare results of the same scenario, " +
				"or try --ignore scenario"},
		{"BenchmarkSim/scenario=s/policy=p 1 1 nct\n", "BenchmarkSim/scenario=r/policy=q 1 1 nct\n",
			"a and b have no row in common: a has scenario s under policy p, b has scenario r under policy q; compare results of the same scenario"},
		{"Unit nct better=lower assume=exact\nBenchmarkSim/policy=p 1 1 nct\n", "Unit nct better=higher assume=exact\nBenchmarkSim/policy=p 1 1 nct\n",
			"a and b do not agree on the unit nct: simulated with lower better in one, simulated with higher better in the other"},
	} {
		_, err := Compare(set(t, "a", c.a), set(t, "b", c.b), Options{})
		if err == nil || err.Error() != c.want {
			t.Errorf("got %v\nwant %s", err, c.want)
		}
	}
}

// TestOptimalGapsHaveNoRatio: a gap that is 0 up to rounding on either side, such as 1e-12, has no
// ratio and is not part of the mean.
func TestOptimalGapsHaveNoRatio(t *testing.T) {
	gaps := func(values ...float64) string {
		var rows []benchRow
		for i, v := range values {
			rows = append(rows, benchRow{fmt.Sprintf("scenario=s/policy=p/x=%d", i), map[string]float64{result.GapToBound: v}})
		}
		return benchText(rows)
	}
	c, err := Compare(set(t, "a", gaps(1e-12, 0.5, 0.2, 1e-13)), set(t, "b", gaps(4e-12, 0.4, 0.16, 0.3)), Options{FailOver: Rounding})
	if err != nil {
		t.Fatal(err)
	}
	var marks []Mark
	for _, d := range c.Differences {
		marks = append(marks, d.Mark)
	}
	if want := []Mark{Same, Better, Better, Worse}; !slices.Equal(marks, want) {
		t.Errorf("the marks are %v, want %v", marks, want)
	}
	if mean := c.Metrics[0].Means[0]; mean.Rows != 2 || !near(mean.Ratio, 0.8) {
		t.Errorf("the mean is %+v, want 0.8 over 2 rows", mean)
	}
	if d := c.Differences[3]; d.changeText() != "from 0" {
		t.Errorf("1e-13 to 0.3 is %q, want from 0", d.changeText())
	}
}
