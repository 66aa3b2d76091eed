package compare

import (
	"fmt"
	"strings"
	"testing"

	"sim/internal/text"
	"sim/scenarios/result"
)

func TestNumbers(t *testing.T) {
	for _, c := range []struct {
		metric   string
		old, now float64
		want     string
	}{
		{"makespan_s", 3.6834, 3.7, "3.6834 s 3.7000 s"},
		{"makespan_s", 1234.5678, 1234.5679, "1234.5678 s 1234.5679 s"},
		{"mean_delay_s", 40.5e-6, 41e-6, "40.500 µs 41.000 µs"},
		{"nct", 1.2, 1.3, "1.2000 1.3000"},
		{"nct", 1, 1.0000000001, "1.0000000000 1.0000000001"},
		{"nct", 1, 2, "1 2"},
		{"gap", 1e-12, 0, "1e-12 0"},
		{"gap", 0.0423, 0.0424, "4.23 % 4.24 %"},
		{"ports", 1256, 1250, "1,256 1,250"},
		{"evaluations", 41210, 41210.5, "41210.0 41210.5"},
		{"all_to_all_bytes_per_s", 1.5e11, 1.6e11, "150.00 GB/s 160.00 GB/s"},
		{"B/op", 2048, 4096, "2.0000 KiB 4.0000 KiB"},
		{"sec/op", 1.5e-7, 1.6e-7, "150.00 ns 160.00 ns"},
		{"x_s", 0, 0, "0.0000 s 0.0000 s"},
		{"x_s", -0.5, 0.5, "-500.00 ms 500.00 ms"},
	} {
		d := Difference{Old: &c.old, New: &c.now}
		number := scaleFor(c.metric, []Difference{d}).digitsFor(&d)
		if got := number(c.old) + " " + number(c.now); got != c.want {
			t.Errorf("%s of %g and %g is %q, want %q", c.metric, c.old, c.now, got, c.want)
		}
	}
	for change, want := range map[float64]string{
		0: "+0.0 %", 0.005: "+0.5 %", -0.25: "-25.0 %", 0.00012: "+0.012 %", -1.2e-6: "-0.00012 %", 1e-12: "+1e-10 %", 0.000994: "+0.099 %", 0.000996: "+0.1 %",
	} {
		if got := text.Change(change); got != want {
			t.Errorf("a change of %g is %q, want %q", change, got, want)
		}
	}
	if got := share(0.005) + share(Rounding) + share(0); got != "0.5 %0.0001 %0 %" {
		t.Errorf("shares are %q", got)
	}
}

// TestLong: long lists are reduced to the largest differences, unless all are requested.
func TestLong(t *testing.T) {
	const n = 3 * maxListedRows
	var previous, current []benchRow
	for i := range n {
		name := fmt.Sprintf("scenario=s/policy=p/x=%d", i)
		now := 1 - float64(i)/1000 // better
		if i == n/2 {
			now = 1.0001 // the one that fails
		}
		previous = append(previous, benchRow{name, map[string]float64{"nct": 1}})
		current = append(current, benchRow{name, map[string]float64{"nct": now}})
		current = append(current, benchRow{name + "/y=1", map[string]float64{"nct": now}})
	}
	c, err := Compare(set(t, "a", benchText(previous)), set(t, "b", benchText(current)), Options{FailOver: Rounding})
	must(t, err)
	var some, all, markdown strings.Builder
	must(t, c.WriteText(&some, View{}))
	must(t, c.WriteText(&all, View{All: true}))
	must(t, c.WriteMarkdown(&markdown, View{}))
	if lines := strings.Count(some.String(), "\n"); lines > 2*maxListedRows+20 || strings.Count(some.String(), "worse, fails") != 1 {
		t.Errorf("%d lines:\n%s", lines, &some)
	}
	for _, want := range []string{"and 99 that differ less; --all lists them", "  and 100 more; --all lists them", fmt.Sprintf("\n%d     ", n-1)} {
		if !strings.Contains(some.String(), want) {
			t.Errorf("nowhere %q in\n%s", want, &some)
		}
	}
	if !strings.Contains(markdown.String(), "- and 100 more\n") || !strings.Contains(markdown.String(), "And 99 that differ less.") {
		t.Errorf("Markdown:\n%s", &markdown)
	}
	if lines := strings.Count(all.String(), "\n"); lines < 2*n {
		t.Errorf("all has %d lines", lines)
	}
	narrowLines(t, some.String())
}

