package cli

import (
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"sim/internal/text"
	"sim/scenarios"
	"sim/scenarios/report"
	"sim/scenarios/result"
)

// formatReport returns the printed report of an outcome.
func formatReport(o *scenarios.Outcome, dir string) string {
	return report.Run(&result.Run{Document: o.Document, Detail: o.Detail, Timings: o.Timings}, dir, text.Style{})
}

func TestTable(t *testing.T) {
	var out strings.Builder
	o := fakeOutcome()
	out.WriteString(formatReport(o, "runs/deepseek671b-0123456789"))
	compareGolden(t, "table.txt", out.String())
	checkLineWidths(t, out.String())
}

// TestTableOddities prints unusual results: a tie, an undefined metric with its reason, a
// policy without timings, a large topology and very short times.
func TestTableOddities(t *testing.T) {
	var out strings.Builder
	o := fakeOutcome()
	d := &o.Document
	delete(d.Rows[0].Metrics, "nct")
	d.Rows[0].Labels["nct"] = "the ideal fabric hides all communication"
	delete(o.Timings.Policies, "sqrt-alloc")
	for i := range d.Rows {
		d.Rows[i].Metrics["makespan_s"] = 12.3456e-6
		d.Rows[i].Metrics["gap"] = []float64{0, 0.00012, 3.5, 4e-7}[i]
		d.Rows[i].Labels["topology"] = strings.Repeat(strings.Repeat("12 ", 64)+"\n", 64)
	}
	d.Reference["makespan_s"] = 12.3456e-6
	out.WriteString(formatReport(o, "out"))
	compareGolden(t, "table-odd.txt", out.String())
	checkLineWidths(t, out.String())
}

// TestTableUnknownMetrics: if no column of the table is known, the existing metrics are shown.
func TestTableUnknownMetrics(t *testing.T) {
	var out strings.Builder
	o := &scenarios.Outcome{Document: result.Document{Scenario: "ring", Rows: []result.Row{{Policy: "dor", Metrics: map[string]float64{"crossings": 8, "echo_s": 1.25}}}}}
	out.WriteString(formatReport(o, "out"))
	compareGolden(t, "table-unknown.txt", out.String())
}

func TestExplanation(t *testing.T) {
	o := fakeOutcome()
	short := fakeSimulation("short", 3.6834, 0.07, 0.02)
	scaleTimes(&short, 0.1583) // milliseconds, whose numbers are wide
	o.Detail.Policies = append(o.Detail.Policies, short)
	run := &result.Run{Document: o.Document, Detail: o.Detail}
	for _, policy := range []string{"delta-joint", "short"} {
		got := report.Explain(run, run.Detail.Simulation(policy), text.Style{})
		compareGolden(t, "explain-"+policy+".txt", got)
		checkLineWidths(t, got)
	}
}

// scaleTimes multiplies all times on the critical path of p by a factor.
func scaleTimes(p *result.Simulation, by float64) {
	p.MakespanS *= by
	for i := range p.Path {
		s := &p.Path[i]
		for _, v := range []*float64{&s.StartS, &s.EndS, &s.LagS, &s.IdealS, &s.CircuitS, &s.SharingS} {
			*v *= by
		}
	}
}

// checkLineWidths fails if a line is wider than text.Width.
func checkLineWidths(t *testing.T, s string) {
	t.Helper()
	for _, l := range strings.Split(s, "\n") {
		if n := utf8.RuneCountInString(l); n > text.Width {
			t.Errorf("a line is %d wide, want at most %d: %s", n, text.Width, l)
		}
		if strings.TrimRight(l, " ") != l {
			t.Errorf("spaces at the end of: %q", l)
		}
	}
}

// TestColours: colours are used only on a terminal, and never with NO_COLOR.
func TestColours(t *testing.T) {
	c, _, _ := newBufferedCommand()
	if c.hasColours(os.Stdout) {
		t.Error("colours where there is no terminal")
	}
	c.isTerminal = func(io.Writer) bool { return true }
	if !c.hasColours(os.Stdout) {
		t.Error("no colours on a terminal")
	}
	c.getenv = func(name string) string { return map[string]string{"NO_COLOR": "1"}[name] }
	if c.hasColours(os.Stdout) {
		t.Error("colours despite NO_COLOR")
	}
}

// TestWithoutSecrets: users, passwords and tokens in addresses are replaced, and all other
// arguments are unchanged.
func TestWithoutSecrets(t *testing.T) {
	args := []string{"sweep", "a@b.toml", "--queue", "nats://me:word@host:4222,nats://token@other", "--queue=tls://u:p@h", "--listen", "TOKEN@:4222", "--listen=x@:1", "--set", "title=x@y"}
	want := []string{"sweep", "a@b.toml", "--queue", "nats://***@host:4222,nats://***@other", "--queue=tls://***@h", "--listen", "***@:4222", "--listen=***@:1", "--set", "title=x@y"}
	if got := withoutSecrets(args); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if args[3] == want[3] {
		t.Error("the arguments themselves were changed")
	}
}

// TestBestOfLossy: a policy that loses packets is not the best, although its remaining packets
// arrive sooner.
func TestBestOfLossy(t *testing.T) {
	row := func(name string, dropped, delay float64) result.Row {
		return result.Row{Policy: name, Metrics: map[string]float64{"dropped": dropped, "mean_delay_s": delay, "max_link_load": 1}}
	}
	for _, c := range []struct {
		rows  []result.Row
		best  int
		words string
	}{
		{[]result.Row{row("dor", 968, 473e-9), row("shortest", 11464, 299e-9)}, 0, "drops the fewest packets"},
		{[]result.Row{row("dor", 0, 473e-9), row("shortest", 11464, 299e-9)}, 0, "drops the fewest packets"},
		{[]result.Row{row("dor", 0, 473e-9), row("shortest", 0, 299e-9)}, 1, "delivers soonest"},
	} {
		if best, why := (&result.Document{Rows: c.rows}).Winner(); best != c.best || why.WinPhrase != c.words {
			t.Errorf("%v: row %d %s", c.rows, best, why.WinPhrase)
		}
	}
}
