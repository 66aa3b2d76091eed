package scenarios

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"sim/scenarios/result"
)

// delayStudy holds the rows of a study of reconfiguration delays.
type delayStudy struct {
	planners []string
	settings []string         // descriptions of the settings
	rows     [][][]result.Row // indexed by setting, delay and planner
}

// delayCount is the number of reconfiguration delays in the studies of figures 11 and 12.
const delayCount = 60

// runDelayStudy computes all cells of a study whose last axis is the delay, with two
// goroutines.
func runDelayStudy(t testing.TB, name string, overrides ...string) *delayStudy {
	t.Helper()
	st, err := LoadStudy(name, overrides)
	if err != nil {
		t.Fatal(err)
	}
	f := &delayStudy{}
	n := st.Variants()
	f.rows = make([][][]result.Row, n/delayCount)
	var wg sync.WaitGroup
	next := make(chan int)
	for range 2 {
		wg.Go(func() {
			for i := range next {
				for r := range delayCount {
					s, err := st.Variant(i*delayCount + r)
					if err != nil {
						t.Error(err)
						return
					}
					p, err := Prepare(context.Background(), s)
					if err != nil {
						t.Error(err)
						return
					}
					var rows []result.Row
					for _, policy := range s.PolicyNames() {
						row, _, err := p.Decide(context.Background(), policy, 1)
						if err != nil {
							t.Errorf("%s: %v", policy, err)
						}
						rows = append(rows, row)
					}
					f.rows[i] = append(f.rows[i], rows)
				}
			}
		})
	}

	for i := range n / delayCount {
		s, err := st.Variant(i * delayCount)
		if err != nil {
			t.Fatal(err)
		}
		f.planners = s.PolicyNames()
		f.settings = append(f.settings,
			fmt.Sprintf("n=%d k=%d %s %v", s.Fabric.ScaleUp.GPUs, s.Fabric.ScaleUp.Switches,
				s.Workload.Exchange.Sizes, s.Workload.Message))
		next <- i
	}

	close(next)
	wg.Wait()
	return f
}

// maxGain returns the maximum, over delays, of the gain of a planner over the baselines, and
// its delay index. The gain is 1 - completion time / minimum completion time of the baselines.
// Baselines are all planners except reconfigure-during and reconfigure-during+.
func (f *delayStudy) maxGain(setting int, planner string) (best float64, delay int) {
	best = math.Inf(-1)
	column := slices.Index(f.planners, planner)
	for r, rows := range f.rows[setting] {
		other := math.Inf(1)
		for i, row := range rows {
			if !strings.HasPrefix(f.planners[i], "reconfigure-during") {
				other = min(other, row.Metrics["completion_s"])
			}
		}
		if g := 1 - rows[column].Metrics["completion_s"]/other; g > best {
			best, delay = g, r
		}
	}
	return best, delay
}

// TestFigures11And12 logs the gains of the paper's construction and of reconfigure-during+ over
// the baselines, for several readings of the baselines. Each gain is the maximum over delays.
// It also checks that reconfigure-during+ is at least as fast as each other planner that has a
// plan.
func TestFigures11And12(t *testing.T) {
	if !*longTests {
		t.Skip("plans for a minute; runs with -long")
	}
	for _, name := range []string{"fig11", "fig12"} {
		for _, read := range []struct {
			name string
			set  []string
		}{
			{"strong baselines", nil},
			{"simulated on shortest paths, permutations striped",
				[]string{"policy.static.schedule=simulated", "policy.fast.model=striped"}},
			{"simulated on shortest paths, permutations on one switch",
				[]string{"policy.static.schedule=simulated", "policy.fast.model=one"}},
		} {
			f := runDelayStudy(t, name, read.set...)

			// Gains of each setting, and their means.
			var during, plus float64
			for i, setting := range f.settings {
				g, r := f.maxGain(i, "reconfigure-during")
				h, s := f.maxGain(i, "reconfigure-during+")
				during, plus = during+g, plus+h
				t.Logf("%s, %s: %-28s paper's %5.1f %% (delay %d, %s), reconfigure-during+ "+
					"%5.1f %% (delay %d, %s)",
					name, read.name, setting, 100*g, r, f.rows[i][r][0].Labels["origin"], 100*h, s,
					f.rows[i][s][1].Labels["origin"])
			}

			n := float64(len(f.settings))
			t.Logf("%s, %s: on average the paper's %.2f %%, reconfigure-during+ %.2f %%",
				name, read.name, 100*during/n, 100*plus/n)

			// Compare reconfigure-during+ with all other plans. A label origin with ": " names
			// another planner whose plan it adopted.
			byConstruction, byOthers, cells := 0, 0, 0
			for i := range f.rows {
				for r, rows := range f.rows[i] {
					best := math.Inf(1)
					for j, row := range rows {
						if f.planners[j] != "reconfigure-during+" && row.Labels["schedule"] != "fluid" {
							best = min(best, row.Metrics["completion_s"])
						}
					}
					plus := rows[slices.Index(f.planners, "reconfigure-during+")]
					cells++
					switch c := plus.Metrics["completion_s"]; {
					case c > best*(1+1e-12):
						t.Errorf("%s, %s, %s, delay %d: reconfigure-during+ takes %g s, want at "+
							"most %g s as another plan", name, read.name, f.settings[i], r, c, best)
					case c < best*(1-1e-12) && !strings.Contains(plus.Labels["origin"], ": "):
						byConstruction++
					case c < best*(1-1e-12):
						byOthers++
					}
				}
			}

			t.Logf("%s, %s: of %d settings and delays, reconfigure-during+ is strictly best by "+
				"its own construction in %d, by a plan of planners outside the figure in %d",
				name, read.name, cells, byConstruction, byOthers)
		}
	}
}