// TestWide: many coordinates are combined into one column.
func TestWide(t *testing.T) {
	bench := func(v float64) string {
		var rows []benchRow
		for i := range 2 {
			name := "scenario=a-scenario-of-some-length/policy=delta-joint"
			for k := range 6 {
				name += fmt.Sprintf("/workload.long_key_%d=value-%d", k, i)
			}
			rows = append(rows, benchRow{name, map[string]float64{"nct": v}})
		}
		return benchText(rows)
	}
	c, err := Compare(set(t, "a", bench(1)), set(t, "b", bench(1.5)), Options{})
	must(t, err)
	var b strings.Builder
	must(t, c.WriteText(&b, View{Style: text.Style{Bold: text.Bold}}))
	plain := strings.NewReplacer("\x1b[1m", "", "\x1b[0m", "").Replace(b.String())
	narrowLines(t, plain)
	if !strings.Contains(plain, "long_key_5=value-1") || !strings.Contains(b.String(), "\x1b[1mworse, fails") {
		t.Errorf("shown as\n%s", plain)
	}
}

// TestKeys: a coordinate that only some rows have is a column.
func TestKeys(t *testing.T) {
	side := func(v float64) *Set {
		m := map[string]float64{"nct": v}
		return set(t, "x", benchText([]benchRow{{"policy=p/a.n=1/b.n=2/c=3", m}, {"policy=p/b.n=2/a.n=2", m}}))
	}
	c, err := Compare(side(1), side(2), Options{})
	must(t, err)
	keys, common := c.Project()
	if got := fmt.Sprint(keys, common, result.ColumnHeads([]string{"a.n", "b.n", "a.b.c"})); got != "[a.n c policy] b.n=2 [a.n b.n c]" {
		t.Errorf("got %s", got)
	}
}

// TestMarkdownEscapes: names cannot break a table.
func TestMarkdownEscapes(t *testing.T) {
	row := func(v float64) string {
		m := map[string]float64{"nct": v}
		return benchText([]benchRow{{"scenario=s/policy=a|b_c`d", m}, {"scenario=s/policy=p", m}})
	}
	c, err := Compare(set(t, "a`b", row(1)), set(t, "b", row(0.5)), Options{})
	must(t, err)
	var b strings.Builder
	must(t, c.WriteMarkdown(&b, View{}))
	if !strings.Contains(b.String(), `| a\|b\_c'd | 1`) || !strings.Contains(b.String(), "### `a'b` -> `b`") {
		t.Errorf("got\n%s", &b)
	}
}

// TestDifferingKeys: the heading states the number of differing keys, also if it is one;
// without any, there is no heading.
func TestDifferingKeys(t *testing.T) {
	side := set(t, "x", benchText([]benchRow{{"policy=p", map[string]float64{"nct": 1}}}))
	for n, want := range []string{"", "the scenarios differ in 1 key", "the scenarios differ in 2 keys"} {
		c, err := Compare(side, side, Options{})
		must(t, err)
		for i := range n {
			c.Keys = append(c.Keys, KeyDifference{Key: fmt.Sprint("k", i), Old: "a", New: fmt.Sprint("b", i)})
		}
		var b strings.Builder
		must(t, c.WriteText(&b, View{}))
		if got := b.String(); strings.Contains(got, "the scenarios differ") != (n > 0) || !strings.Contains(got, want) || n > 0 && !strings.Contains(got, "k0: b0, was a") {
			t.Errorf("of %d keys:\n%s", n, got)
		}
	}
}
