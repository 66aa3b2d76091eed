package calibration

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sim/fabric/machine"
	"sim/scenarios"
	"sim/scenarios/accuracy"
)

// ratesOnly predicts the time of an all-reduce from the two efficiencies of a profile.
func ratesOnly(_ context.Context, r *accuracy.Row, p *machine.Profile) (float64, error) {
	size, err := r.Parameters.Number("size_bytes")
	if err != nil {
		return 0, err
	}
	if r.Parameters["collective"] != "all-reduce" {
		return 0, errors.New("no model")
	}
	rate := p.HostBandwidth()
	if r.Nodes > 1 {
		rate = p.NICBandwidth()
	}
	return 20 + size*8/float64(rate)*1e6, nil
}

// calls returns rows of one series on nodes of 8 GPUs: times that ratesOnly predicts for p.
func calls(series string, nodes int, p *machine.Profile) (rows []*accuracy.Row) {
	for i := range 10 {
		r := &accuracy.Row{
			ID: rowID(series, i), Hardware: "H100", GPUs: 8 * nodes, Nodes: nodes, Metric: "time", Unit: "us", Fitted: true,
			File: series + ".csv", Line: i + 2,
			Parameters: accuracy.Parameters{"collective": "all-reduce", "size_bytes": fmt.Sprint(1 << (20 + i))},
		}
		r.Value, _ = ratesOnly(context.Background(), r, p)
		rows = append(rows, r)
	}
	return rows
}

// fitRates fits the first group with ratesOnly.
func fitRates(base *machine.Profile, rows []*accuracy.Row) *Fit {
	g := groups[0]
	g.parameters = slices.DeleteFunc(slices.Clone(g.parameters), func(q parameter) bool { return !strings.HasSuffix(q.key, ".efficiency") })
	f := &Fit{Profile: copyProfile(base)}
	f.fitGroup(&fitter{group: &g, ctx: context.Background(), estimate: ratesOnly, workers: 2, rows: rows})
	return f
}

// TestFitGroup: parameters are recovered from the times that they cause, rounded to three digits. A
// parameter that no row depends on keeps its number and its source. Both kinds of rows predict each
// other when a series is left out. The base does not change.
func TestFitGroup(t *testing.T) {
	base := scenarios.Machine("h100-ib")
	before := string(scenarios.WriteMachine(base))
	rapid.Check(t, func(t *rapid.T) {
		truth := copyProfile(base)
		truth.ScaleUp.Efficiency = rapid.Float64Range(0.3, 1).Draw(t, "up")
		truth.ScaleOut.Efficiency = rapid.Float64Range(0.3, 1).Draw(t, "out")
		both := rapid.Bool().Draw(t, "both")
		rows := append(calls("a", 1, truth), calls("b", 1, truth)...)
		if both {
			rows = append(rows, calls("c", 2, truth)...)
		}
		strange := calls("d", 1, truth)[:1]
		strange[0].Parameters["collective"] = "barrier"
		f := fitRates(base, append(rows, strange...))
		g := f.Groups[0]

		if got, want := f.Profile.ScaleUp.Efficiency, truth.ScaleUp.Efficiency; math.Abs(got/want-1) > 0.006 {
			t.Errorf("got efficiency %g, want %g", got, want)
		}
		wantOut := base.ScaleOut.Efficiency
		if both {
			wantOut = truth.ScaleOut.Efficiency
		}
		if got := f.Profile.ScaleOut.Efficiency; math.Abs(got/wantOut-1) > 0.006 || g.Parameters[1].Determined != both {
			t.Errorf("got efficiency %g between nodes, determined: %v, want %g, %v", got, g.Parameters[1].Determined, wantOut, both)
		}
		if g.Error.Rows != len(rows) || g.Error.Worst > 1.01 || len(f.Unused) != 1 || f.Unused[0].Reason != "no model" {
			t.Errorf("got error %+v and %d unused rows, want %d rows without error", g.Error, len(f.Unused), len(rows))
		}
		if !both && (g.LeftOut.Rows != len(rows) || g.LeftOut.Worst > 1.01) {
			t.Errorf("got error %+v of series that are left out, want none", g.LeftOut)
		}
		text := string(scenarios.WriteMachine(f.Profile))
		again, err := scenarios.ReadMachine("x.toml", []byte(text))
		if err != nil || again.ScaleUp != f.Profile.ScaleUp || !strings.Contains(text, `from = "fit a, b`) {
			t.Errorf("got error %v or another profile from\n%s", err, text)
		}
		for _, s := range f.Profile.Sources {
			if strings.HasPrefix(s.From, "fit a") != slices.Contains(s.Keys, "scale_up.efficiency") {
				t.Errorf("the keys %v are from %s", s.Keys, s.From)
			}
		}
	})
	if after := string(scenarios.WriteMachine(base)); after != before {
		t.Errorf("the fit changed its base to\n%s", after)
	}
}

