package study

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"sim/scenarios/result"
)

// Asked is a metric that a table or a figure asks for. Of the reference and of
// samples the names are as figures have them: "reference.makespan_s".
type Asked struct {
	By   string // "plot NAME", or what else asks
	Name string
}

// UnknownMetric is the error of a sweep that is asked for a metric that no cell
// has: it ends when a cell of every policy is there, and these are kept.
type UnknownMetric struct {
	Asked
	Known []string // metrics of the cells that are there, in order
	Near  []string // what the name may be a slip of: Known, and metrics that cells to come may have
	Cells int      // that are there
}

func (e *UnknownMetric) Error() string {
	return fmt.Sprintf("%s: no cell has a metric %q", e.By, e.Name)
}

// timed are the figures of the timings, which are no metrics.
var timed = []string{"solve_s", "play_s"}

// asker holds what is asked for against the cells as they come.
type asker struct {
	asked    []Asked
	left     map[string]bool // policies none of whose cells are there
	has      map[string]bool
	metrics  map[string]bool // of has, those of cells themselves
	cells    int
	finished bool
}

// newAsker returns what checks the cells of a shard.
func newAsker(p *Plan, opt *Options) *asker {
	a := &asker{asked: opt.Asked, left: map[string]bool{}, has: map[string]bool{}, metrics: map[string]bool{}, finished: len(opt.Asked) == 0}
	for i := range p.Sweep.Cells {
		if opt.Shard.Has(i) {
			a.left[p.Sweep.Cells[i].Policy] = true
		}
	}
	return a
}

// see notes a cell.
func (a *asker) see(policy string, r *Record) {
	if a.finished {
		return
	}
	delete(a.left, policy)
	for name := range r.Metrics {
		a.has[name], a.metrics[name] = true, true
	}
	for name := range r.Reference {
		a.has["reference."+name] = true
	}
	for name := range r.Samples {
		a.has[name] = true
	}
	if len(r.Metrics) > 0 {
		a.cells++
	}
}

// judge fails once there is a cell of every policy and what is asked for is in none.
func (a *asker) judge() error {
	if a.finished || len(a.left) > 0 || a.cells == 0 {
		return nil
	}
	a.finished = true
	for _, one := range a.asked {
		if !a.may(one.Name) {
			known := append(slices.Sorted(maps.Keys(a.metrics)), timed...)
			near := slices.Concat(known, slices.Sorted(maps.Keys(a.has)))
			for _, m := range result.Metrics {
				near = append(near, m.Name)
			}
			if of, ok := strings.CutPrefix(one.Name, "reference."); ok && of != "" {
				near = slices.DeleteFunc(slices.Sorted(maps.Keys(a.has)), func(name string) bool { return !strings.HasPrefix(name, "reference.") })
			}
			return &UnknownMetric{one, known, near, a.cells}
		}
	}
	return nil
}

// may reports whether some cell has or may have a metric, or both of a quotient: cells that lack one that the table
// knows say nothing of those to come, which may be of another kind, or meet what these do not.
func (a *asker) may(name string) bool {
	if _, known := result.Find(name); known || a.has[name] {
		return true
	}
	over, under, ok := strings.Cut(name, "/")
	return ok && a.may(strings.TrimSpace(over)) && a.may(strings.TrimSpace(under))
}

// AskedBy returns the metrics that figures ask for.
func AskedBy(plots []result.Plot) []Asked {
	var all []Asked
	for i := range plots {
		p := &plots[i]
		names := slices.Concat([]string{p.Y}, p.Also, []string{p.Below})
		switch p.Kind {
		case "heatmap", "twists":
			names[0] = p.Z
		case "scatter":
			names = append(names, p.X)
		}
		for _, name := range names {
			if name != "" {
				all = append(all, Asked{"plot " + p.Name, name})
			}
		}
	}
	return all
}