// TestLeaveOut: a series that is left out is predicted by the rate of the other one.
func TestLeaveOut(t *testing.T) {
	base := scenarios.Machine("h100-ib")
	slow, fast := copyProfile(base), copyProfile(base)
	slow.ScaleUp.Efficiency, fast.ScaleUp.Efficiency = 0.45, 0.9
	g := fitRates(base, append(calls("a", 1, slow), calls("b", 1, fast)...)).Groups[0]
	if g.LeftOut.Rows != 20 || math.Abs(g.LeftOut.Worst/2-1) > 0.05 || g.Error.Worst > 1.95 {
		t.Errorf("got the error %+v of the fit and %+v of series that are left out, want a factor of 2 for these", g.Error, g.LeftOut)
	}
}

// TestMissingNumber: a number that the base lacks and no row depends on stays missing.
func TestMissingNumber(t *testing.T) {
	base := callMachine(t)
	base.Collectives.DirectFill = 0
	f, err := Run(context.Background(), base, calls("a", 1, base), 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range f.Groups[0].Parameters {
		if e.Key == "collectives.direct_fill" && (e.Determined || e.Base+e.Value != "") || f.Profile.Collectives.DirectFill != 0 {
			t.Errorf("got %+v and the number %v, want none", e, f.Profile.Collectives.DirectFill)
		}
	}
}

// TestComplete: rates above the rates of links are rejected with the place; equal ones are not. The
// number of nodes follows from the machine.
func TestComplete(t *testing.T) {
	p := scenarios.Machine("h100-ib") // links of 450 GB/s, 8 interfaces of 50 GB/s
	row := func(collective string, gpus int, gbps float64) *accuracy.Row {
		const size = 1e9
		return &accuracy.Row{ID: "r", File: "f.txt", Line: 7, GPUs: gpus, Unit: "us", Value: size / gbps / 1e3,
			Parameters: accuracy.Parameters{"collective": collective, "size_bytes": fmt.Sprint(int(size))}}
	}
	for _, c := range []struct {
		collective string
		gpus       int
		limit      float64 // GB/s of size / time
	}{
		{"all-reduce", 8, 450}, {"all-gather", 8, 450 * 8. / 7}, {"all-to-all", 8, 450 * 8. / 7}, {"send-recv", 8, 450},
		{"all-reduce", 16, 400}, {"all-gather", 16, 800}, {"reduce-scatter", 32, 400 * 4. / 3}, {"all-to-all", 16, 100}, {"all-to-all", 32, 50 * 4. / 3},
	} {
		r := row(c.collective, c.gpus, c.limit*0.999)
		if err := Complete([]*accuracy.Row{r}, p); err != nil || r.Nodes != c.gpus/8 {
			t.Errorf("%v: got error %v and %d nodes", c, err, r.Nodes)
		}
		err := Complete([]*accuracy.Row{row(c.collective, c.gpus, c.limit*1.03)}, p)
		if err == nil || !strings.HasPrefix(err.Error(), "f.txt:7: sends at ") || !strings.Contains(err.Error(), "; state total sizes") {
			t.Errorf("%v: got error %v, want one about the rate", c, err)
		}
	}
}

// TestMachineOf: rows of one machine name its profile; rows of two machines are rejected with both
// places.
func TestMachineOf(t *testing.T) {
	rows := []*accuracy.Row{{File: "a", Line: 1}, {Hardware: "NVIDIA H100 80GB HBM3", File: "a", Line: 2}, {Hardware: "H100-SXM", File: "b", Line: 3}}
	if name, err := MachineOf(rows); err != nil || !strings.HasPrefix(name, "h100") {
		t.Errorf("got %q and error %v, want h100", name, err)
	}
	rows = append(rows, &accuracy.Row{Hardware: "Quantum Abacus", File: "c", Line: 4})
	if _, err := MachineOf(rows); err == nil || !strings.HasPrefix(err.Error(), "c:4: was measured on \"Quantum Abacus\", and a:2 on h100") {
		t.Errorf("got error %v, want one about c:4", err)
	}
	if name, err := MachineOf(rows[:1]); err != nil || name != "" {
		t.Errorf("got %q and error %v, want no name", name, err)
	}
}

// TestSelect: patterns select rows by name, and rows that must not be fitted are counted.
func TestSelect(t *testing.T) {
	rows := []*accuracy.Row{{ID: "a-001", Fitted: true}, {ID: "a-002"}, {ID: "b-001", Fitted: true}}
	for _, c := range []struct {
		patterns   []string
		want, open int
	}{{nil, 2, 1}, {[]string{"a-*"}, 1, 1}, {[]string{"b-*", "c"}, 1, 0}, {[]string{"*-001"}, 2, 0}} {
		got, open, err := Select(rows, c.patterns)
		if len(got) != c.want || open != c.open || err != nil {
			t.Errorf("%v: got %d rows, %d open, error %v", c, len(got), open, err)
		}
	}
	if _, _, err := Select(rows, []string{"["}); err == nil {
		t.Error("got no error for a broken pattern")
	}
}

// TestRoundTrip: parameters of collective calls are recovered from the times that package
// accuracy predicts for them. With all kinds of calls, all parameters that are reported as determined
// have their true values, and predictions of other sizes are exact.
func TestRoundTrip(t *testing.T) {
	ctx := context.Background()
	base := callMachine(t)
	rows := func(p *machine.Profile, firstSize float64) (all []*accuracy.Row) {
		for _, c := range []struct {
			collective string
			gpus       int
		}{{"all-reduce", 8}, {"all-reduce", 16}, {"all-reduce", 32}, {"all-gather", 8}, {"reduce-scatter", 16}, {"all-to-all", 8}, {"all-to-all", 16}} {
			for i := range 12 {
				r := &accuracy.Row{ID: rowID(fmt.Sprint(c.collective, c.gpus), i), Hardware: "H100", GPUs: c.gpus, Nodes: (c.gpus + 7) / 8,
					Metric: "time_out_of_place", Unit: "us", Value: 1, Fitted: true,
					Parameters: accuracy.Parameters{"collective": c.collective, "size_bytes": fmt.Sprint(math.Ldexp(firstSize, 2*i))}}
				var err error
				if r.Value, err = accuracy.Estimate(ctx, r, p); err != nil {
					t.Fatal(err)
				}
				all = append(all, r)
			}
		}
		return all
	}
	for seed := range 8 {
		truth := copyProfile(base)
		for i := range groups[0].parameters {
			q := &groups[0].parameters[i]
			factor := rapid.Float64Range(0.85, 1.2).Example(100*seed + i)
			q.set(truth, min(q.upper, q.get(truth)*factor))
		}
		f, err := Run(ctx, base, rows(truth, 1<<10), 2)
		if err != nil {
			t.Fatal(err)
		}
		determined := 0
		for i, e := range f.Groups[0].Parameters {
			got, want := groups[0].parameters[i].get(f.Profile), groups[0].parameters[i].get(truth)
			if e.Determined {
				determined++
				if math.Abs(math.Log(got/want)) > e.Spread {
					t.Errorf("%s: got %g +- %.0f %%, want %g", e.Key, got, 100*e.Spread, want)
				}
			}
		}
		if determined < 8 {
			t.Errorf("got %d determined parameters of %+v, want 8 or more", determined, f.Groups[0].Parameters)
		}
		var other Error
		for _, r := range rows(truth, 1500) {
			v, err := accuracy.Estimate(ctx, r, f.Profile)
			if err != nil {
				t.Fatal(err)
			}
			other.add(r, math.Log(v/r.Value))
		}
		if other.Typical > 1.01 || f.Groups[0].LeftOut.Typical > 1.1 {
			t.Errorf("got error %+v of other sizes, and %+v of series left out", other, f.Groups[0].LeftOut)
		}
	}
}

// callMachine returns a profile with costs of collective calls.
func callMachine(t *testing.T) *machine.Profile {
	data, err := os.ReadFile("testdata/calls.toml")
	if err != nil {
		t.Fatal(err)
	}
	p, err := scenarios.ReadMachine("calls.toml", data)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestOtherCluster: a profile that was fitted to the measurements of one cluster of H100 predicts
// other clusters of H100 better than the base does.
func TestOtherCluster(t *testing.T) {
	ctx := context.Background()
	base := callMachine(t)
	rows := func(series string) (all []*accuracy.Row) {
		for _, r := range accuracy.Ledger() {
			if Series(r) == series {
				all = append(all, r)
			}
		}
		return all
	}
	f, err := Run(ctx, base, append(rows("C-H100-309-16"), rows("C-H100-309-32")...), 2)
	if err != nil {
		t.Fatal(err)
	}
	for series, limit := range map[string]float64{"C-H100-NEBIUS-16": 1.12, "C-H100-OCI-16": 1.08} {
		var before, after Error
		for _, r := range rows(series) {
			for _, c := range []struct {
				p *machine.Profile
				e *Error
			}{{base, &before}, {f.Profile, &after}} {
				v, err := accuracy.Estimate(ctx, r, c.p)
				if err != nil {
					t.Fatal(err)
				}
				c.e.add(r, math.Log(v/r.Value))
			}
		}
		t.Logf("%s: typical factor %.3f, worst %.3f; with the base %.3f", series, after.Typical, after.Worst, before.Typical)
		if after.Typical > limit {
			t.Errorf("%s: got %+v, want a typical factor of %g", series, after, limit)
		}
	}
}

// TestShippedProfiles fits the built-in profiles again to the rows of the ledger that may be
// fitted. The efficiencies of links and of matrix products are as in the profiles, and no profile
// predicts the rows much worse than its fit.
func TestShippedProfiles(t *testing.T) {
	ctx := context.Background()
	rows := map[string][]*accuracy.Row{}
	for _, r := range accuracy.Ledger() {
		class := accuracy.ClassName(r)
		isFast := slices.Contains(groups[0].classes, class) || slices.Contains(groups[1].classes, class)
		if name, note, err := accuracy.MachineFor(r); err == nil && note == "" && r.Fitted && isFast && r.Metric != "max_rate" {
			rows[name] = append(rows[name], r)
		}
	}
	for _, name := range []string{"a100", "h100-ib", "b200", "mi355x"} {
		base := scenarios.Machine(name)
		f, err := Run(ctx, base, rows[name], 2)
		if err != nil {
			t.Error(err)
			continue
		}
		for _, g := range f.Groups {
			var shipped Error
			for _, r := range rows[name] {
				if v, err := accuracy.Estimate(ctx, r, base); err == nil && slices.Contains(g.Series, Series(r)) {
					shipped.add(r, math.Log(v/r.Value))
				}
			}
			t.Logf("%s, %s: typical factor %.3f, refitted %.3f, left out %.3f", name, g.Title, shipped.Typical, g.Error.Typical, g.LeftOut.Typical)
			if shipped.Typical > g.Error.Typical+0.03 {
				t.Errorf("%s, %s: got the typical factor %.3f, and %.3f of a fit", name, g.Title, shipped.Typical, g.Error.Typical)
			}
			for _, e := range g.Parameters {
				if !e.Determined || !strings.Contains(e.Key, "efficiency") {
					continue
				}
				was, _ := strconv.ParseFloat(e.Base, 64)
				now, _ := strconv.ParseFloat(e.Value, 64)
				if math.Abs(now/was-1) > 0.05 {
					t.Errorf("%s: got %s = %s by a fit, the profile has %s", name, e.Key, e.Value, e.Base)
				}
			}
		}
	}
}
